package host

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// noise is n values in [-1, 1).
func noise(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = 2*r.Float32() - 1
	}
	return out
}

// near fails unless got is want within tol of the largest value of want.
func near(t *testing.T, what string, got []float32, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	top := 1e-6
	for _, v := range want {
		top = max(top, math.Abs(v))
	}
	for i, v := range want {
		if d := math.Abs(float64(got[i]) - v); !(d <= tol*top) {
			t.Fatalf("%s: element %d is %g, want %g", what, i, got[i], v)
		}
	}
}

func TestMatmulT(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range [][3]int{{1, 1, 1}, {1, 261, 256}, {3, 7, 5}, {64, 128, 64}, {65, 129, 33}, {200, 300, 70}} {
		m, n, k := size[0], size[1], size[2]
		x, w := noise(r, m*k), noise(r, n*k)
		want := make([]float64, m*n)
		for i := range m {
			for j := range n {
				for l := range k {
					want[i*n+j] += float64(x[i*k+l]) * float64(w[j*k+l])
				}
			}
		}
		for _, threads := range []int{1, 3} {
			y := noise(r, m*n) // what was there before must not matter
			NewCPU(threads).MatmulT(y, x, w, m, n, k)
			near(t, fmt.Sprint("matmul ", size, " on ", threads), y, want, 1e-5)
		}
	}
}

// TestMatmulTRows holds the promise that a row's result is its own.
func TestMatmulTRows(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const m, n, k = 150, 203, 257
	x, w := noise(r, m*k), noise(r, n*k)
	all, one := make([]float32, m*n), make([]float32, n)
	NewCPU(2).MatmulT(all, x, w, m, n, k)
	for i := range m {
		NewCPU(1).MatmulT(one, x[i*k:(i+1)*k], w, 1, n, k)
		if !slices.Equal(one, all[i*n:(i+1)*n]) {
			t.Fatalf("row %d differs when computed alone", i)
		}
	}
}

func TestElementwise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	c := NewCPU(2)
	const rows, n = 70, 96
	x, w := noise(r, rows*n), noise(r, n)
	y := make([]float32, rows*n)

	c.RMSNorm(y, x, w, n, 1e-5)
	want := make([]float64, rows*n)
	for i := range rows {
		var mean float64
		for _, v := range x[i*n : (i+1)*n] {
			mean += float64(v) * float64(v) / n
		}
		for j := range n {
			want[i*n+j] = float64(x[i*n+j]) / math.Sqrt(mean+1e-5) * float64(w[j])
		}
	}
	near(t, "rms norm", y, want, 1e-6)

	gate, up := noise(r, 8000), noise(r, 8000)
	for i := range gate {
		gate[i] *= 30
	}
	y = make([]float32, len(gate))
	c.SwiGLU(y, gate, up)
	want = make([]float64, len(gate))
	for i := range gate {
		g := float64(gate[i])
		want[i] = g / (1 + math.Exp(-g)) * float64(up[i])
	}
	near(t, "swiglu", y, want, 1e-6)

	sum := make([]float32, n)
	c.Add(sum, x[:n], w)
	for i := range sum {
		want[i] = float64(x[i]) + float64(w[i])
	}
	near(t, "add", sum, want[:n], 1e-7)

	two := slices.Clone(x[:2*n])
	c.AddRow(two, w)
	for i := range two {
		want[i] = float64(x[i]) + float64(w[i%n])
	}
	near(t, "add row", two, want[:2*n], 1e-7)

	got := make([]float32, 3*n)
	c.Take(got, x, []int32{5, 0, 5}, n)
	if !slices.Equal(got, slices.Concat(x[5*n:6*n], x[:n], x[5*n:6*n])) {
		t.Error("take: wrong rows")
	}
}

func TestSoftmax(t *testing.T) {
	inf := float32(math.Inf(-1))
	for _, in := range [][]float32{{0}, {1, 2, 3}, {-1000, 1000}, {inf, 0.5, inf, 0.25}, {88, 89, 90}} {
		want, sum := make([]float64, len(in)), 0.0
		for i, v := range in {
			want[i] = math.Exp(float64(v) - float64(slices.Max(in)))
			sum += want[i]
		}
		for i := range want {
			want[i] /= sum
		}
		got := slices.Clone(in)
		Softmax(got)
		near(t, fmt.Sprint("softmax ", in), got, want, 1e-6)
	}
}

func TestArgmax(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		in   []float32
		want int
	}{
		{[]float32{1}, 0}, {[]float32{1, 3, 3}, 1}, {[]float32{-5, -4}, 1},
		{[]float32{nan, -1, nan}, 1}, {[]float32{inf, -1e30}, 1},
	} {
		if got := Argmax(c.in); got != c.want {
			t.Errorf("argmax %v = %d, want %d", c.in, got, c.want)
		}
	}
}

