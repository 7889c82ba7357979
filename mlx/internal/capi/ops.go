//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"math"
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

// Add is a + b.
func (l *Library) Add(a, b Handle) Handle {
	return l.op("mlx_add", l.fn.mlx_add, uintptr(a), uintptr(b))
}

// Multiply is a · b, element by element.
func (l *Library) Multiply(a, b Handle) Handle {
	return l.op("mlx_multiply", l.fn.mlx_multiply, uintptr(a), uintptr(b))
}

// Divide is a / b, element by element.
func (l *Library) Divide(a, b Handle) Handle {
	return l.op("mlx_divide", l.fn.mlx_divide, uintptr(a), uintptr(b))
}

// Sigmoid is 1 / (1 + exp(−a)).
func (l *Library) Sigmoid(a Handle) Handle {
	return l.op("mlx_sigmoid", l.fn.mlx_sigmoid, uintptr(a))
}

// Matmul is the product of matrices.
func (l *Library) Matmul(a, b Handle) Handle {
	return l.op("mlx_matmul", l.fn.mlx_matmul, uintptr(a), uintptr(b))
}

// ArgmaxAxis is the index of the largest element along an axis, as uint32.
func (l *Library) ArgmaxAxis(a Handle, axis int, keepDims bool) Handle {
	return l.op("mlx_argmax_axis", l.fn.mlx_argmax_axis, uintptr(a), uintptr(axis), flag(keepDims))
}

// AsType converts to a type.
func (l *Library) AsType(a Handle, t DType) Handle {
	return l.op("mlx_astype", l.fn.mlx_astype, uintptr(a), uintptr(t))
}

// ConcatenateAxis is two arrays, one behind the other along an axis.
func (l *Library) ConcatenateAxis(axis int, a, b Handle) Handle {
	if a == None || b == None {
		return None // an earlier failure's
	}
	l.many[0], l.many[1] = a, b
	l.slot = l.vec
	if !l.set(2) {
		return None
	}
	out := l.op("mlx_concatenate_axis", l.fn.mlx_concatenate_axis, l.vec, uintptr(axis))
	l.slot = l.vec
	l.set(0)
	return out
}

// Contiguous is a in row-major order.
func (l *Library) Contiguous(a Handle) Handle {
	return l.op("mlx_contiguous", l.fn.mlx_contiguous, uintptr(a), 0)
}

// Reshape gives a another shape.
func (l *Library) Reshape(a Handle, shape ...int32) Handle {
	at, n := l.sizes(0, shape)
	return l.op("mlx_reshape", l.fn.mlx_reshape, uintptr(a), at, n)
}

// SwapAxes exchanges two axes.
func (l *Library) SwapAxes(a Handle, i, j int) Handle {
	return l.op("mlx_swapaxes", l.fn.mlx_swapaxes, uintptr(a), uintptr(i), uintptr(j))
}

// TransposeAxes orders the axes anew.
func (l *Library) TransposeAxes(a Handle, axes ...int32) Handle {
	at, n := l.sizes(0, axes)
	return l.op("mlx_transpose_axes", l.fn.mlx_transpose_axes, uintptr(a), at, n)
}

// ones are the strides of slices.
var ones = []int32{1, 1, 1, 1, 1, 1, 1, 1}

// Slice is the part of a from start to before stop on each axis.
func (l *Library) Slice(a Handle, start, stop []int32) Handle {
	s, sn := l.sizes(0, start)
	e, en := l.sizes(1, stop)
	t, tn := l.sizes(2, ones[:len(start)])
	return l.op("mlx_slice", l.fn.mlx_slice, uintptr(a), s, sn, e, en, t, tn)
}

// SliceUpdate is a with the part from start to before stop replaced. If nothing
// else holds a, it happens in place.
func (l *Library) SliceUpdate(a, update Handle, start, stop []int32) Handle {
	s, sn := l.sizes(0, start)
	e, en := l.sizes(1, stop)
	t, tn := l.sizes(2, ones[:len(start)])
	return l.op("mlx_slice_update", l.fn.mlx_slice_update, uintptr(a), uintptr(update), s, sn, e, en, t, tn)
}

