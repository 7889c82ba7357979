package mlx

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

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
