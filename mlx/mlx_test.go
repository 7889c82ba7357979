package mlx

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func random(s *Stream, r *rand.Rand, rows, cols int) Array {
	data := make([]float32, rows*cols)
	for i := range data {
		data[i] = 2*r.Float32() - 1
	}
	return s.NewArray(data, rows, cols)
}

// read is an array's elements.
func read(t testing.TB, s *Stream, a Array) []float32 {
	t.Helper()
	out, err := s.Read(a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestScopeFreesAllButItsResult(t *testing.T) {
	s := NewStream()
	x := s.NewArray([]float32{1, 2, 3, 4}, 2, 2)
	var lost Array
	y := s.Scope(func() Array {
		lost = s.Add(x, x)
		return s.Add(lost, x)
	})
	if _, err := s.Read(lost); err == nil || s.Temporaries() != 1 {
		t.Errorf("a temporary outlived its scope: %d are left", s.Temporaries())
	}
	if got := read(t, s, y); !slices.Equal(got, []float32{3, 6, 9, 12}) {
		t.Errorf("result %v", got)
	}
	z := s.Add(x, x) // takes the freed memory, not that of y
	if !slices.Equal(read(t, s, y), []float32{3, 6, 9, 12}) || !slices.Equal(read(t, s, z), []float32{2, 4, 6, 8}) {
		t.Errorf("results share memory: %v, %v", read(t, s, y), read(t, s, z))
	}
	if allocated := testing.AllocsPerRun(100, func() {
		s.Scope(func() Array { s.Add(x, y); return nil })
	}); allocated > 3 {
		t.Errorf("%v allocations for one reused array", allocated)
	}
}

// TestKeepDropsStreams holds that the streams left over answer as they did.
func TestKeepDropsStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := NewStream()
	const streams, queryHeads, heads, dim, seq = 4, 4, 2, 8, 3
	c := s.NewKVCache(streams, heads, dim, 10)
	c.Append(random(s, r, streams*seq, heads*dim), random(s, r, streams*seq, heads*dim))
	q := random(s, r, streams, queryHeads*dim)
	all := read(t, s, s.Attention(q, c, queryHeads))

	c.Keep([]int{1, 3})
	if c.Streams() != 2 || c.Len() != seq {
		t.Fatalf("%d streams of %d", c.Streams(), c.Len())
	}
	got := read(t, s, s.Attention(s.Rows(q, []int32{1, 3}), c, queryHeads))
	n := q.Cols()
	if !slices.Equal(got, slices.Concat(all[n:2*n], all[3*n:])) {
		t.Error("a kept stream answers differently")
	}
}

func TestWrongShapesPanic(t *testing.T) {
	s := NewStream()
	x, w := s.NewArray(make([]float32, 6), 2, 3), s.NewArray(make([]float32, 4), 1, 4)
	cache := s.NewKVCache(1, 1, 3, 1)
	for what, f := range map[string]func(){
		"array":   func() { s.NewArray(make([]float32, 5), 2, 3) },
		"linear":  func() { s.Linear(x, s.Dense(w), nil) },
		"norm":    func() { s.RMSNorm(x, w, 1) },
		"add":     func() { s.Add(x, w) },
		"add row": func() { s.AddRow(x, w) },
		"rows":    func() { s.Rows(x, []int32{2}) },
		"quantized": func() {
			s.Quantized(Quantized{Outputs: 1, Inputs: 32, Group: 32, Bits: 4, Words: make([]byte, 12), Scales: make([]byte, 4), Biases: make([]byte, 4)})
		},
		"attention": func() { s.Attention(x, cache, 1) },
		"capacity":  func() { cache.Append(x, x) },
		"rope":      func() { s.RoPE(x, s.NewRoPE([]float64{1, 1}, false), 1, 1, 0) },
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