// TakeAxis is the elements at indices along an axis.
func (l *Library) TakeAxis(a, indices Handle, axis int) Handle {
	return l.op("mlx_take_axis", l.fn.mlx_take_axis, uintptr(a), uintptr(indices), uintptr(axis))
}

// TakeAlongAxis is, along an axis, the elements at indices of the same rank.
func (l *Library) TakeAlongAxis(a, indices Handle, axis int) Handle {
	return l.op("mlx_take_along_axis", l.fn.mlx_take_along_axis, uintptr(a), uintptr(indices), uintptr(axis))
}

// Zeros is an array of zeros.
func (l *Library) Zeros(t DType, shape ...int32) Handle {
	at, n := l.sizes(0, shape)
	return l.op("mlx_zeros", l.fn.mlx_zeros, at, n, uintptr(t))
}

// The names of the strings that functions take.
const (
	affine = iota
	causal
	empty
)

func (l *Library) word(i int) uintptr { return uintptr(unsafe.Pointer(l.mode[i])) }

// Quantize makes packed words, scales and biases of a matrix, affinely.
func (l *Library) Quantize(w Handle, group, bits int) (words, scales, biases Handle) {
	l.slot = 0
	if !l.try("mlx_quantize", l.fn.mlx_quantize, l.out(), uintptr(w), optional(group), optional(bits), l.word(affine), 0, l.stream) {
		return None, None, None
	}
	vec := l.slot
	part := func(i uintptr) Handle {
		l.slot = 0
		return l.made("mlx_vector_array_get", int32(l.call(l.fn.mlx_vector_array_get, l.out(), vec, i)))
	}
	words, scales, biases = part(0), part(1), part(2)
	l.call(l.fn.mlx_vector_array_free, vec)
	return words, scales, biases
}

// Dequantize is the inverse of Quantize.
func (l *Library) Dequantize(words, scales, biases Handle, group, bits int) Handle {
	return l.op("mlx_dequantize", l.fn.mlx_dequantize, uintptr(words), uintptr(scales), uintptr(biases),
		optional(group), optional(bits), l.word(affine), 0, 0)
}

// QuantizedMatmul is x · wᵀ.
func (l *Library) QuantizedMatmul(x, words, scales, biases Handle, group, bits int) Handle {
	return l.op("mlx_quantized_matmul", l.fn.mlx_quantized_matmul, uintptr(x), uintptr(words), uintptr(scales), uintptr(biases),
		1, optional(group), optional(bits), l.word(affine))
}

// GatherMM is, for each matrix of a, the product with the matrix of b that
// indices names. With sorted they ascend.
func (l *Library) GatherMM(a, b, indices Handle, sorted bool) Handle {
	return l.op("mlx_gather_mm", l.fn.mlx_gather_mm, uintptr(a), uintptr(b), 0, uintptr(indices), flag(sorted))
}

// GatherQMM is GatherMM with packed matrices, each transposed.
func (l *Library) GatherQMM(x, words, scales, biases, indices Handle, group, bits int, sorted bool) Handle {
	const name = "mlx_gather_qmm"
	if l.scaled {
		return l.op(name, l.fn.mlx_gather_qmm, uintptr(x), uintptr(words), uintptr(scales), uintptr(biases),
			0, uintptr(indices), 1, optional(group), optional(bits), l.word(affine), 0, flag(sorted))
	}
	return l.op(name, l.fn.mlx_gather_qmm, uintptr(x), uintptr(words), uintptr(scales), uintptr(biases),
		0, uintptr(indices), 1, optional(group), optional(bits), l.word(affine), flag(sorted))
}

// SoftmaxAxis is the softmax along an axis, its sums in float32.
func (l *Library) SoftmaxAxis(a Handle, axis int) Handle {
	return l.op("mlx_softmax_axis", l.fn.mlx_softmax_axis, uintptr(a), uintptr(axis), 1)
}

// SumAxis is the sum along an axis.
func (l *Library) SumAxis(a Handle, axis int, keepDims bool) Handle {
	return l.op("mlx_sum_axis", l.fn.mlx_sum_axis, uintptr(a), uintptr(axis), flag(keepDims))
}

