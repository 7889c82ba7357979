package host

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// The tile of a product. gonum computes up to three blocks of 64 × 64 on the
// calling goroutine, with dot products over the whole inner dimension.
const (
	tileRows = 64
	tileCols = 128
)

// MatmulT computes y = x·wᵀ for x of m × k, w of n × k and y of m × n. It is
// the product of a linear layer, whose weights are stored one row per output.
// One row makes it a product of matrix and vector.
func (c *CPU) MatmulT(y, x, w []float32, m, n, k int) {
	down, across := (m+tileRows-1)/tileRows, (n+tileCols-1)/tileCols
	c.each(down*across, m*n*k, func(_, t int) {
		// Neighbours in t share columns: the weights of a tile are read
		// from memory once, and the next tiles find them in the cache.
		i, j := t%down*tileRows, t/down*tileCols
		rows, cols := min(tileRows, m-i), min(tileCols, n-j)
		blas32.Gemm(blas.NoTrans, blas.Trans, 1,
			matrix(x[i*k:], rows, k, k), matrix(w[j*k:], cols, k, k),
			0, matrix(y[i*n+j:], rows, cols, n))
	})
}

// matrix is a view of data.
func matrix(data []float32, rows, cols, stride int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

// vector is a view of data.
func vector(data []float32) blas32.Vector {
	return blas32.Vector{N: len(data), Inc: 1, Data: data}
}
