package mlx

import "fmt"

// Tokens are ids that the caller has.
func (s *Stream) Tokens(ids []int32) Tokens { return s.b.Tokens(ids) }

// Take returns the rows ids of table: the embedding. Ids that the caller has
// must be within it.
func (s *Stream) Take(table Weight, ids Tokens) Array { return s.own(s.b.Take(table, ids)) }

// Rows returns the rows at of x.
func (s *Stream) Rows(x Array, at []int32) Array {
	for _, i := range at {
		if i < 0 || int(i) >= x.Rows() {
			panic(fmt.Sprintf("mlx: row %d of an array of %d", i, x.Rows()))
		}
	}
	return s.own(s.b.Rows(x, at))
}

// Linear returns x·wᵀ + bias; a nil bias is none.
func (s *Stream) Linear(x Array, w Weight, bias Array) Array {
	want("the input of a linear layer", x, w.Inputs())
	if bias != nil {
		want("a bias", bias, w.Outputs())
	}
	return s.own(s.b.Linear(x, w, bias))
}

// Add returns a + b.
func (s *Stream) Add(a, b Array) Array {
	want("a summand", b, a.Cols())
	if a.Rows() != b.Rows() {
		panic(fmt.Sprintf("mlx: sum of %d and %d rows", a.Rows(), b.Rows()))
	}
	return s.own(s.b.Add(a, b))
}

// AddRow returns a with row added to each of its rows, in a's type.
func (s *Stream) AddRow(a, row Array) Array {
	want("a row to add", row, a.Cols())
	if row.Rows() != 1 {
		panic(fmt.Sprintf("mlx: %d rows where one is added", row.Rows()))
	}
	return s.own(s.b.AddRow(a, row))
}

// RMSNorm returns v / √(mean(v²) + eps) · w for each run v of x's rows that is
// as long as w: the row, or a head of it.
func (s *Stream) RMSNorm(x, w Array, eps float32) Array {
	if x.Cols()%w.Cols() != 0 || w.Rows() != 1 {
		panic(fmt.Sprintf("mlx: norm of %d columns in runs of %d", x.Cols(), w.Cols()))
	}
	return s.own(s.b.RMSNorm(x, w, eps))
}

// SwiGLU returns gate · sigmoid(gate) · up.
func (s *Stream) SwiGLU(gate, up Array) Array {
	if gate.Rows() != up.Rows() || gate.Cols() != up.Cols() {
		panic("mlx: swiglu of arrays of different shapes")
	}
	return s.own(s.b.SwiGLU(gate, up))
}

// Mixture returns, for each row, the sum of what the experts that its router
// chose make of it, weighted by the router's softmax. An expert is
// down(swiglu(gate(x), up(x))).
func (s *Stream) Mixture(x Array, m Mixture) Array {
	n := m.Router.Cols()
	want("the input of experts", x, m.Gate.Inputs())
	if m.Router.Rows() != x.Rows() || m.Chosen < 1 || m.Chosen > n || m.Gate.Outputs()%n != 0 || m.Up.Outputs() != m.Gate.Outputs() ||
		m.Up.Inputs() != x.Cols() || m.Down.Inputs() != m.Gate.Outputs()/n || m.Down.Outputs() != n*x.Cols() {
		panic(fmt.Sprintf("mlx: %d of %d experts of %d × %d on %d columns", m.Chosen, n, m.Down.Outputs(), m.Down.Inputs(), x.Cols()))
	}
	return s.own(s.b.Mixture(x, m))
}

// RoPE returns x with its heads turned. x has seq rows for each of its streams,
// at the positions from offset on.
func (s *Stream) RoPE(x Array, r RoPE, heads, seq, offset int) Array {
	if x.Cols()%heads != 0 || x.Rows()%seq != 0 || r.Dims() > x.Cols()/heads {
		panic(fmt.Sprintf("mlx: rope of %d × %d in %d heads and runs of %d", x.Rows(), x.Cols(), heads, seq))
	}
	return s.own(s.b.Turn(x, r, heads, seq, offset))
}

// Attention returns causal attention of the newest queries against the cache,
// which holds their own keys and values already. The scale is 1/√dim.
func (s *Stream) Attention(q Array, cache *KVCache, queryHeads int) Array {
	seq := q.Rows() / cache.streams
	want("the queries", q, queryHeads*cache.dim)
	if seq*cache.streams != q.Rows() || queryHeads%cache.heads != 0 || seq > cache.length {
		panic(fmt.Sprintf("mlx: %d rows of %d query heads against %d streams of %d heads and %d tokens",
			q.Rows(), queryHeads, cache.streams, cache.heads, cache.length))
	}
	return s.own(s.b.Attention(q, cache.c, queryHeads))
}

// Argmax returns, for each row, the index of its largest element and that
// element: of equals the first. FreeTokens frees them.
func (s *Stream) Argmax(x Array) Tokens { return s.b.Argmax(x) }

// Pick returns the tokens at some positions. FreeTokens frees them.
func (s *Stream) Pick(t Tokens, at []int) Tokens { return s.b.Pick(t, at) }
