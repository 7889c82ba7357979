package mlx

import (
	"fmt"
	"math"
	"slices"
)

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
