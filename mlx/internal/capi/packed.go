//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

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
