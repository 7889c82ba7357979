//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"runtime"
	"unsafe"
)

// DType is an mlx_dtype.
type DType int32

// The types that are used.
const (
	Uint32   DType = 3
	Float16  DType = 9
	Float32  DType = 10
	BFloat16 DType = 12
)

// NewData copies data, which is row-major and of the given shape.
func (l *Library) NewData(data []byte, t DType, shape ...int32) Handle {
	sizes, dim := l.sizes(0, shape)
	l.slot = l.call(l.fn.mlx_array_new_data, uintptr(unsafe.Pointer(unsafe.SliceData(data))), sizes, dim, uintptr(t))
	runtime.KeepAlive(data)
	code := int32(0)
	return l.made("mlx_array_new_data", code)
}

// Floats copies the elements of any array as float32, row-major. It computes
// what has not been yet.
func (l *Library) Floats(a Handle) []float32 {
	wide := l.AsType(a, Float32)
	flat := l.Contiguous(wide)
	defer l.Free(wide)
	defer l.Free(flat)
	return l.Float32s(flat)
}

// Float32s copies the elements of an array of float32 that is contiguous. It
// waits for what is under way, and adds nothing that would wait for what was
// started later.
func (l *Library) Float32s(a Handle) []float32 {
	if a == None || !l.try("mlx_array_eval", l.fn.mlx_array_eval, uintptr(a)) {
		return nil
	}
	n := int(l.call(l.fn.mlx_array_size, uintptr(a)))
	out := make([]float32, n)
	copy(out, unsafe.Slice(pointer[float32](l.call(l.fn.mlx_array_data_float32, uintptr(a))), n))
	return out
}

// Uint32s is Float32s of uint32.
func (l *Library) Uint32s(a Handle) []uint32 {
	if a == None || !l.try("mlx_array_eval", l.fn.mlx_array_eval, uintptr(a)) {
		return nil
	}
	n := int(l.call(l.fn.mlx_array_size, uintptr(a)))
	out := make([]uint32, n)
	copy(out, unsafe.Slice(pointer[uint32](l.call(l.fn.mlx_array_data_uint32, uintptr(a))), n))
	return out
}

// TypeOf is the type of an array.
func (l *Library) TypeOf(a Handle) DType {
	if a == None {
		return Float32
	}
	return DType(l.call(l.fn.mlx_array_dtype, uintptr(a)))
}

// Bytes is the size of an array.
func (l *Library) Bytes(a Handle) int64 {
	if a == None {
		return 0
	}
	return int64(l.call(l.fn.mlx_array_nbytes, uintptr(a)))
}

// Eval computes arrays and waits for them.
func (l *Library) Eval(arrays ...Handle) { l.eval("mlx_eval", l.fn.mlx_eval, arrays) }

// AsyncEval starts to compute arrays.
func (l *Library) AsyncEval(arrays ...Handle) { l.eval("mlx_async_eval", l.fn.mlx_async_eval, arrays) }

func (l *Library) eval(name string, f proc, arrays []Handle) {
	for len(arrays) > 0 {
		n := copy(l.many[:], arrays)
		arrays = arrays[n:]
		l.slot = l.vec
		if l.set(n) {
			l.try(name, f, l.vec)
		}
		l.slot = l.vec
		l.set(0) // or the vector would keep the arrays alive
	}
}

// set fills the vector with the first n of many.
func (l *Library) set(n int) bool {
	return l.try("mlx_vector_array_set_data", l.fn.mlx_vector_array_set_data, l.out(), uintptr(unsafe.Pointer(&l.many)), uintptr(n))
}
