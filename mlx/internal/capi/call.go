//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"fmt"
	"regexp"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Handle is an mlx_array.
type Handle uintptr

// None is no array.
const None Handle = 0

// Error is a failure in the library.
type Error struct {
	Op      string // the C function
	Message string // what MLX says, without the place in its source
}

func (e *Error) Error() string { return fmt.Sprintf("MLX failed in %s: %s", e.Op, e.Message) }

// place is how MLX ends messages: the path on the machine that compiled it.
var place = regexp.MustCompile(` at \S+:\d+\.?$`)

// call calls a function. The arguments are copied to memory that does not move,
// so that none is allocated.
func (l *Library) call(f proc, args ...uintptr) uintptr {
	n := copy(l.args[:], args)
	r, _, _ := purego.SyscallN(uintptr(f), l.args[:n]...)
	return r
}

// try calls a function that returns 0 or fails.
func (l *Library) try(name string, f proc, args ...uintptr) bool {
	if int32(l.call(f, args...)) != 0 {
		l.fail(name)
		return false
	}
	return true
}

// op calls a function that makes an array: its first argument is where to put
// it, its last the stream.
func (l *Library) op(name string, f proc, args ...uintptr) Handle {
	l.slot = 0
	l.args[0] = l.out()
	n := 1 + copy(l.args[1:], args)
	l.args[n] = l.stream
	r, _, _ := purego.SyscallN(uintptr(f), l.args[:n+1]...)
	return l.made(name, int32(r))
}

// out is the address of the slot for results. The Library is on the heap, which
// does not move.
func (l *Library) out() uintptr { return uintptr(unsafe.Pointer(&l.slot)) }

// made is the array in the slot, or None if the code says that there is none.
func (l *Library) made(name string, code int32) Handle {
	if code != 0 || l.slot == 0 {
		l.fail(name)
		return None
	}
	l.live++
	return Handle(l.slot)
}

// fail keeps the first failure.
func (l *Library) fail(name string) {
	if l.err == nil {
		l.err = &Error{Op: name, Message: place.ReplaceAllString(l.said, "")}
	}
	l.said = ""
}

// Err is the first failure since it was last asked for, an *Error, or nil.
func (l *Library) Err() error {
	err := l.err
	l.err = nil
	return err
}

// Free gives up an array. What is computed from it stays.
func (l *Library) Free(a Handle) {
	if a != None {
		l.live--
		l.call(l.fn.mlx_array_free, uintptr(a))
	}
}

// Live is the number of arrays that were made and not given up.
func (l *Library) Live() int { return l.live }

// sizes puts numbers where C finds them: up to four lists, until the next call.
func (l *Library) sizes(list int, values []int32) (at, n uintptr) {
	return uintptr(unsafe.Pointer(&l.ints[list][0])), uintptr(copy(l.ints[list][:], values))
}

// optional is an mlx_optional_int, and any other of 8 bytes, with a value.
func optional(v int) uintptr { return uintptr(uint32(v)) | 1<<32 }

// flag is a bool.
func flag(b bool) uintptr {
	if b {
		return 1
	}
	return 0
}

// text is a C string.
func text(s string) *byte { return &append([]byte(s), 0)[0] }

// goString copies a C string.
func goString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// pointer is memory that C owns, which the collector does not know.
func pointer[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }
