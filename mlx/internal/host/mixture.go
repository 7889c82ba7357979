package host

import (
	"slices"

	"tokwatt/mlx/internal/backend"
)

// stack is a weight that holds n experts, one after the other.
type stack struct {
	backend.Weight
	n int
}

// Stack makes experts of a weight.
func (b *Backend) Stack(w backend.Weight, n int) backend.Weight { return stack{w, n} }

// expert is one of a stack.
func (s stack) expert(i int) backend.Weight {
	rows := s.Outputs() / s.n
	switch w := s.Weight.(type) {
	case dense:
		return dense{&array{rows, w.cols, w.data[i*rows*w.cols : (i+1)*rows*w.cols]}}
	case *Packed:
		return w.Rows(i*rows, rows)
	}
	return nil
}

// choice is an expert that a row takes, and its weight there.
type choice struct {
	row    int32
	weight float32
}

// Mixture takes the experts one after the other, each with all rows that chose
// it.
func (b *Backend) Mixture(x backend.Array, m backend.Mixture) backend.Array {
	in := x.(*array)
	y := b.make(in.rows, in.cols)
	clear(y.data)
	for e, rows := range route(m) {
		if len(rows) == 0 {
			continue
		}
		var at []int32
		for _, c := range rows {
			at = append(at, c.row)
		}
		part := b.Rows(in, at)
		gate := b.Linear(part, m.Gate.(stack).expert(e), nil)
		up := b.Linear(part, m.Up.(stack).expert(e), nil)
		mixed := b.SwiGLU(gate, up)
		out := b.Linear(mixed, m.Down.(stack).expert(e), nil).(*array)
		for i, c := range rows {
			to, from := y.data[int(c.row)*y.cols:][:y.cols], out.data[i*y.cols:][:y.cols]
			for j, v := range from {
				to[j] += c.weight * v
			}
		}
		for _, a := range []backend.Array{part, gate, up, mixed, out} {
			b.Free(a)
		}
	}
	return y
}

// route is, for each expert, the rows that chose it.
func route(m backend.Mixture) [][]choice {
	router := m.Router.(*array)
	out := make([][]choice, router.cols)
	for row := range router.rows {
		weights := slices.Clone(router.data[row*router.cols:][:router.cols])
		Softmax(weights)
		order := make([]int, len(weights))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case weights[a] > weights[b]:
				return -1
			case weights[a] < weights[b]:
				return 1
			}
			return 0
		})
		sum := float32(1)
		if m.Normalize {
			sum = 0
			for _, e := range order[:m.Chosen] {
				sum += weights[e]
			}
		}
		for _, e := range order[:m.Chosen] {
			out[e] = append(out[e], choice{int32(row), weights[e] / sum})
		}
	}
	return out
}
