package engine

import (
	"slices"

	"tokwatt/mlx/model"
)

// leftover is the cache that a request left, and the tokens that are in it.
type leftover struct {
	ids   []int32
	cache *model.Cache
}

// take gives a batch its cache: what the request before left, cut to where it
// is the same as the prompt, or an empty one.
func (b *batch) take(capacity int) {
	alone := len(b.rows) == 1 && b.rows[0].Prefix
	left := b.left
	b.left = nil
	if left != nil && !alone {
		left.cache.Free()
		left = nil
	}
	b.hit = HitNone
	if left == nil {
		b.cache = b.model.NewCache(len(b.rows), capacity)
		return
	}
	prompt := b.rows[0].prompt
	same := 0
	for same < min(len(prompt), len(left.ids)) && prompt[same] == left.ids[same] {
		same++
	}
	switch {
	case same == len(prompt):
		b.hit = HitExact
		same-- // its output is what the first token comes from
	case same > 0:
		b.hit = HitPartial
	}
	b.cache, b.cached = left.cache, same
	b.cache.Trim(same)
	b.cache.Grow(capacity)
}

// leave keeps the cache for the next request, if this one is of a kind that
// does, else frees it.
func (b *batch) leave(alone bool) {
	if !alone || b.failed {
		b.cache.Free()
		return
	}
	n := min(len(b.fed), b.cache.Len())
	b.cache.Trim(n)
	b.left = &leftover{ids: slices.Clone(b.fed[:n]), cache: b.cache}
}
