package mlx

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

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
