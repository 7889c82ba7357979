//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Variable is the environment variable that names the library.
const Variable = "TOKWATT_MLX_LIB"

// places are the paths to try, in order. A path that somebody named is the only
// one: another library in its stead would be measured unasked.
func places(named string) []string {
	if named == "" {
		named = os.Getenv(Variable)
	}
	if named != "" {
		return []string{named}
	}
	name := "libmlxc.so"
	if runtime.GOOS == "darwin" {
		name = "libmlxc.dylib"
	}
	var out []string
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		out = append(out, filepath.Join(filepath.Dir(exe), name))
	}
	for _, dir := range []string{"/opt/homebrew/lib", "/opt/homebrew/opt/mlx-c/lib", "/usr/local/lib", "/usr/local/opt/mlx-c/lib"} {
		out = append(out, filepath.Join(dir, name))
	}
	return append(out, name) // wherever the system looks
}

// NotFoundError says that no library could be loaded.
type NotFoundError struct {
	Tried []string // each path with the reason why not
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("MLX's library was not found: install it (brew install mlx-c), or name it with --library or %s; tried %s", Variable, strings.Join(e.Tried, "; "))
}

// open loads the first library that can be.
func open(named string, load func(path string) (uintptr, error)) (uintptr, error) {
	e := &NotFoundError{}
	for _, path := range places(named) {
		if filepath.IsAbs(path) {
			if _, err := os.Stat(path); err != nil {
				e.Tried = append(e.Tried, path+" (not there)")
				continue
			}
		}
		lib, err := load(path)
		if err == nil {
			return lib, nil
		}
		e.Tried = append(e.Tried, fmt.Sprintf("%s (%v)", path, err))
	}
	return 0, e
}
