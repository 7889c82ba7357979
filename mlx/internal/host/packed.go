package host

import (
	"encoding/binary"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"tokwatt/mlx/internal/backend"
)

// Packed is a quantized weight, with scales and biases as float32.
type Packed struct {
	words           []uint32
	scales, biases  []float32
	outputs, inputs int
	group, bits     int
}

// NewPacked makes a weight of what a file or a seed has.
func NewPacked(q backend.Quantized) *Packed {
	p := &Packed{scales: floats(q.Type, q.Scales), biases: floats(q.Type, q.Biases),
		outputs: q.Outputs, inputs: q.Inputs, group: q.Group, bits: q.Bits}
	p.words = make([]uint32, len(q.Words)/4)
	for i := range p.words {
		p.words[i] = binary.LittleEndian.Uint32(q.Words[4*i:])
	}
	return p
}

// Outputs is the number of rows.
func (p *Packed) Outputs() int { return p.outputs }

// Inputs is the number of columns.
func (p *Packed) Inputs() int { return p.inputs }

// Rows is n rows from the given one on, over the same memory.
func (p *Packed) Rows(from, n int) *Packed {
	out := *p
	words, groups := p.inputs*p.bits/32, p.inputs/p.group
	out.outputs = n
	out.words = p.words[from*words : (from+n)*words]
	out.scales, out.biases = p.scales[from*groups:(from+n)*groups], p.biases[from*groups:(from+n)*groups]
	return &out
}

// Unpack writes row i to out. Weights don't cross words, as 32 is a multiple of
// the bits.
func (p *Packed) Unpack(out []float32, i int) {
	perWord := 32 / p.bits
	mask := uint32(1)<<p.bits - 1
	words := p.words[i*p.inputs/perWord : (i+1)*p.inputs/perWord]
	groups := p.inputs / p.group
	scales, biases := p.scales[i*groups:(i+1)*groups], p.biases[i*groups:(i+1)*groups]
	for at, word := range words {
		g := at * perWord / p.group
		scale, bias := scales[g], biases[g]
		part := out[at*perWord : (at+1)*perWord]
		for j := range part {
			part[j] = float32(scale*float32(word&mask)) + bias
			word >>= p.bits
		}
	}
}

// MatmulPacked computes y = x·wᵀ for x of m rows. Each tile of weights is
// unpacked once, for all rows.
func (c *CPU) MatmulPacked(y, x []float32, w *Packed, m int) {
	n, k := w.outputs, w.inputs
	c.each((n+tileCols-1)/tileCols, m*n*k+n*k, func(thread, t int) {
		j := t * tileCols
		cols := min(tileCols, n-j)
		plain := c.scratch(thread, cols*k)
		for i := range cols {
			w.Unpack(plain[i*k:(i+1)*k], j+i)
		}
		for i := 0; i < m; i += tileRows {
			rows := min(tileRows, m-i)
			blas32.Gemm(blas.NoTrans, blas.Trans, 1, matrix(x[i*k:], rows, k, k), matrix(plain, cols, k, k),
				0, matrix(y[i*n+j:], rows, cols, n))
		}
	})
}
