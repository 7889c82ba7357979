//go:build darwin || iokitfake

package ioreport

import (
	"slices"
	"strings"

	"github.com/ebitengine/purego"
)

// libraries are the paths of the system's libraries. They are in macOS's cache
// of libraries, not on disk, and are never closed again: that crashes.
type libraries struct {
	coreFoundation, ioKit, ioReport, system, objc string
}

// proc is a function of a library. It takes integers and pointers only.
type proc uintptr

// call calls the function. A pointer is given as uintptr(unsafe.Pointer(&x))
// in the call itself, which keeps x where it is until the call returns.
//
//go:uintptrescapes
func (p proc) call(args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(uintptr(p), args...)
	return r
}

// status calls a function that returns 0 or the number of an error.
//
//go:uintptrescapes
func (p proc) status(args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(uintptr(p), args...)
	return int32(r)
}

// resolve finds symbols of the library at path. Those that a release of macOS
// doesn't have are named in the error, all of them; purego's own way to bind
// functions would panic.
func resolve(path string, symbols map[string]*proc) error {
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return noChannel("this system's library %s can't be opened: %v", path, err)
	}
	var absent []string
	for symbol, p := range symbols {
		address, err := purego.Dlsym(lib, symbol)
		if err != nil || address == 0 {
			absent = append(absent, symbol)
			continue
		}
		*p = proc(address)
	}
	if absent != nil {
		slices.Sort(absent)
		return noChannel("this system's library %s has no %s", path, strings.Join(absent, ", "))
	}
	return nil
}

// cstring is s as C has it, ending in 0.
func cstring(s string) *byte {
	b := append([]byte(s), 0)
	return &b[0]
}
