package model

import (
	"tokwatt/mlx"
)

// A Model is a network with its weights, on a stream.
type Model struct {
	Config Config
	Stream *mlx.Stream
	embed  mlx.Weight
	layers []layer
	norm   mlx.Array
	head   mlx.Weight // the embedding where tied
	rope   mlx.RoPE
}

// linear is a linear layer; bias is nil where there is none.
type linear struct {
	weight mlx.Weight
	bias   mlx.Array
}

type layer struct {
	inputNorm, postNorm mlx.Array
	q, k, v, o          linear
	qNorm, kNorm        mlx.Array // of heads; nil where there are none
	gate, up, down      linear
	router              linear      // of a layer with experts instead; else its weight is nil
	experts             mlx.Mixture // less the router's scores
}

// A Cache holds the keys and values of every layer for the streams of a batch.
type Cache struct{ layers []*mlx.KVCache }

// NewCache makes an empty cache for streams of at most capacity tokens.
func (m *Model) NewCache(streams, capacity int) *Cache {
	c := &Cache{}
	for range m.layers {
		c.layers = append(c.layers, m.Stream.NewKVCache(streams, m.Config.KVHeads, m.Config.HeadDim, capacity))
	}
	return c
}

// Len is the number of tokens of each stream.
func (c *Cache) Len() int { return c.layers[0].Len() }

// Streams is the number of streams.
func (c *Cache) Streams() int { return c.layers[0].Streams() }

// Keep drops all streams but the given ones, in ascending order.
func (c *Cache) Keep(streams []int) {
	for _, l := range c.layers {
		l.Keep(streams)
	}
}

// Trim drops all but the first n tokens of every stream.
func (c *Cache) Trim(n int) {
	for _, l := range c.layers {
		l.Trim(n)
	}
}

// Grow makes room for capacity tokens of each stream.
func (c *Cache) Grow(capacity int) {
	for _, l := range c.layers {
		l.Grow(capacity)
	}
}

// Free frees the cache's memory.
func (c *Cache) Free() {
	for _, l := range c.layers {
		l.Free()
	}
}

// Settle waits until the cache holds what was taken into it.
func (m *Model) Settle(c *Cache) error { return m.Stream.Settle(c.layers...) }

// Forward takes the next tokens of every stream through the network and into
// the cache: ids has those of the first stream, then those of the second, all
// equally many. The result is the hidden state of each, for [Model.Logits].
func (m *Model) Forward(ids mlx.Tokens, cache *Cache) mlx.Array {
	return m.forward(ids, cache, false)
}

// Newest is Forward with the hidden state of each stream's newest token alone,
// which is all that generating needs. It leaves out what the last layer would
// do for the others but their keys and values.
func (m *Model) Newest(ids mlx.Tokens, cache *Cache) mlx.Array {
	return m.forward(ids, cache, true)
}

func (m *Model) forward(ids mlx.Tokens, cache *Cache, newest bool) mlx.Array {
	s := m.Stream
	span := span{seq: ids.Len() / cache.Streams(), offset: cache.Len()}
	x := s.Take(m.embed, ids)
	for i := range m.layers {
		before := x
		x = s.Scope(func() mlx.Array {
			last := i == len(m.layers)-1
			return m.layer(&m.layers[i], before, cache.layers[i], span, newest && last)
		})
		s.Free(before)
	}
	return x
}

// span says where tokens stand: seq of each stream, the first at offset.
type span struct{ seq, offset int }

// layer is one layer: attention and mlp, each on normed input and added to it.
func (m *Model) layer(l *layer, x mlx.Array, cache *mlx.KVCache, at span, newest bool) mlx.Array {
	c, s := &m.Config, m.Stream
	n := m.normed(x, l.inputNorm)
	k := s.RoPE(m.normed(l.k.forward(s, n), l.kNorm), m.rope, c.KVHeads, at.seq, at.offset)
	cache.Append(k, l.v.forward(s, n))
	if newest && at.seq > 1 {
		x, n = lastRows(s, x, cache.Streams()), lastRows(s, n, cache.Streams())
		at = span{seq: 1, offset: at.offset + at.seq - 1}
	}
	q := s.RoPE(m.normed(l.q.forward(s, n), l.qNorm), m.rope, c.Heads, at.seq, at.offset)
	x = s.Add(x, l.o.forward(s, s.Attention(q, cache, c.Heads)))
	return s.Add(x, m.mlp(l, x))
}

// mlp is a layer's second half, on its normed input.
func (m *Model) mlp(l *layer, x mlx.Array) mlx.Array {
	s, n := m.Stream, m.normed(x, l.postNorm)
	if l.router.weight != nil {
		mixture := l.experts
		mixture.Router = l.router.forward(s, n)
		return s.Mixture(n, mixture)
	}
	return l.down.forward(s, s.SwiGLU(l.gate.forward(s, n), l.up.forward(s, n)))
}

// normed is x, normed by w where the model has such a norm: of rows, or of heads
// if w is as long as one.
func (m *Model) normed(x, w mlx.Array) mlx.Array {
	if w == nil {
		return x
	}
	return m.Stream.RMSNorm(x, w, float32(m.Config.NormEps))
}

func (l linear) forward(s *mlx.Stream, x mlx.Array) mlx.Array {
	return s.Linear(x, l.weight, l.bias)
}

// Logits is the score of every token of the vocabulary as the next one, for
// each row of hidden states. Only rows that are asked for are worth it.
func (m *Model) Logits(hidden mlx.Array) mlx.Array {
	return m.Stream.Linear(m.normed(hidden, m.norm), m.head, nil)
}

// lastRows picks the newest token's row of each stream.
func lastRows(s *mlx.Stream, hidden mlx.Array, streams int) mlx.Array {
	seq := hidden.Rows() / streams
	rows := make([]int32, streams)
	for i := range rows {
		rows[i] = int32((i+1)*seq - 1)
	}
	return s.Rows(hidden, rows)
}
