package mlx

import (
	"fmt"

	"tokwatt/mlx/internal/backend"
)

// A KVCache holds the keys and values of one layer for the streams of a batch,
// all of one length.
type KVCache struct {
	heads, dim       int
	streams          int
	capacity, length int
	c                backend.Cache
}

// NewKVCache makes an empty cache of a fixed capacity in tokens.
func (s *Stream) NewKVCache(streams, heads, dim, capacity int) *KVCache {
	return &KVCache{heads: heads, dim: dim, streams: streams, capacity: capacity, c: s.b.Cache(streams, heads, dim, capacity)}
}

// Streams is the number of streams.
func (c *KVCache) Streams() int { return c.streams }

// Len is the number of tokens of each stream.
func (c *KVCache) Len() int { return c.length }

// Append takes in the keys and values of the next tokens of every stream.
func (c *KVCache) Append(k, v Array) {
	want("the keys", k, c.heads*c.dim)
	want("the values", v, c.heads*c.dim)
	seq := k.Rows() / c.streams
	if k.Rows() != v.Rows() || seq*c.streams != k.Rows() || c.length+seq > c.capacity {
		panic(fmt.Sprintf("mlx: %d keys and %d values for %d streams, with %d of %d tokens cached",
			k.Rows(), v.Rows(), c.streams, c.length, c.capacity))
	}
	c.c.Append(k, v)
	c.length += seq
}

// Keep drops all streams but the given ones, in ascending order.
func (c *KVCache) Keep(streams []int) {
	c.c.Keep(streams)
	c.streams = len(streams)
}

// Trim drops all but the first n tokens of every stream.
func (c *KVCache) Trim(n int) {
	if n < 0 || n > c.length {
		panic(fmt.Sprintf("mlx: a cache of %d tokens cut to %d", c.length, n))
	}
	c.c.Trim(n)
	c.length = n
}

// Grow makes room for capacity tokens of each stream; it never takes any.
func (c *KVCache) Grow(capacity int) {
	if capacity > c.capacity {
		c.c.Grow(capacity)
		c.capacity = capacity
	}
}

// Free frees the cache's memory.
func (c *KVCache) Free() { c.c.Free() }
