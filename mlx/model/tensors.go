package model

import (
	"fmt"
	"slices"
	"strings"
)

// TensorSpec is a tensor that a model needs.
type TensorSpec struct {
	Name  string
	Shape []int // one size for a vector, two for a matrix: outputs × inputs, three for experts
	Words bool  // 32-bit words of packed weights, not floats
}

// part is a weight with what belongs to it: of a norm a vector, else a matrix
// that may be quantized and may have a bias.
type part struct {
	name  string // without ".weight"
	shape []int  // of experts: their number first
	bias  bool
}

// inputs is how long a row of the weight is.
func (p part) inputs() int { return p.shape[len(p.shape)-1] }

// outputs is the number of rows, of all experts together.
func (p part) outputs() int {
	return TensorSpec{Shape: p.shape[:len(p.shape)-1]}.elements()
}

// parts lists the model's weights in the order of a forward pass.
func (c Config) parts() []part {
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	out := []part{{"model.embed_tokens", []int{c.Vocab, c.Hidden}, false}}
	for i := range c.Layers {
		p := layerPrefix(i)
		add := func(name string, bias bool, shape ...int) { out = append(out, part{p + name, shape, bias}) }
		add("input_layernorm", false, c.Hidden)
		add("self_attn.q_proj", c.qkvBias(), q, c.Hidden)
		add("self_attn.k_proj", c.qkvBias(), kv, c.Hidden)
		add("self_attn.v_proj", c.qkvBias(), kv, c.Hidden)
		if c.headNorm() {
			add("self_attn.q_norm", false, c.HeadDim)
			add("self_attn.k_norm", false, c.HeadDim)
		}
		add("self_attn.o_proj", c.AttentionBias, c.Hidden, q)
		add("post_attention_layernorm", false, c.Hidden)
		if e := c.Experts; e.at(i) {
			add("mlp.gate", false, e.Count, c.Hidden)
			add("mlp.switch_mlp.gate_proj", false, e.Count, e.Intermediate, c.Hidden)
			add("mlp.switch_mlp.up_proj", false, e.Count, e.Intermediate, c.Hidden)
			add("mlp.switch_mlp.down_proj", false, e.Count, c.Hidden, e.Intermediate)
			continue
		}
		add("mlp.gate_proj", c.MLPBias, c.Intermediate, c.Hidden)
		add("mlp.up_proj", c.MLPBias, c.Intermediate, c.Hidden)
		add("mlp.down_proj", c.MLPBias, c.Hidden, c.Intermediate)
	}
	out = append(out, part{"model.norm", []int{c.Hidden}, false})
	if !c.Tied {
		out = append(out, part{"lm_head", []int{c.Vocab, c.Hidden}, false})
	}
	return out
}

// tensors are those of a part.
func (c Config) tensors(p part) []TensorSpec {
	out := []TensorSpec{{Name: p.name + ".weight", Shape: p.shape}}
	if q := c.quantization(p); q.Bits != 0 {
		words, groups := slices.Clone(p.shape), slices.Clone(p.shape)
		words[len(words)-1] = p.inputs() * q.Bits / 32
		groups[len(groups)-1] = p.inputs() / q.Group
		out = []TensorSpec{
			{Name: p.name + ".weight", Shape: words, Words: true},
			{Name: p.name + ".scales", Shape: groups},
			{Name: p.name + ".biases", Shape: groups},
		}
	}
	if p.bias {
		out = append(out, TensorSpec{Name: p.name + ".bias", Shape: p.shape[:1]})
	}
	return out
}

// Tensors lists the tensors of the model, in the order of a forward pass.
func (c Config) Tensors() []TensorSpec {
	var out []TensorSpec
	for _, p := range c.parts() {
		out = append(out, c.tensors(p)...)
	}
	return out
}

// elements is the number of elements of the tensor.
func (t TensorSpec) elements() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// bytes is the memory that the tensor takes if floats take size.
func (t TensorSpec) bytes(size int) int64 {
	if t.Words {
		size = 4
	}
	return int64(size) * int64(t.elements())
}

// isNorm reports whether the tensor scales a norm.
func (t TensorSpec) isNorm() bool { return strings.HasSuffix(t.Name, "norm.weight") }

func layerPrefix(i int) string { return fmt.Sprintf("model.layers.%d.", i) }
