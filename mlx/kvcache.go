package mlx

import "fmt"

// A KVCache holds the keys and values of one layer for the streams of a batch,
// all of one length.
type KVCache struct {
	heads, dim       int
	capacity, length int
	keys, values     [][]float32 // per stream and head: its tokens' rows of dim
}

// NewKVCache makes an empty cache of a fixed capacity in tokens.
func NewKVCache(streams, heads, dim, capacity int) *KVCache {
	c := &KVCache{heads: heads, dim: dim, capacity: capacity}
	for range streams * heads {
		c.keys = append(c.keys, make([]float32, 0, capacity*dim))
		c.values = append(c.values, make([]float32, 0, capacity*dim))
	}
	return c
}

// Streams is the number of streams.
func (c *KVCache) Streams() int { return len(c.keys) / c.heads }

// Len is the number of tokens of each stream.
func (c *KVCache) Len() int { return c.length }

// Append takes in the keys and values of the next tokens of every stream.
func (c *KVCache) Append(k, v *Array) {
	k.want("the keys", c.heads*c.dim)
	v.want("the values", c.heads*c.dim)
	seq := k.rows / c.Streams()
	if k.rows != v.rows || seq*c.Streams() != k.rows || c.length+seq > c.capacity {
		panic(fmt.Sprintf("mlx: %d keys and %d values for %d streams, with %d of %d tokens cached",
			k.rows, v.rows, c.Streams(), c.length, c.capacity))
	}
	for row := range k.rows {
		for h := range c.heads {
			at, from := row/seq*c.heads+h, h*c.dim
			c.keys[at] = append(c.keys[at], k.Row(row)[from:from+c.dim]...)
			c.values[at] = append(c.values[at], v.Row(row)[from:from+c.dim]...)
		}
	}
	c.length += seq
}

// Keep drops all streams but the given ones, in ascending order.
func (c *KVCache) Keep(streams []int) {
	keys, values := c.keys[:0], c.values[:0]
	for _, s := range streams {
		keys = append(keys, c.keys[s*c.heads:(s+1)*c.heads]...)
		values = append(values, c.values[s*c.heads:(s+1)*c.heads]...)
	}
	clear(c.keys[len(keys):])
	clear(c.values[len(values):])
	c.keys, c.values = keys, values
}
