package mlx

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
)

// library is the environment variable that names MLX's library.
const library = "TOKWATT_MLX_LIB"

// opened is MLX, once for all tests.
var opened = sync.OnceValues(func() (*Stream, error) { return Open("") })

// backends runs f with each backend. MLX is skipped where it is not at hand, but
// on CI its absence is a failure. f must not end its goroutine: MLX's thread
// would go with it.
func backends(t *testing.T, f func(t *testing.T, s *Stream)) {
	t.Run("host", func(t *testing.T) { f(t, NewStream()) })
	t.Run("mlx", func(t *testing.T) {
		if os.Getenv(library) == "" {
			why := library + " is not set: give it what make mlx-lib prints"
			if os.Getenv("CI") == "true" {
				t.Fatal(why)
			}
			t.Skip(why)
		}
		s, err := opened()
		if errors.Is(err, ErrBuild) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Do(func() { f(t, s) })
	})
}

// table is inputs with what operations must make of them.
type table struct {
	t *testing.T
	s *Stream
	r *rand.Rand
}

// noise is values in [-1, 1), as they are and as float64.
func (c table) noise(n int) ([]float32, []float64) {
	a, b := make([]float32, n), make([]float64, n)
	for i := range a {
		a[i] = 2*c.r.Float32() - 1
		b[i] = float64(a[i])
	}
	return a, b
}

// array is noise of a shape.
func (c table) array(rows, cols int) (Array, []float64) {
	a, b := c.noise(rows * cols)
	return c.s.NewArray(a, rows, cols), b
}

// tolerance is what results may be off, relative to the largest value. GPUs
// multiply float32 with fewer bits, and have quick exponentials.
func (c table) tolerance() float64 {
	if c.s.Info().Device == "gpu" {
		return 2e-3
	}
	return 3e-6
}

// near compares an array to what it must be, and its shape.
func (c table) near(what string, got Array, rows, cols int, want []float64) {
	c.t.Helper()
	data, err := c.s.Read(got)
	if err != nil || got.Rows() != rows || got.Cols() != cols || len(data) != len(want) {
		c.t.Errorf("%s: %v, %d values of %d × %d, want %d of %d × %d", what, err, len(data), got.Rows(), got.Cols(), len(want), rows, cols)
		return
	}
	top := 1e-6
	for _, v := range want {
		top = max(top, math.Abs(v))
	}
	for i, v := range want {
		if d := math.Abs(float64(data[i]) - v); !(d <= c.tolerance()*top) {
			c.t.Errorf("%s: element %d is %g, want %g", what, i, data[i], v)
			return
		}
	}
}

// TestOperations holds both backends to one table, computed in float64.
func TestOperations(t *testing.T) {
	backends(t, func(t *testing.T, s *Stream) {
		s.Scope(func() Array {
			c := table{t, s, rand.New(rand.NewPCG(1, 7))}
			c.elementwise()
			c.norms()
			c.linear()
			c.quantized()
			c.rope()
			c.attention()
			c.growth()
			c.mixture()
			c.tokens()
			return nil
		})
		if s.Temporaries() != 0 {
			t.Errorf("%d temporaries are left", s.Temporaries())
		}
	})
}

func (c table) elementwise() {
	a, af := c.array(5, 8)
	b, bf := c.array(5, 8)
	row, rf := c.array(1, 8)
	want := func(f func(i int) float64) []float64 {
		out := make([]float64, 40)
		for i := range out {
			out[i] = f(i)
		}
		return out
	}
	c.near("add", c.s.Add(a, b), 5, 8, want(func(i int) float64 { return af[i] + bf[i] }))
	c.near("add row", c.s.AddRow(a, row), 5, 8, want(func(i int) float64 { return af[i] + rf[i%8] }))
	c.near("swiglu", c.s.SwiGLU(a, b), 5, 8, want(func(i int) float64 { return af[i] / (1 + math.Exp(-af[i])) * bf[i] }))
	c.near("rows", c.s.Rows(a, []int32{4, 0, 4}), 3, 8, slices.Concat(af[32:], af[:8], af[32:]))
	one, of := c.array(1, 8)
	c.near("add to one row", c.s.Add(one, c.s.Rows(a, []int32{2})), 1, 8, want(func(i int) float64 { return of[i%8] + af[16+i%8] })[:8])
}

