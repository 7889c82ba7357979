package host

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// costOfExp is what one exponential costs in multiply-adds of a matrix product.
const costOfExp = 32

// Take copies the rows ids of table, each of n columns, to y.
func (c *CPU) Take(y, table []float32, ids []int32, n int) {
	for i, id := range ids {
		copy(y[i*n:(i+1)*n], table[int(id)*n:(int(id)+1)*n])
	}
}

// Add computes y = a + b.
func (c *CPU) Add(y, a, b []float32) {
	b, y = b[:len(a)], y[:len(a)]
	for i, v := range a {
		y[i] = v + b[i]
	}
}

// AddRow adds row to each of the rows of y.
func (c *CPU) AddRow(y, row []float32) {
	for i := 0; i < len(y); i += len(row) {
		c.Add(y[i:i+len(row)], y[i:i+len(row)], row)
	}
}

// RMSNorm computes y = x / √(mean(x²) + eps) · w for each row of n.
func (c *CPU) RMSNorm(y, x, w []float32, n int, eps float32) {
	c.rows(len(x)/n, 4*n, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			in, out := x[r*n:(r+1)*n], y[r*n:(r+1)*n]
			square := blas32.Dot(vector(in), vector(in))
			scale := float32(1 / math.Sqrt(float64(square/float32(n)+eps)))
			for i, v := range in {
				out[i] = v * scale * w[i]
			}
		}
	})
}

// SwiGLU computes y = gate · sigmoid(gate) · up.
func (c *CPU) SwiGLU(y, gate, up []float32) {
	const n = 256
	c.rows((len(y)+n-1)/n, costOfExp*n, func(lo, hi int) {
		for i := lo * n; i < min(hi*n, len(y)); i++ {
			g := gate[i]
			y[i] = g / (1 + exp(-g)) * up[i]
		}
	})
}

// Softmax replaces row by its softmax. An element of -Inf becomes 0; not all
// may be.
func Softmax(row []float32) {
	top := row[0]
	for _, v := range row[1:] {
		if v > top {
			top = v
		}
	}
	var sum float32
	for i, v := range row {
		e := exp(v - top)
		row[i] = e
		sum += e
	}
	blas32.Scal(1/sum, vector(row))
}

// Argmax is the index of the largest element, the first of equals. A NaN is
// never the largest.
func Argmax(row []float32) int {
	best, at := float32(math.Inf(-1)), 0
	for i, v := range row {
		if v > best {
			best, at = v, i
		}
	}
	return at
}
