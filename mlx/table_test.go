package mlx

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"tokwatt/mlx/mlxtest"
)

// opened is MLX, once for all tests.
var opened = sync.OnceValues(func() (*Stream, error) { return Open("") })

// backends runs f with each backend. MLX is skipped where it is not at hand, but
// on CI its absence is a failure. f must not end its goroutine: MLX's thread
// would go with it.
func backends(t *testing.T, f func(t *testing.T, s *Stream)) {
	t.Run("host", func(t *testing.T) { f(t, NewStream()) })
	t.Run("mlx", func(t *testing.T) {
		mlxtest.NeedsLibrary(t)
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