func norm(x, w []float64, eps float64) []float64 {
	var out []float64
	for run := range slices.Chunk(x, len(w)) {
		square := 0.0
		for _, v := range run {
			square += v * v / float64(len(w))
		}
		for i, v := range run {
			out = append(out, v/math.Sqrt(square+eps)*w[i])
		}
	}
	return out
}

func (c table) norms() {
	x, xf := c.array(7, 32)
	for _, n := range []int{32, 8} { // a row, and each of four heads
		w, wf := c.array(1, n)
		c.near(fmt.Sprint("norm of ", n), c.s.RMSNorm(x, w, 1e-2), 7, 32, norm(xf, wf, 1e-2))
	}
}

// times is x·wᵀ.
func times(x, w []float64, inner int) []float64 {
	var out []float64
	for row := range slices.Chunk(x, inner) {
		for column := range slices.Chunk(w, inner) {
			sum := 0.0
			for i, v := range row {
				sum += v * column[i]
			}
			out = append(out, sum)
		}
	}
	return out
}

func (c table) linear() {
	for _, rows := range []int{1, 9} {
		x, xf := c.array(rows, 64)
		w, wf := c.array(40, 64)
		bias, bf := c.array(1, 40)
		want := times(xf, wf, 64)
		weight := c.s.Dense(w)
		c.near("linear", c.s.Linear(x, weight, nil), rows, 40, want)
		for i := range want {
			want[i] += bf[i%40]
		}
		c.near("linear with a bias", c.s.Linear(x, weight, bias), rows, 40, want)
		c.near("take", c.s.Take(weight, c.s.Tokens([]int32{39, 3})), 2, 64, slices.Concat(wf[39*64:], wf[3*64:4*64]))
	}
}

func (c table) quantized() {
	for _, f := range []struct{ group, bits int }{{64, 4}, {32, 4}, {32, 8}, {128, 8}} {
		const outputs, inputs = 24, 256
		q, wf := c.packed(outputs, inputs, f.group, f.bits)
		weight, name := c.s.Quantized(q), fmt.Sprintf(" with %d bits in groups of %d", f.bits, f.group)
		for _, rows := range []int{1, 70} {
			x, xf := c.array(rows, inputs)
			c.near("linear"+name, c.s.Linear(x, weight, nil), rows, outputs, times(xf, wf, inputs))
		}
		c.near("take"+name, c.s.Take(weight, c.s.Tokens([]int32{23, 0})), 2, inputs, slices.Concat(wf[23*inputs:], wf[:inputs]))
	}
}

// packed is a random quantized weight, and what it stands for.
func (c table) packed(outputs, inputs, group, bits int) (Quantized, []float64) {
	q := Quantized{Outputs: outputs, Inputs: inputs, Group: group, Bits: bits}
	scales, sf := c.noise(outputs * inputs / group)
	biases, bf := c.noise(len(scales))
	q.Scales, q.Biases = F32.Append(nil, scales), F32.Append(nil, biases)
	var values []float64
	for len(values) < outputs*inputs {
		word := c.r.Uint32()
		q.Words = binary.LittleEndian.AppendUint32(q.Words, word)
		for at := 0; at < 32; at += bits {
			g := len(values) / group
			values = append(values, sf[g]*float64(word>>at&(1<<bits-1))+bf[g])
		}
	}
	return q, values
}

// turned is x with the pairs of each head turned, for runs of seq rows.
func turned(x []float64, freqs []float64, interleaved bool, heads, dim, seq, offset int) []float64 {
	out := slices.Clone(x)
	for row := 0; row < len(x)/(heads*dim); row++ {
		for h := range heads {
			v := out[(row*heads+h)*dim:][:dim]
			for i, f := range freqs {
				a, b := i, i+len(freqs)
				if interleaved {
					a, b = 2*i, 2*i+1
				}
				sin, cos := math.Sincos(f * float64(offset+row%seq))
				v[a], v[b] = v[a]*cos-v[b]*sin, v[a]*sin+v[b]*cos
			}
		}
	}
	return out
}

func (c table) rope() {
	const heads, dim, seq, streams = 3, 16, 5, 2
	x, xf := c.array(streams*seq, heads*dim)
	for _, interleaved := range []bool{false, true} {
		for _, pairs := range []int{8, 3} { // the whole head, and a part of it
			freqs := make([]float64, pairs)
			for i := range freqs {
				freqs[i] = math.Pow(100, -float64(i)/float64(pairs))
			}
			name := fmt.Sprintf("rope of %d pairs, interleaved %v", pairs, interleaved)
			y := c.s.RoPE(x, c.s.NewRoPE(freqs, interleaved), heads, seq, 11)
			c.near(name, y, streams*seq, heads*dim, turned(xf, freqs, interleaved, heads, dim, seq, 11))
		}
	}
}

