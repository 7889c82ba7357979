//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Library is a loaded libmlxc with a stream to compute on. It is never unloaded:
// MLX has threads of its own.
type Library struct {
	*thread
	fn     functions
	fused  fused
	force  bool    // attention takes force_fused
	scaled bool    // gather_qmm takes global_scale
	device uintptr // mlx_device
	stream uintptr // mlx_stream
	info   Info

	args [32]uintptr
	slot uintptr     // where functions put results
	ints [4][8]int32 // lists of sizes
	vec  uintptr     // mlx_vector_array for Eval
	many [256]Handle // what goes into it
	mode [3]*byte    // affine, causal, and the empty string
	said string      // what the error handler heard
	err  error       // the first failure
	live int         // arrays that are not given up
}

// Info is what is known of a library.
type Info struct {
	Path          string // of the file that was loaded
	SHA256        string // of that file, in hex; empty if it can't be read
	Version       string // MLX's, not mlx-c's
	ForceFused    bool   // attention has the form of MLX 0.32.2
	GPU           bool   // it computes with Metal
	Device        string // its name; may be empty
	Architecture  string
	Memory        uint64 // bytes of the device, 0 where it does not say
	MaxWorkingSet uint64 // bytes that the GPU should use at most, 0 where it does not say
}

// Open loads the library: named, or if that is empty the one that Variable
// names, or the first that is found. It takes milliseconds.
func Open(named string) (*Library, error) {
	l := &Library{thread: newThread(), mode: [3]*byte{text("affine"), text("causal"), text("")}}
	var err error
	if died := l.do(func() { err = l.start(named) }); died != nil {
		return nil, died
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Do runs f on the library's thread and waits for it. All other methods are for
// f alone. f must not end its goroutine.
func (l *Library) Do(f func()) {
	if err := l.do(f); err != nil {
		panic(err)
	}
}

func (l *Library) start(named string) error {
	lib, err := open(named, func(path string) (uintptr, error) {
		return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	})
	if err != nil {
		return err
	}
	if err := l.fn.resolve(lib); err != nil {
		return fmt.Errorf("%s: %w", l.fn.mlx_version.file(), err)
	}
	// First of all: the library's own handler ends the process.
	l.call(l.fn.mlx_set_error_handler, purego.NewCallback(func(message *byte, _ uintptr) uintptr {
		l.said = goString(message)
		return 0
	}), 0, 0)
	l.fused.bind(&l.fn)
	l.identify()
	for _, step := range []func() error{l.choose, l.probe, l.selfCheck} {
		if err := step(); err != nil {
			return fmt.Errorf("%s, MLX %s: %w", l.info.Path, l.info.Version, err)
		}
	}
	return nil
}

// Info is what is known of the library.
func (l *Library) Info() Info { return l.info }

// identify finds out which library it is.
func (l *Library) identify() {
	l.info.Path = l.fn.mlx_version.file()
	l.info.SHA256 = hash(l.info.Path)
	l.slot = l.call(l.fn.mlx_string_new)
	l.call(l.fn.mlx_version, l.out())
	l.info.Version = goString(pointer[byte](l.call(l.fn.mlx_string_data, l.slot)))
	l.call(l.fn.mlx_string_free, l.slot)
}

// choose takes the GPU if there is one, and makes the stream.
func (l *Library) choose() error {
	l.slot = 0
	l.call(l.fn.mlx_metal_is_available, l.out())
	l.info.GPU = byte(l.slot) != 0
	l.device = l.call(l.fn.mlx_device_new_type, flag(l.info.GPU), 0)
	l.try("mlx_set_default_device", l.fn.mlx_set_default_device, l.device)
	l.stream = l.call(l.fn.mlx_stream_new_device, l.device)
	l.try("mlx_set_default_stream", l.fn.mlx_set_default_stream, l.stream)
	l.describe()
	l.vec = l.call(l.fn.mlx_vector_array_new)
	return l.Err()
}

// describe reads what the device says of itself.
func (l *Library) describe() {
	l.slot = l.call(l.fn.mlx_device_info_new)
	if int32(l.call(l.fn.mlx_device_info_get, l.out(), l.device)) != 0 {
		return // it says nothing, and nothing depends on it
	}
	device := l.slot
	word := func(key string) string {
		l.slot = 0
		name := text(key)
		if int32(l.call(l.fn.mlx_device_info_get_string, l.out(), device, uintptr(unsafe.Pointer(name)))) != 0 {
			return ""
		}
		return goString(pointer[byte](l.slot))
	}
	size := func(key string) uint64 {
		l.slot = 0
		name := text(key)
		if int32(l.call(l.fn.mlx_device_info_get_size, l.out(), device, uintptr(unsafe.Pointer(name)))) != 0 {
			return 0
		}
		return uint64(l.slot)
	}
	l.info.Device, l.info.Architecture = word("device_name"), word("architecture")
	l.info.Memory, l.info.MaxWorkingSet = size("memory_size"), size("max_recommended_working_set_size")
	l.call(l.fn.mlx_device_info_free, device)
}

// file is the path of the library that a function is from.
func (f proc) file() string {
	dladdr, err := purego.Dlsym(purego.RTLD_DEFAULT, "dladdr")
	if err != nil || f == 0 {
		return "the library"
	}
	var info struct { // Dl_info
		name  *byte
		base  uintptr
		near  *byte
		where uintptr
	}
	if r, _, _ := purego.SyscallN(dladdr, uintptr(f), uintptr(unsafe.Pointer(&info))); r == 0 {
		return "the library"
	}
	return goString(info.name)
}

// hash is the SHA-256 of a file.
func hash(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
