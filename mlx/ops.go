package mlx

import (
	"fmt"

	"tokwatt/mlx/internal/host"
)

// Take returns the rows ids of table: mlx_take_axis, the embedding.
func (s *Stream) Take(table *Array, ids []int32) *Array {
	for _, id := range ids {
		if id < 0 || int(id) >= table.rows {
			panic(fmt.Sprintf("mlx: row %d of a table of %d", id, table.rows))
		}
	}
	y := s.array(len(ids), table.cols)
	s.cpu.Take(y.data, table.data, ids, table.cols)
	return y
}

// Linear returns x·wᵀ + bias, with w one row per output; a nil bias is none.
func (s *Stream) Linear(x, w, bias *Array) *Array {
	x.want("the input of a linear layer", w.cols)
	y := s.array(x.rows, w.rows)
	s.cpu.MatmulT(y.data, x.data, w.data, x.rows, w.rows, w.cols)
	if bias != nil {
		bias.want("a bias", w.rows)
		s.cpu.AddRow(y.data, bias.data)
	}
	return y
}

// Add returns a + b. A b of one row is added to every row of a.
func (s *Stream) Add(a, b *Array) *Array {
	b.want("a summand", a.cols)
	y := s.array(a.rows, a.cols)
	if b.rows == 1 && a.rows > 1 {
		copy(y.data, a.data)
		s.cpu.AddRow(y.data, b.data)
		return y
	}
	if a.rows != b.rows {
		panic(fmt.Sprintf("mlx: sum of %d and %d rows", a.rows, b.rows))
	}
	s.cpu.Add(y.data, a.data, b.data)
	return y
}

// RMSNorm returns x / √(mean(x²) + eps) · w, row by row.
func (s *Stream) RMSNorm(x, w *Array, eps float32) *Array {
	x.want("the input of a norm", w.cols)
	y := s.array(x.rows, x.cols)
	s.cpu.RMSNorm(y.data, x.data, w.data, w.cols, eps)
	return y
}

// SwiGLU returns gate · sigmoid(gate) · up.
func (s *Stream) SwiGLU(gate, up *Array) *Array {
	if gate.rows != up.rows || gate.cols != up.cols {
		panic("mlx: swiglu of arrays of different shapes")
	}
	y := s.array(gate.rows, gate.cols)
	s.cpu.SwiGLU(y.data, gate.data, up.data)
	return y
}

// RoPE is a rotary position embedding.
type RoPE struct {
	rotation    *host.Rotation
	interleaved bool
}

// NewRoPE makes an embedding whose pairs of dimensions turn by freqs radians a
// position. The pairs are (i, i + len(freqs)), or (2i, 2i + 1) where
// interleaved, which MLX calls traditional.
func NewRoPE(freqs []float64, interleaved bool) *RoPE {
	return &RoPE{rotation: host.NewRotation(freqs), interleaved: interleaved}
}

// RoPE returns x with its heads turned. x has seq rows for each of its streams,
// at the positions from offset on.
func (s *Stream) RoPE(x *Array, r *RoPE, heads, seq, offset int) *Array {
	if x.cols%heads != 0 || x.rows%seq != 0 || r.rotation.Dims() > x.cols/heads {
		panic(fmt.Sprintf("mlx: rope of %d × %d in %d heads and runs of %d", x.rows, x.cols, heads, seq))
	}
	y := s.array(x.rows, x.cols)
	copy(y.data, x.data)
	s.cpu.RoPE(y.data, r.rotation, heads, x.cols/heads, seq, offset, r.interleaved)
	return y
}

// Attention returns causal attention of the newest queries against the cache,
// which holds their own keys and values already. The scale is 1/√dim.
func (s *Stream) Attention(q *Array, cache *KVCache, queryHeads int) *Array {
	seq := q.rows / cache.Streams()
	q.want("the queries", queryHeads*cache.dim)
	if seq*cache.Streams() != q.rows || queryHeads%cache.heads != 0 || seq > cache.length {
		panic(fmt.Sprintf("mlx: %d rows of %d query heads against %d streams of %d heads and %d tokens",
			q.rows, queryHeads, cache.Streams(), cache.heads, cache.length))
	}
	y := s.array(q.rows, q.cols)
	h := host.Heads{Query: queryHeads, KV: cache.heads, Dim: cache.dim}
	s.cpu.Attention(y.data, q.data, cache.keys, cache.values, h, cache.Streams(), seq, cache.length)
	return y
}

// Argmax returns, for each row, the index of its largest element: of equals the
// first.
func (s *Stream) Argmax(x *Array) []int32 {
	out := make([]int32, x.rows)
	for i := range out {
		out[i] = int32(host.Argmax(x.Row(i)))
	}
	return out
}
