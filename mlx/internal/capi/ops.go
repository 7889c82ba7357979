//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"math"
	"unsafe"
)

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

// GatherMM is, for each matrix of a, the product with the matrix of b that
// indices names. With sorted they ascend.
func (l *Library) GatherMM(a, b, indices Handle, sorted bool) Handle {
	return l.op("mlx_gather_mm", l.fn.mlx_gather_mm, uintptr(a), uintptr(b), 0, uintptr(indices), flag(sorted))
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
