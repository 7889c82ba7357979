package mlx

import (
	"fmt"
	"unsafe"

	"tokwatt/mlx/internal/backend"
)

// An Array is a matrix of floats in the memory of the stream that made it.
type Array = backend.Array

// A Weight is a matrix with one row per output, plain or quantized.
type Weight = backend.Weight

// Tokens are token ids, with the score of each where they come from Argmax.
type Tokens = backend.Tokens

// RoPE is a rotary position embedding.
type RoPE = backend.Rope

// Info is what is known of whoever computes.
type Info = backend.Info

// Mixture is a layer of experts.
type Mixture = backend.Mixture

// Quantized is a weight as a file has it.
type Quantized = backend.Quantized

// DType is the type of the elements of a weight.
type DType = backend.DType

// The types that weights come in.
const (
	F32  = backend.F32
	F16  = backend.F16
	BF16 = backend.BF16
)

// NewArray is a matrix over data, which it may keep. A vector has one row. It
// lives until it is freed, whatever the scope.
func (s *Stream) NewArray(data []float32, rows, cols int) Array {
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), 4*len(data))
	return s.Load(F32, raw, rows, cols)
}

// Load is NewArray of raw elements, little-endian, of type t.
func (s *Stream) Load(t DType, raw []byte, rows, cols int) Array {
	if rows < 0 || cols < 1 || len(raw) != rows*cols*t.Size() {
		panic(fmt.Sprintf("mlx: %d bytes for an array of %d × %d", len(raw), rows, cols))
	}
	return s.b.Array(t, raw, rows, cols)
}

// Dense is a weight over an array.
func (s *Stream) Dense(a Array) Weight { return s.b.Dense(a) }

// Quantized is a weight in groups of q.Group inputs, with q.Bits bits each.
func (s *Stream) Quantized(q Quantized) Weight {
	words, groups := q.Outputs*q.Inputs*q.Bits/32, q.Outputs*q.Inputs/max(q.Group, 1)
	if q.Bits < 1 || 32%q.Bits != 0 || q.Group < 1 || q.Inputs%q.Group != 0 || q.Group*q.Bits%32 != 0 ||
		len(q.Words) != 4*words || len(q.Scales) != groups*q.Type.Size() || len(q.Biases) != len(q.Scales) {
		panic(fmt.Sprintf("mlx: %d, %d and %d bytes for a weight of %d × %d with %d bits in groups of %d",
			len(q.Words), len(q.Scales), len(q.Biases), q.Outputs, q.Inputs, q.Bits, q.Group))
	}
	return s.b.Quantized(q)
}

// Stack makes experts, for Mixture alone, of a weight whose rows are those of n
// of them, one after the other.
func (s *Stream) Stack(w Weight, n int) Weight {
	if n < 1 || w.Outputs()%n != 0 {
		panic(fmt.Sprintf("mlx: %d experts of %d rows", n, w.Outputs()))
	}
	return s.b.Stack(w, n)
}

// NewRoPE makes an embedding whose pairs of dimensions turn by freqs radians a
// position. The pairs are (i, i + len(freqs)), or (2i, 2i + 1) where
// interleaved, which MLX calls traditional.
func (s *Stream) NewRoPE(freqs []float64, interleaved bool) RoPE { return s.b.Rope(freqs, interleaved) }

// want panics unless the array has the given number of columns.
func want(what string, a Array, cols int) {
	if a.Cols() != cols {
		panic(fmt.Sprintf("mlx: %s has %d columns, want %d", what, a.Cols(), cols))
	}
}
