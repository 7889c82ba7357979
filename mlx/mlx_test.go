package mlx

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func random(r *rand.Rand, rows, cols int) *Array {
	data := make([]float32, rows*cols)
	for i := range data {
		data[i] = 2*r.Float32() - 1
	}
	return NewArray(data, rows, cols)
}

func TestScopeFreesAllButItsResult(t *testing.T) {
	s := NewStream()
	x := NewArray([]float32{1, 2, 3, 4}, 2, 2)
	var lost *Array
	y := s.Scope(func() *Array {
		lost = s.Add(x, x)
		return s.Add(lost, x)
	})
	if lost.data != nil {
		t.Error("a temporary outlived its scope")
	}
	if !slices.Equal(y.data, []float32{3, 6, 9, 12}) {
		t.Errorf("result %v", y.data)
	}
	z := s.Add(x, x) // takes the freed memory, not that of y
	if !slices.Equal(y.data, []float32{3, 6, 9, 12}) || !slices.Equal(z.data, []float32{2, 4, 6, 8}) {
		t.Errorf("results share memory: %v, %v", y.data, z.data)
	}
	if allocated := testing.AllocsPerRun(100, func() {
		s.Scope(func() *Array { s.Add(x, y); return nil })
	}); allocated > 3 {
		t.Errorf("%v allocations for one reused array", allocated)
	}
}

func TestAddRowToAll(t *testing.T) {
	s := NewStream()
	x := NewArray([]float32{1, 2, 3, 4}, 2, 2)
	y := s.Add(x, NewArray([]float32{10, 20}, 1, 2))
	if !slices.Equal(y.data, []float32{11, 22, 13, 24}) {
		t.Errorf("got %v", y.data)
	}
}

// TestKeepDropsStreams holds that the streams left over answer as they did.
func TestKeepDropsStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := NewStream()
	const streams, queryHeads, heads, dim, seq = 4, 4, 2, 8, 3
	c := NewKVCache(streams, heads, dim, 10)
	c.Append(random(r, streams*seq, heads*dim), random(r, streams*seq, heads*dim))
	q := random(r, streams, queryHeads*dim)
	all := s.Attention(q, c, queryHeads)

	c.Keep([]int{1, 3})
	if c.Streams() != 2 || c.Len() != seq {
		t.Fatalf("%d streams of %d", c.Streams(), c.Len())
	}
	left := NewArray(slices.Concat(q.Row(1), q.Row(3)), 2, q.cols)
	got := s.Attention(left, c, queryHeads)
	if !slices.Equal(got.data, slices.Concat(all.Row(1), all.Row(3))) {
		t.Error("a kept stream answers differently")
	}
}

func TestWrongShapesPanic(t *testing.T) {
	s := NewStream()
	x, w := NewArray(make([]float32, 6), 2, 3), NewArray(make([]float32, 4), 1, 4)
	cache := NewKVCache(1, 1, 3, 1)
	for what, f := range map[string]func(){
		"array":     func() { NewArray(make([]float32, 5), 2, 3) },
		"linear":    func() { s.Linear(x, w, nil) },
		"norm":      func() { s.RMSNorm(x, w, 1) },
		"add":       func() { s.Add(x, w) },
		"take":      func() { s.Take(x, []int32{2}) },
		"attention": func() { s.Attention(x, cache, 1) },
		"capacity":  func() { cache.Append(x, x) },
		"rope":      func() { s.RoPE(x, NewRoPE([]float64{1, 1}, false), 1, 1, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a wrong shape was taken", what)
				}
			}()
			f()
		}()
	}
}
