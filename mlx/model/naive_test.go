package model

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// naiveWeights are the weights of a synthetic model by their parts, unpacked
// where they are quantized, and biases.
func naiveWeights(c Config, seed uint64) map[string][]float32 {
	w := map[string][]float32{}
	for _, p := range c.parts() {
		specs := c.tensors(p)
		if !specs[0].Words {
			w[specs[0].Name] = specs[0].floats(c, seed)
		} else {
			q, raw := c.quantization(p), specs[0].random(c, seed)
			scales, biases := specs[1].floats(c, seed), specs[2].floats(c, seed)
			var out []float32
			for word := range slices.Chunk(raw, 4) {
				bits := binary.LittleEndian.Uint32(word)
				for range 32 / q.Bits {
					g := len(out) / q.Group
					out = append(out, scales[g]*float32(bits&(1<<q.Bits-1))+biases[g])
					bits >>= q.Bits
				}
			}
			w[specs[0].Name] = out
		}
		if last := specs[len(specs)-1]; p.bias {
			w[last.Name] = last.floats(c, seed)
		}
	}
	return w
}

// naiveLogits is a model by its definition: float64, one token after the other,
// no cache, nothing shared with the code under test but the weights and the
// table of rotary frequencies.
func naiveLogits(c Config, seed uint64, ids []int32) [][]float32 {
	w := naiveWeights(c, seed)
	linear := func(name string, x []float64) []float64 {
		weight, bias := w[name+".weight"], w[name+".bias"]
		y := make([]float64, len(weight)/len(x))
		for i := range y {
			for j, v := range x {
				y[i] += v * float64(weight[i*len(x)+j])
			}
			if bias != nil {
				y[i] += float64(bias[i])
			}
		}
		return y
	}
	norm := func(name string, x []float64) []float64 {
		square, y := 0.0, make([]float64, len(x))
		for _, v := range x {
			square += v * v
		}
		for i, v := range x {
			y[i] = v / math.Sqrt(square/float64(len(x))+c.NormEps) * float64(w[name+".weight"][i])
		}
		return y
	}
	add := func(x, y []float64) {
		for i, v := range y {
			x[i] += v
		}
	}
	// headNorm norms each head, if the model has such a norm.
	headNorm := func(name string, x []float64) []float64 {
		if w[name+".weight"] == nil {
			return x
		}
		var y []float64
		for head := range slices.Chunk(x, c.HeadDim) {
			y = append(y, norm(name, head)...)
		}
		return y
	}
	freqs := c.Rope.frequencies(c.HeadDim)
	rope := func(x []float64, position int) []float64 {
		for h := 0; h < len(x); h += c.HeadDim {
			for i, f := range freqs {
				a, b := h+i, h+i+len(freqs)
				if c.Rope.Traditional {
					a, b = h+2*i, h+2*i+1
				}
				sin, cos := math.Sincos(f * float64(position))
				x[a], x[b] = x[a]*cos-x[b]*sin, x[a]*sin+x[b]*cos
			}
		}
		return x
	}
	states := make([][]float64, len(ids))
	for p, id := range ids {
		for _, v := range w["model.embed_tokens.weight"][int(id)*c.Hidden:][:c.Hidden] {
			states[p] = append(states[p], float64(v))
		}
	}
	for l := range c.Layers {
		prefix := layerPrefix(l)
		var keys, values [][]float64
		for p, x := range states {
			n := norm(prefix+"input_layernorm", x)
			q := rope(headNorm(prefix+"self_attn.q_norm", linear(prefix+"self_attn.q_proj", n)), p)
			keys = append(keys, rope(headNorm(prefix+"self_attn.k_norm", linear(prefix+"self_attn.k_proj", n)), p))
			values = append(values, linear(prefix+"self_attn.v_proj", n))
			mixed := make([]float64, len(q))
			for h := range c.Heads {
				from, kv := h*c.HeadDim, h*c.KVHeads/c.Heads*c.HeadDim
				weights, sum := make([]float64, p+1), 0.0
				for j := range weights {
					for d := range c.HeadDim {
						weights[j] += q[from+d] * keys[j][kv+d]
					}
					weights[j] = math.Exp(weights[j] / math.Sqrt(float64(c.HeadDim)))
					sum += weights[j]
				}
				for j, weight := range weights {
					for d := range c.HeadDim {
						mixed[from+d] += weight / sum * values[j][kv+d]
					}
				}
			}
			add(x, linear(prefix+"self_attn.o_proj", mixed))
			n = norm(prefix+"post_attention_layernorm", x)
			if c.Experts.at(l) {
				add(x, naiveMixture(c, w, prefix+"mlp.", linear(prefix+"mlp.gate", n), n))
				continue
			}
			gate, up := linear(prefix+"mlp.gate_proj", n), linear(prefix+"mlp.up_proj", n)
			for i, g := range gate {
				up[i] *= g / (1 + math.Exp(-g))
			}
			add(x, linear(prefix+"mlp.down_proj", up))
		}
	}
	var out [][]float32
	for _, x := range states {
		var row []float32
		head := "lm_head"
		if c.Tied {
			head = "model.embed_tokens"
		}
		for _, v := range linear(head, norm("model.norm", x)) {
			row = append(row, float32(v))
		}
		out = append(out, row)
	}
	return out
}

// naiveMixture is a layer's experts, of which router has the scores.
func naiveMixture(c Config, w map[string][]float32, prefix string, router, x []float64) []float64 {
	weights, sum := make([]float64, len(router)), 0.0
	for e, v := range router {
		weights[e] = math.Exp(v)
		sum += weights[e]
	}
	order := make([]int, len(router))
	for e := range order {
		order[e] = e
		weights[e] /= sum
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	order, sum = order[:c.Experts.Chosen], 1
	if c.Experts.Normalize {
		sum = 0
		for _, e := range order {
			sum += weights[e]
		}
	}
	product := func(name string, e int, x []float64) []float64 {
		all := w[prefix+"switch_mlp."+name+".weight"]
		rows := len(all) / c.Experts.Count / len(x)
		y := make([]float64, rows)
		for i := range y {
			for j, v := range x {
				y[i] += v * float64(all[(e*rows+i)*len(x)+j])
			}
		}
		return y
	}
	out := make([]float64, len(x))
	for _, e := range order {
		gate, up := product("gate_proj", e, x), product("up_proj", e, x)
		for i, g := range gate {
			up[i] *= g / (1 + math.Exp(-g))
		}
		for i, v := range product("down_proj", e, up) {
			out[i] += weights[e] / sum * v
		}
	}
	return out
}
