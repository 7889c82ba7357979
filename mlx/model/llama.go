package model

import (
	"fmt"

	"tokwatt/mlx"
)

// A Model is a network with its weights.
type Model struct {
	Config Config
	embed  *mlx.Array
	layers []layer
	norm   *mlx.Array
	head   *mlx.Array // the embedding where tied
	rope   *mlx.RoPE
}

// linear is a linear layer; bias is nil where there is none.
type linear struct{ weight, bias *mlx.Array }

type layer struct {
	inputNorm, postNorm *mlx.Array
	q, k, v, o          linear
	gate, up, down      linear
}

// Weights are arrays by the names of [Config.Tensors]. A vector has one row.
type Weights map[string]*mlx.Array

// New joins a config and its weights. Each must be there in its shape.
func New(c Config, w Weights) (*Model, error) {
	for _, t := range c.Tensors() {
		rows, cols := 1, t.Shape[0]
		if len(t.Shape) == 2 {
			rows, cols = t.Shape[0], t.Shape[1]
		}
		switch a := w[t.Name]; {
		case a == nil:
			return nil, fmt.Errorf("the weight %s is missing", t.Name)
		case a.Rows() != rows || a.Cols() != cols:
			return nil, fmt.Errorf("the weight %s is %d × %d, but the config makes it %d × %d", t.Name, a.Rows(), a.Cols(), rows, cols)
		}
	}
	m := &Model{
		Config: c,
		embed:  w["model.embed_tokens.weight"],
		norm:   w["model.norm.weight"],
		head:   w["lm_head.weight"],
		rope:   mlx.NewRoPE(c.Rope.frequencies(c.HeadDim), c.Rope.Traditional),
	}
	if c.Tied {
		m.head = m.embed
	}
	for i := range c.Layers {
		p := layerPrefix(i)
		at := func(name string) linear { return linear{w[p+name+".weight"], w[p+name+".bias"]} }
		m.layers = append(m.layers, layer{
			inputNorm: w[p+"input_layernorm.weight"], postNorm: w[p+"post_attention_layernorm.weight"],
			q: at("self_attn.q_proj"), k: at("self_attn.k_proj"), v: at("self_attn.v_proj"), o: at("self_attn.o_proj"),
			gate: at("mlp.gate_proj"), up: at("mlp.up_proj"), down: at("mlp.down_proj"),
		})
	}
	return m, nil
}

// A Cache holds the keys and values of every layer for the streams of a batch.
type Cache struct{ layers []*mlx.KVCache }

// NewCache makes an empty cache for streams of at most capacity tokens.
func (m *Model) NewCache(streams, capacity int) *Cache {
	c := &Cache{}
	for range m.layers {
		c.layers = append(c.layers, mlx.NewKVCache(streams, m.Config.KVHeads, m.Config.HeadDim, capacity))
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

// Forward takes the next tokens of every stream through the network and into
// the cache: ids has those of the first stream, then those of the second, all
// equally many. The result is the hidden state of each, for [Model.Logits].
func (m *Model) Forward(s *mlx.Stream, ids []int32, cache *Cache) *mlx.Array {
	return m.forward(s, ids, cache, false)
}

// Newest is Forward with the hidden state of each stream's newest token alone,
// which is all that generating needs. It leaves out what the last layer would
// do for the others but their keys and values.
func (m *Model) Newest(s *mlx.Stream, ids []int32, cache *Cache) *mlx.Array {
	return m.forward(s, ids, cache, true)
}

func (m *Model) forward(s *mlx.Stream, ids []int32, cache *Cache, newest bool) *mlx.Array {
	span := span{seq: len(ids) / cache.Streams(), offset: cache.Len()}
	x := s.Take(m.embed, ids)
	for i := range m.layers {
		before := x
		x = s.Scope(func() *mlx.Array {
			last := i == len(m.layers)-1
			return m.layer(s, &m.layers[i], before, cache.layers[i], span, newest && last)
		})
		s.Free(before)
	}
	return x
}

// span says where tokens stand: seq of each stream, the first at offset.
type span struct{ seq, offset int }

// layer is one layer: attention and mlp, each on normed input and added to it.
func (m *Model) layer(s *mlx.Stream, l *layer, x *mlx.Array, cache *mlx.KVCache, at span, newest bool) *mlx.Array {
	c := &m.Config
	n := s.RMSNorm(x, l.inputNorm, float32(c.NormEps))
	k := s.RoPE(l.k.forward(s, n), m.rope, c.KVHeads, at.seq, at.offset)
	cache.Append(k, l.v.forward(s, n))
	if newest && at.seq > 1 {
		x, n = lastRows(s, x, cache.Streams()), lastRows(s, n, cache.Streams())
		at = span{seq: 1, offset: at.offset + at.seq - 1}
	}
	q := s.RoPE(l.q.forward(s, n), m.rope, c.Heads, at.seq, at.offset)
	x = s.Add(x, l.o.forward(s, s.Attention(q, cache, c.Heads)))
	return s.Add(x, m.mlp(s, l, x))
}

// mlp is a layer's second half, on its normed input.
func (m *Model) mlp(s *mlx.Stream, l *layer, x *mlx.Array) *mlx.Array {
	n := s.RMSNorm(x, l.postNorm, float32(m.Config.NormEps))
	return l.down.forward(s, s.SwiGLU(l.gate.forward(s, n), l.up.forward(s, n)))
}

func (l linear) forward(s *mlx.Stream, x *mlx.Array) *mlx.Array {
	return s.Linear(x, l.weight, l.bias)
}

// Logits is the score of every token of the vocabulary as the next one, for
// each row of hidden states. Only rows that are asked for are worth it.
func (m *Model) Logits(s *mlx.Stream, hidden *mlx.Array) *mlx.Array {
	return s.Linear(s.RMSNorm(hidden, m.norm, float32(m.Config.NormEps)), m.head, nil)
}

// lastRows picks the newest token's row of each stream.
func lastRows(s *mlx.Stream, hidden *mlx.Array, streams int) *mlx.Array {
	seq := hidden.Rows() / streams
	rows := make([]int32, streams)
	for i := range rows {
		rows[i] = int32((i+1)*seq - 1)
	}
	return s.Take(hidden, rows)
}
