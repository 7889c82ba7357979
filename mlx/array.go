package mlx

import "fmt"

// An Array is a matrix of float32, row-major.
type Array struct {
	rows, cols int
	data       []float32
}

// NewArray is a matrix over data, which it keeps. A vector has one row.
func NewArray(data []float32, rows, cols int) *Array {
	if rows < 0 || cols < 1 || len(data) != rows*cols {
		panic(fmt.Sprintf("mlx: %d values for an array of %d × %d", len(data), rows, cols))
	}
	return &Array{rows: rows, cols: cols, data: data}
}

// Rows is the number of rows.
func (a *Array) Rows() int { return a.rows }

// Cols is the number of columns.
func (a *Array) Cols() int { return a.cols }

// Row is row i. It is the array's own memory, valid as long as the array is.
func (a *Array) Row(i int) []float32 { return a.data[i*a.cols : (i+1)*a.cols] }

// want panics unless the array has the given number of columns.
func (a *Array) want(what string, cols int) {
	if a.cols != cols {
		panic(fmt.Sprintf("mlx: %s has %d columns, want %d", what, a.cols, cols))
	}
}
