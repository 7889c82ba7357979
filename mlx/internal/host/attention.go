package host

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// The tile of attention: as many queries as are scored together, against as
// many keys at a time as gonum computes on the calling goroutine.
const (
	tileQueries = 64
	tileKeys    = 192
)

// Heads is the shape of grouped-query attention: each head of keys and values
// serves Query/KV heads of queries.
type Heads struct {
	Query, KV int
	Dim       int
}

// Attention is causal attention of new queries against all keys so far. y and
// q have streams · seq rows of Query · Dim; keys and values hold, for each
// stream and KV head, its rows of Dim, total of them. The last query of a
// stream sees every key, the one before all but one, and so on.
func (c *CPU) Attention(y, q []float32, keys, values [][]float32, h Heads, streams, seq, total int) {
	blocks := (seq + tileQueries - 1) / tileQueries
	tasks := streams * h.Query * blocks
	work := tasks * min(seq, tileQueries) * total * (2*h.Dim + costOfExp)
	c.each(tasks, work, func(thread, t int) {
		stream, head, block := t/(h.Query*blocks), t/blocks%h.Query, t%blocks
		first := block * tileQueries
		n := min(tileQueries, seq-first)
		at := (stream*seq+first)*h.Query*h.Dim + head*h.Dim
		kv := stream*h.KV + head/(h.Query/h.KV)
		stride := h.Query * h.Dim
		c.attend(thread,
			matrix(y[at:], n, h.Dim, stride), matrix(q[at:], n, h.Dim, stride),
			keys[kv], values[kv], total-seq+first)
	})
}

// attend computes one head's block: query i sees the keys up to before + i.
func (c *CPU) attend(thread int, y, q blas32.General, keys, values []float32, before int) {
	n, dim := q.Rows, q.Cols
	total := before + n
	s := matrix(c.scratch(thread, n*total), n, total, total)
	scale := float32(1 / math.Sqrt(float64(dim)))
	for j := 0; j < total; j += tileKeys {
		cols := min(tileKeys, total-j)
		blas32.Gemm(blas.NoTrans, blas.Trans, scale, q, matrix(keys[j*dim:], cols, dim, dim),
			0, matrix(s.Data[j:], n, cols, total))
	}
	for i := range n {
		row := s.Data[i*total : (i+1)*total]
		seen := before + i + 1
		Softmax(row[:seen])
		clear(row[seen:])
	}
	blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, s, matrix(values, total, dim, dim), 0, y)
}

// scratch is a thread's own slice of n elements, kept between calls.
func (c *CPU) scratch(thread, n int) []float32 {
	if cap(c.scores[thread]) < n {
		c.scores[thread] = make([]float32, n+n/4)
	}
	return c.scores[thread][:n]
}