// attended is causal attention by its definition: q has the newest seq rows of
// each stream, k and v all rows of each.
func attended(q, k, v []float64, streams, seq, total, heads, kvHeads, dim int) []float64 {
	out := make([]float64, len(q))
	for s := range streams {
		for i := range seq {
			for h := range heads {
				at := ((s*seq+i)*heads + h) * dim
				seen := total - seq + i + 1
				weights, sum := make([]float64, seen), 0.0
				for j := range weights {
					kv := ((s*total+j)*kvHeads + h/(heads/kvHeads)) * dim
					for d := range dim {
						weights[j] += q[at+d] * k[kv+d] / math.Sqrt(float64(dim))
					}
					weights[j] = math.Exp(weights[j])
					sum += weights[j]
				}
				for j, w := range weights {
					kv := ((s*total+j)*kvHeads + h/(heads/kvHeads)) * dim
					for d := range dim {
						out[at+d] += w / sum * v[kv+d]
					}
				}
			}
		}
	}
	return out
}

// attention fills a cache in three steps, attends after each, and drops a
// stream between.
func (c table) attention() {
	const heads, kvHeads, dim, streams = 6, 2, 8, 3
	cache := c.s.NewKVCache(streams, kvHeads, dim, 12)
	defer cache.Free()
	keys, values := make([][]float64, streams), make([][]float64, streams)
	left := []int{0, 1, 2}
	total := 0
	for step, seq := range []int{5, 4, 1} {
		if step == 1 {
			cache.Keep([]int{0, 2})
			left = []int{0, 2}
		}
		n := len(left)
		k, kf := c.array(n*seq, kvHeads*dim)
		v, vf := c.array(n*seq, kvHeads*dim)
		q, qf := c.array(n*seq, heads*dim)
		cache.Append(k, v)
		total += seq
		var allKeys, allValues []float64
		for i, s := range left {
			part := seq * kvHeads * dim
			keys[s] = append(keys[s], kf[i*part:(i+1)*part]...)
			values[s] = append(values[s], vf[i*part:(i+1)*part]...)
			allKeys, allValues = append(allKeys, keys[s]...), append(allValues, values[s]...)
		}
		want := attended(qf, allKeys, allValues, n, seq, total, heads, kvHeads, dim)
		c.near(fmt.Sprint("attention, step ", step), c.s.Attention(q, cache, heads), n*seq, heads*dim, want)
	}
}

// growth cuts a cache, makes it longer than it was made for, and goes on.
func (c table) growth() {
	const heads, dim = 2, 8
	cache := c.s.NewKVCache(1, heads, dim, 4)
	defer cache.Free()
	var keys, values []float64
	for _, step := range []struct{ trim, grow, seq int }{{0, 4, 4}, {3, 4, 1}, {2, 600, 590}, {592, 600, 1}} {
		cache.Trim(step.trim)
		cache.Grow(step.grow)
		k, kf := c.array(step.seq, heads*dim)
		v, vf := c.array(step.seq, heads*dim)
		q, qf := c.array(step.seq, heads*dim)
		cache.Append(k, v)
		keys, values = append(keys[:step.trim*heads*dim], kf...), append(values[:step.trim*heads*dim], vf...)
		want := attended(qf, keys, values, 1, step.seq, cache.Len(), heads, heads, dim)
		c.near(fmt.Sprint("attention after a cut to ", step.trim), c.s.Attention(q, cache, heads), step.seq, heads*dim, want)
	}
}

