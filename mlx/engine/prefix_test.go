package engine

import (
	"slices"
	"testing"

	"tokwatt/mlx"
)

// TestPrefix asks for what earlier requests left: answers are those of an empty
// cache, whatever of a prompt was in it.
func TestPrefix(t *testing.T) {
	backends(t, func(t *testing.T, s *mlx.Stream) {
		m := tiny(t, s)
		h := listen(t)
		g := newGenerator(m, h.write, func(*job) {})
		g.chunk = 50
		before := s.Live()
		base := prompt(1, 120)
		grown := slices.Concat(base, greedy(m, base, 8), prompt(2, 160)) // the answer is in the cache, too
		asks := []struct {
			ids    []int32
			prefix bool
			hit    string
			cached int64
		}{
			{base, true, HitNone, 0},
			{base, true, HitExact, 119},
			{grown, true, HitPartial, 127}, // the last token generated was not taken in
			{base[:90], true, HitExact, 89},
			{slices.Concat(base[:50], prompt(3, 10)), true, HitPartial, 50},
			{prompt(4, 60), true, HitNone, 0},
			{prompt(4, 60), false, HitNone, 0},
			{prompt(4, 60), true, HitNone, 0}, // the one before left nothing
		}
		for i, a := range asks {
			j := newJob(int64(i), a.ids, 8, false)
			j.Prefix = a.prefix
			g.run([]*job{j})
			if want := greedy(m, a.ids, 8); !slices.Equal(h.tokens[int64(i)], want) {
				t.Errorf("request %d: %v, want %v", i, h.tokens[int64(i)], want)
			}
			if d := h.done[int64(i)]; d == nil || d.PrefixCacheHit != a.hit || d.CachedTokens != a.cached || d.PromptTokens != int64(len(a.ids)) {
				t.Errorf("request %d: %+v, want %s of %d", i, d, a.hit, a.cached)
			}
		}
		two := []*job{newJob(20, prompt(4, 60), 4, true), newJob(21, prompt(4, 60), 4, true)}
		two[0].Prefix, two[1].Prefix = true, true
		g.run(two)
		if d := h.done[20]; d == nil || d.PrefixCacheHit != HitNone || !slices.Equal(h.tokens[20], h.tokens[21]) {
			t.Errorf("two at once: %+v", d)
		}
		if left := s.Live(); left != before || g.left != nil {
			t.Errorf("%d arrays, %d before", left, before)
		}
	})
}
