package host

import (
	"slices"

	"tokwatt/mlx/internal/backend"
)

// cache holds, per stream and head, its tokens' rows of dim.
type cache struct {
	heads, dim   int
	keys, values [][]float32
}

// Cache reserves the memory of a whole cache.
func (b *Backend) Cache(streams, heads, dim, capacity int) backend.Cache {
	c := &cache{heads: heads, dim: dim}
	for range streams * heads {
		c.keys = append(c.keys, make([]float32, 0, capacity*dim))
		c.values = append(c.values, make([]float32, 0, capacity*dim))
	}
	return c
}

// Append copies rows, each head's to its own.
func (c *cache) Append(k, v backend.Array) {
	keys, values := k.(*array), v.(*array)
	seq := keys.rows / (len(c.keys) / c.heads)
	for row := range keys.rows {
		for h := range c.heads {
			at, from := row/seq*c.heads+h, row*keys.cols+h*c.dim
			c.keys[at] = append(c.keys[at], keys.data[from:from+c.dim]...)
			c.values[at] = append(c.values[at], values.data[from:from+c.dim]...)
		}
	}
}

// Keep moves the streams that stay together.
func (c *cache) Keep(streams []int) {
	keys, values := c.keys[:0], c.values[:0]
	for _, s := range streams {
		keys = append(keys, c.keys[s*c.heads:(s+1)*c.heads]...)
		values = append(values, c.values[s*c.heads:(s+1)*c.heads]...)
	}
	clear(c.keys[len(keys):])
	clear(c.values[len(values):])
	c.keys, c.values = keys, values
}

// Trim shortens each head's rows.
func (c *cache) Trim(n int) {
	for i := range c.keys {
		c.keys[i], c.values[i] = c.keys[i][:n*c.dim], c.values[i][:n*c.dim]
	}
}

// Grow copies where there is too little room.
func (c *cache) Grow(capacity int) {
	for i := range c.keys {
		more := max(0, capacity*c.dim-len(c.keys[i]))
		c.keys[i], c.values[i] = slices.Grow(c.keys[i], more), slices.Grow(c.values[i], more)
	}
}

// Free forgets the cache's memory.
func (c *cache) Free() { c.keys, c.values = nil, nil }