func TestRoPE(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	const heads, dim, seq, streams, offset = 3, 8, 5, 2, 11
	freqs := []float64{1, 0.3, 0.01} // turns 6 of the 8 dimensions
	for _, interleaved := range []bool{false, true} {
		x := noise(r, streams*seq*heads*dim)
		want := make([]float64, len(x))
		for i, v := range x {
			want[i] = float64(v)
		}
		for row := range streams * seq {
			for h := range heads {
				for i, f := range freqs {
					a, b := i, i+len(freqs)
					if interleaved {
						a, b = 2*i, 2*i+1
					}
					at := (row*heads + h) * dim
					sin, cos := math.Sincos(float64(offset+row%seq) * f)
					p, q := want[at+a], want[at+b]
					want[at+a], want[at+b] = p*cos-q*sin, p*sin+q*cos
				}
			}
		}
		NewCPU(2).RoPE(x, NewRotation(freqs), heads, dim, seq, offset, interleaved)
		near(t, "rope", x, want, 1e-6)
	}
}

// naiveAttention is what Attention must give, by the definition.
func naiveAttention(q []float32, keys, values [][]float32, h Heads, streams, seq, total int) []float64 {
	y := make([]float64, len(q))
	for s := range streams {
		for i := range seq {
			for head := range h.Query {
				at, kv := ((s*seq+i)*h.Query+head)*h.Dim, s*h.KV+head*h.KV/h.Query
				weights, sum := make([]float64, total-seq+i+1), 0.0
				for j := range weights {
					var score float64
					for d := range h.Dim {
						score += float64(q[at+d]) * float64(keys[kv][j*h.Dim+d])
					}
					weights[j] = math.Exp(score / math.Sqrt(float64(h.Dim)))
					sum += weights[j]
				}
				for j, w := range weights {
					for d := range h.Dim {
						y[at+d] += w / sum * float64(values[kv][j*h.Dim+d])
					}
				}
			}
		}
	}
	return y
}

func TestAttention(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for _, c := range []struct {
		h                   Heads
		streams, seq, total int
	}{
		{Heads{1, 1, 4}, 1, 1, 1},
		{Heads{4, 2, 16}, 1, 1, 300},
		{Heads{6, 2, 8}, 3, 1, 70},
		{Heads{4, 4, 8}, 2, 9, 9},
		{Heads{4, 1, 8}, 1, 70, 400},
		{Heads{2, 1, 32}, 2, 130, 260},
	} {
		q := noise(r, c.streams*c.seq*c.h.Query*c.h.Dim)
		var keys, values [][]float32
		for range c.streams * c.h.KV {
			keys = append(keys, noise(r, c.total*c.h.Dim))
			values = append(values, noise(r, c.total*c.h.Dim))
		}
		y := noise(r, len(q))
		NewCPU(2).Attention(y, q, keys, values, c.h, c.streams, c.seq, c.total)
		near(t, fmt.Sprintf("attention %+v", c), y, naiveAttention(q, keys, values, c.h, c.streams, c.seq, c.total), 1e-5)
	}
}

func BenchmarkMatmulT(b *testing.B) {
	r := rand.New(rand.NewPCG(6, 1))
	const n, k = 704, 256
	w := noise(r, n*k)
	for _, m := range []int{1, 4, 512} {
		b.Run(fmt.Sprintf("rows=%d", m), func(b *testing.B) {
			c, x, y := NewCPU(2), noise(r, m*k), make([]float32, m*n)
			for b.Loop() {
				c.MatmulT(y, x, w, m, n, k)
			}
			b.ReportMetric(float64(m*n*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}

func BenchmarkSoftmax(b *testing.B) {
	row := make([]float32, 512)
	for b.Loop() {
		Softmax(row)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/element")
}

func TestExp(t *testing.T) {
	check := func(x float32) {
		want := math.Exp(float64(x))
		if got := float64(exp(x)); math.Abs(got-want) > want*2.4e-7 {
			t.Fatalf("exp(%g) = %g, want %g", x, got, want)
		}
	}
	for x := float32(-87.3); x <= 88.3; x += 1e-3 {
		check(x)
	}
	check(0)
	inf := float32(math.Inf(1))
	if exp(-inf) != 0 || exp(-100) != 0 || exp(inf) != inf || exp(89) != inf || !math.IsNaN(float64(exp(float32(math.NaN())))) {
		t.Error("exp is wrong outside its range")
	}
	if got := exp(0); got != 1 {
		t.Errorf("exp(0) = %g", got)
	}
}