// mixed is a mixture of experts by its definition.
func mixed(x, router, gate, up, down []float64, experts, chosen, cols, hidden int, normalize bool) []float64 {
	out := make([]float64, len(x))
	for row := range len(x) / cols {
		in, scores := x[row*cols:(row+1)*cols], router[row*experts:(row+1)*experts]
		weights, sum := make([]float64, experts), 0.0
		for e, v := range scores {
			weights[e] = math.Exp(v)
			sum += weights[e]
		}
		order := make([]int, experts)
		for e := range order {
			order[e] = e
			weights[e] /= sum
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
		if normalize {
			sum = 0
			for _, e := range order[:chosen] {
				sum += weights[e]
			}
			for _, e := range order[:chosen] {
				weights[e] /= sum
			}
		}
		for _, e := range order[:chosen] {
			part := func(w []float64) []float64 { return w[e*hidden*cols : (e+1)*hidden*cols] }
			g, u := times(in, part(gate), cols), times(in, part(up), cols)
			for i := range g {
				u[i] *= g[i] / (1 + math.Exp(-g[i]))
			}
			for i, v := range times(u, part(down), hidden) {
				out[row*cols+i] += weights[e] * v
			}
		}
	}
	return out
}

// mixture takes few rows, and so many that MLX sorts them by expert.
func (c table) mixture() {
	const experts, chosen, cols, hidden = 6, 2, 64, 32
	for _, quantized := range []bool{false, true} {
		weight := func(rows, inputs int) (Weight, []float64) {
			if quantized {
				q, values := c.packed(experts*rows, inputs, 32, 4)
				return c.s.Stack(c.s.Quantized(q), experts), values
			}
			a, values := c.array(experts*rows, inputs)
			return c.s.Stack(c.s.Dense(a), experts), values
		}
		m := Mixture{Chosen: chosen}
		var gate, up, down []float64
		m.Gate, gate = weight(hidden, cols)
		m.Up, up = weight(hidden, cols)
		m.Down, down = weight(cols, hidden)
		for _, rows := range []int{1, 5, 70} {
			for _, m.Normalize = range []bool{false, true} {
				x, xf := c.array(rows, cols)
				var router []float64
				m.Router, router = c.array(rows, experts)
				name := fmt.Sprintf("mixture of %d rows, quantized %v, normalized %v", rows, quantized, m.Normalize)
				c.near(name, c.s.Mixture(x, m), rows, cols, mixed(xf, router, gate, up, down, experts, chosen, cols, hidden, m.Normalize))
			}
		}
	}
}

func (c table) tokens() {
	x := c.s.NewArray([]float32{1, 3, 3, float32(math.Inf(-1)), -5, -4, -7, -4}, 2, 4)
	best := c.s.Argmax(x)
	c.s.Start(best)
	second := c.s.Pick(best, []int{1})
	for _, want := range []struct {
		t      Tokens
		ids    []int32
		scores []float32
	}{{best, []int32{1, 1}, []float32{3, -4}}, {second, []int32{1}, []float32{-4}}, {c.s.Tokens([]int32{7, 9}), []int32{7, 9}, nil}} {
		ids, scores, err := c.s.ReadTokens(want.t)
		if err != nil || !slices.Equal(ids, want.ids) || !slices.Equal(scores, want.scores) || want.t.Len() != len(ids) {
			c.t.Errorf("tokens %v with %v, %v; want %v with %v", ids, scores, err, want.ids, want.scores)
		}
		c.s.FreeTokens(want.t)
	}
}

// TestTypes holds that weights of every type are read as they are.
func TestTypes(t *testing.T) {
	values := []float32{1, -2.5, 0.15625, 65504}
	raw := map[DType][]byte{
		F32:  F32.Append(nil, values),
		BF16: {0x80, 0x3f, 0x20, 0xc0, 0x20, 0x3e, 0x80, 0x47},
		F16:  {0, 0x3c, 0, 0xc1, 0, 0x31, 0xff, 0x7b},
	}
	backends(t, func(t *testing.T, s *Stream) {
		for kind, b := range raw {
			want := slices.Clone(values)
			if kind == BF16 {
				want[3] = 65536
			}
			if got, err := s.Read(s.Load(kind, b, 2, 2)); err != nil || !slices.Equal(got, want) {
				t.Errorf("type %d: %v, %v", kind, got, err)
			}
		}
	})
	if got := BF16.Append(nil, []float32{1, -2.5, 0.15625, 65504}); !slices.Equal(got, raw[BF16]) {
		t.Errorf("to bfloat16: %x", got)
	}
	out := make([]float32, 5)
	F16.Decode(out, []byte{1, 0, 0xff, 3, 0, 0xfc, 0, 0x80, 0, 0x7e})
	if out[0] != 1.0/(1<<24) || out[1] != 1023.0/(1<<24) || !math.IsInf(float64(out[2]), -1) || !math.Signbit(float64(out[3])) || out[4] == out[4] {
		t.Errorf("halves: %v", out)
	}
}
