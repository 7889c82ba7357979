//go:build (darwin || (linux && (cgo || mlx))) && (amd64 || arm64)

package capi

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// selfCheck compares small results to what they must be. Libraries were seen
// that load well and compute rubbish: a kernel file that does not fit the
// system, or kernels for quantized weights that a compiler got wrong.
func (l *Library) selfCheck() error {
	r := rand.New(rand.NewPCG(1, 1))
	checks := []check{l.checkMatmul(r), l.checkRoPE(r)}
	// Faulty kernels for quantized weights were those for large products, which
	// a CPU has none of.
	rows, size := 6, 128
	if l.info.GPU {
		rows, size = 720, 2048
	}
	x := l.floats(noise(r, rows*size), int32(rows), int32(size))
	w := l.floats(noise(r, size*size), int32(size), int32(size))
	for _, bits := range []int{4, 8} {
		checks = append(checks, l.checkQuantized(x, w, bits))
	}
	l.Free(x)
	l.Free(w)
	if err := l.Err(); err != nil {
		return fmt.Errorf("its self-check failed: %w", err)
	}
	for _, c := range checks {
		if d := c.difference(); !(d < 2e-3) {
			return fmt.Errorf("its self-check failed: %s is off by %.2g of its largest value: install another build of MLX", c.what, d)
		}
	}
	return nil
}

// check is a result beside what it must be.
type check struct {
	what string
	got  []float32
	want []float64
}

// difference is the largest, over the largest value.
func (c check) difference() float64 {
	if len(c.got) != len(c.want) {
		return math.Inf(1)
	}
	var d, top float64
	for i, v := range c.want {
		d, top = max(d, math.Abs(float64(c.got[i])-v)), max(top, math.Abs(v))
	}
	return d / top
}

// product is x · wᵀ.
func (l *Library) product(x, w Handle) []float32 {
	turned := l.SwapAxes(w, 0, 1)
	y := l.Matmul(x, turned)
	defer l.Free(turned)
	defer l.Free(y)
	return l.Floats(y)
}

// checkMatmul multiplies two small matrices.
func (l *Library) checkMatmul(r *rand.Rand) check {
	const rows, inner, outputs = 6, 128, 5
	x, w := noise(r, rows*inner), noise(r, outputs*inner)
	xa, wa := l.floats(x, rows, inner), l.floats(w, outputs, inner)
	c := check{what: "a matrix product", got: l.product(xa, wa)}
	for i := 0; i < len(x); i += inner {
		for j := 0; j < len(w); j += inner {
			sum := 0.0
			for k := range inner {
				sum += float64(x[i+k]) * float64(w[j+k])
			}
			c.want = append(c.want, sum)
		}
	}
	l.Free(xa)
	l.Free(wa)
	return c
}

// checkQuantized compares a product with quantized weights to that with what
// they stand for.
func (l *Library) checkQuantized(x, w Handle, bits int) check {
	const group = 64
	words, scales, biases := l.Quantize(w, group, bits)
	plain := l.Dequantize(words, scales, biases, group, bits)
	y := l.QuantizedMatmul(x, words, scales, biases, group, bits)
	c := check{what: fmt.Sprintf("a product with %d-bit weights", bits), got: l.Floats(y)}
	for _, v := range l.product(x, plain) {
		c.want = append(c.want, float64(v))
	}
	for _, a := range []Handle{words, scales, biases, plain, y} {
		l.Free(a)
	}
	return c
}

// checkRoPE turns three tokens of one head at the positions from 5 on.
func (l *Library) checkRoPE(r *rand.Rand) check {
	const dims, offset = 8, 5
	x := noise(r, 3*dims)
	c := check{what: "rope", want: make([]float64, len(x))}
	for t := range 3 {
		for i := range dims / 2 {
			a, b := t*dims+i, t*dims+i+dims/2
			sin, cos := math.Sincos(float64(t+offset) * math.Pow(10000, -2*float64(i)/dims))
			c.want[a] = float64(x[a])*cos - float64(x[b])*sin
			c.want[b] = float64(x[a])*sin + float64(x[b])*cos
		}
	}
	in := l.floats(x, 1, 1, 3, dims)
	y := l.RoPE(in, dims, false, offset, None)
	c.got = l.Floats(y)
	l.Free(in)
	l.Free(y)
	return c
}

func noise(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = 2*r.Float32() - 1
	}
	return out
}
