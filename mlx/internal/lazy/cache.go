//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package lazy

import (
	"math"

	"tokwatt/mlx/internal/backend"
	"tokwatt/mlx/internal/capi"
)

// cacheStep is what a cache's capacity is a multiple of, in tokens, as in mlx_lm.
const cacheStep = 256

// cache is the keys and values of a layer: [streams, heads, capacity, dim] each,
// from the first append on.
type cache struct {
	b                            *Backend
	keys, values                 capi.Handle
	streams, heads, dim, reserve int
	length                       int
}

// Cache makes an empty cache.
func (b *Backend) Cache(streams, heads, dim, capacity int) backend.Cache {
	return &cache{b: b, streams: streams, heads: heads, dim: dim, reserve: steps(capacity)}
}

// steps is a capacity, rounded up.
func steps(capacity int) int { return (capacity + cacheStep - 1) / cacheStep * cacheStep }

// Append writes behind what there is.
func (c *cache) Append(k, v backend.Array) {
	seq := k.Rows() / c.streams
	c.keys = c.put(c.keys, k.(*array), seq)
	c.values = c.put(c.values, v.(*array), seq)
	c.length += seq
}

// put is all with the rows of a. The handle of the old state is given up before
// anything is computed, so that MLX writes in place.
func (c *cache) put(all capi.Handle, a *array, seq int) capi.Handle {
	b, rows := c.b, a.h
	if a.form != byHeads {
		rows = b.split(a, c.heads, c.streams)
		defer b.Library.Free(rows)
	}
	if all == capi.None {
		all = b.Zeros(b.TypeOf(rows), int32(c.streams), int32(c.heads), int32(c.reserve), int32(c.dim))
	}
	defer b.Library.Free(all)
	return b.SliceUpdate(all, rows, []int32{0, 0, int32(c.length), 0},
		[]int32{int32(c.streams), int32(c.heads), int32(c.length + seq), int32(c.dim)})
}

// Keep gathers streams.
func (c *cache) Keep(streams []int) {
	at := make([]int32, len(streams))
	for i, s := range streams {
		at[i] = int32(s)
	}
	ids := c.b.indices(at)
	defer c.b.Library.Free(ids)
	for _, h := range []*capi.Handle{&c.keys, &c.values} {
		old := *h
		*h = c.b.TakeAxis(old, ids, 0)
		c.b.Library.Free(old)
	}
	c.streams = len(streams)
}

// Trim forgets where the end was: what is behind is written over.
func (c *cache) Trim(n int) { c.length = n }

// Grow appends zeros.
func (c *cache) Grow(capacity int) {
	more := steps(capacity) - c.reserve
	if more <= 0 {
		return
	}
	c.reserve += more
	for _, h := range []*capi.Handle{&c.keys, &c.values} {
		if old := *h; old != capi.None {
			room := c.b.Zeros(c.b.TypeOf(old), int32(c.streams), int32(c.heads), int32(more), int32(c.dim))
			*h = c.b.ConcatenateAxis(2, old, room)
			c.b.Library.Free(old)
			c.b.Library.Free(room)
		}
	}
}

// Free gives up the cache.
func (c *cache) Free() {
	c.b.Library.Free(c.keys)
	c.b.Library.Free(c.values)
	c.keys, c.values = capi.None, capi.None
}

// Attention is against the part of the cache that is filled.
func (b *Backend) Attention(q backend.Array, bc backend.Cache, heads int) backend.Array {
	c, in := bc.(*cache), q.(*array)
	queries := in.h
	if in.form != byHeads {
		queries = b.split(in, heads, c.streams)
		defer b.Library.Free(queries)
	}
	start, stop := []int32{0, 0, 0, 0}, []int32{int32(c.streams), int32(c.heads), int32(c.length), int32(c.dim)}
	k, v := b.Slice(c.keys, start, stop), b.Slice(c.values, start, stop)
	defer b.Library.Free(k)
	defer b.Library.Free(v)
	scale := float32(1 / math.Sqrt(float64(c.dim)))
	y := b.ScaledDotProductAttention(queries, k, v, scale, in.rows > c.streams)
	return &array{h: y, rows: in.rows, cols: in.cols, form: byHeads}
}