// ArgpartitionAxis is indices along an axis: those before kth are of elements
// not larger than it, those after of elements not smaller.
func (l *Library) ArgpartitionAxis(a Handle, kth, axis int) Handle {
	return l.op("mlx_argpartition_axis", l.fn.mlx_argpartition_axis, uintptr(a), uintptr(kth), uintptr(axis))
}

// ArgsortAxis is the indices along an axis that sort it.
func (l *Library) ArgsortAxis(a Handle, axis int) Handle {
	return l.op("mlx_argsort_axis", l.fn.mlx_argsort_axis, uintptr(a), uintptr(axis))
}

// FloorDivide is a / b, rounded down, element by element.
func (l *Library) FloorDivide(a, b Handle) Handle {
	return l.op("mlx_floor_divide", l.fn.mlx_floor_divide, uintptr(a), uintptr(b))
}

// AddMM is c + a · b, rounded once.
func (l *Library) AddMM(c, a, b Handle) Handle {
	l.slot = 0
	return l.made("mlx_addmm", l.fused.addmm(unsafe.Pointer(&l.slot), c, a, b, 1, 1, l.stream))
}

// RMSNorm is x / √(mean(x²) + eps) · weight along the last axis.
func (l *Library) RMSNorm(x, weight Handle, eps float32) Handle {
	l.slot = 0
	return l.made("mlx_fast_rms_norm", l.fused.rmsNorm(unsafe.Pointer(&l.slot), x, weight, eps, l.stream))
}

// RoPE turns the first dims of the last axis by the positions along the one
// before, from offset on. freqs are the positions that turn a pair by one
// radian, with None those of base 10000.
func (l *Library) RoPE(x Handle, dims int, traditional bool, offset int, freqs Handle) Handle {
	l.slot = 0
	var base uint64
	if freqs == None {
		base = uint64(math.Float32bits(10000)) | 1<<32
	}
	return l.made("mlx_fast_rope", l.fused.rope(unsafe.Pointer(&l.slot), x, int32(dims), traditional, base, 1, int32(offset), freqs, l.stream))
}

// ScaledDotProductAttention is attention of q [B, H, L, D] against k and v
// [B, KV, T, D]. With isCausal the last query sees all keys, the one before all
// but one, and so on; else each sees all.
func (l *Library) ScaledDotProductAttention(q, k, v Handle, scale float32, isCausal bool) Handle {
	mode := l.mode[empty]
	if isCausal {
		mode = l.mode[causal]
	}
	l.slot = 0
	var code int32
	if l.force {
		code = l.fused.sdpaForce(unsafe.Pointer(&l.slot), q, k, v, scale, mode, None, None, false, l.stream)
	} else {
		code = l.fused.sdpa(unsafe.Pointer(&l.slot), q, k, v, scale, mode, None, None, l.stream)
	}
	return l.made("mlx_fast_scaled_dot_product_attention", code)
}

// ActiveMemory is the memory that arrays take, in bytes.
func (l *Library) ActiveMemory() int64 {
	return l.number("mlx_get_active_memory", l.fn.mlx_get_active_memory)
}

// PeakMemory is the most that ActiveMemory was since ResetPeakMemory.
func (l *Library) PeakMemory() int64 {
	return l.number("mlx_get_peak_memory", l.fn.mlx_get_peak_memory)
}

func (l *Library) number(name string, f proc) int64 {
	l.slot = 0
	l.try(name, f, l.out())
	return int64(l.slot)
}

// ResetPeakMemory sets the peak to zero.
func (l *Library) ResetPeakMemory() { l.try("mlx_reset_peak_memory", l.fn.mlx_reset_peak_memory) }

// ClearCache gives freed memory back to the system.
func (l *Library) ClearCache() { l.try("mlx_clear_cache", l.fn.mlx_clear_cache) }

// SetWiredLimit keeps up to that many bytes from being swapped. It does nothing
// without a GPU.
func (l *Library) SetWiredLimit(bytes uint64) {
	l.slot = 0
	l.try("mlx_set_wired_limit", l.fn.mlx_set_wired_limit, l.out(), uintptr(bytes))
}

// Synchronize waits until all that was started is done.
func (l *Library) Synchronize() { l.try("mlx_synchronize", l.fn.mlx_synchronize, l.stream) }
