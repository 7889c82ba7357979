package model

import (
	"fmt"

	"tokwatt/mlx"
)

// tensors gives the tensors of a model, each once, in the order of
// [Config.Tensors]. Floats are little-endian, of the type that it says.
type tensors interface {
	tensor(t TensorSpec) (mlx.DType, []byte, error)
}

// newModel makes a model on a stream from its tensors.
func newModel(s *mlx.Stream, c Config, from tensors) (*Model, error) {
	l := loader{s: s, c: c, from: from, linear: map[string]linear{}, norm: map[string]mlx.Array{}}
	for _, p := range c.parts() {
		if err := l.load(p); err != nil {
			return nil, err
		}
	}
	m := &Model{
		Config: c, Stream: s,
		embed: l.linear["model.embed_tokens"].weight,
		norm:  l.norm["model.norm"],
		head:  l.linear["lm_head"].weight,
		rope:  s.NewRoPE(c.Rope.frequencies(c.HeadDim), c.Rope.Traditional),
	}
	if c.Tied {
		m.head = m.embed
	}
	for i := range c.Layers {
		m.layers = append(m.layers, l.layer(layerPrefix(i)))
	}
	return m, nil
}

// loader makes the arrays of a model, by the names of their parts.
type loader struct {
	s      *mlx.Stream
	c      Config
	from   tensors
	linear map[string]linear
	norm   map[string]mlx.Array
}

func (l *loader) layer(p string) layer {
	return layer{
		inputNorm: l.norm[p+"input_layernorm"], postNorm: l.norm[p+"post_attention_layernorm"],
		q: l.linear[p+"self_attn.q_proj"], k: l.linear[p+"self_attn.k_proj"],
		v: l.linear[p+"self_attn.v_proj"], o: l.linear[p+"self_attn.o_proj"],
		qNorm: l.norm[p+"self_attn.q_norm"], kNorm: l.norm[p+"self_attn.k_norm"],
		gate: l.linear[p+"mlp.gate_proj"], up: l.linear[p+"mlp.up_proj"], down: l.linear[p+"mlp.down_proj"],
		router: l.linear[p+"mlp.gate"],
		experts: mlx.Mixture{
			Gate: l.linear[p+"mlp.switch_mlp.gate_proj"].weight, Up: l.linear[p+"mlp.switch_mlp.up_proj"].weight,
			Down: l.linear[p+"mlp.switch_mlp.down_proj"].weight, Chosen: l.c.Experts.Chosen, Normalize: l.c.Experts.Normalize,
		},
	}
}

// content is what a tensor holds.
type content struct {
	kind mlx.DType
	data []byte
}

// load makes the arrays of a part.
func (l *loader) load(p part) error {
	var got []content
	for _, t := range l.c.tensors(p) {
		kind, data, err := l.from.tensor(t)
		if err != nil {
			return err
		}
		got = append(got, content{kind, data})
	}
	if len(p.shape) == 1 {
		l.norm[p.name] = l.s.Load(got[0].kind, got[0].data, 1, p.shape[0])
		return nil
	}
	w, err := l.weight(p, got)
	if err != nil {
		return err
	}
	made := linear{weight: w}
	if p.bias {
		last := got[len(got)-1]
		made.bias = l.s.Load(last.kind, last.data, 1, p.shape[0])
	}
	l.linear[p.name] = made
	return nil
}

func (l *loader) weight(p part, got []content) (mlx.Weight, error) {
	q := l.c.quantization(p)
	if q.Bits == 0 {
		return l.stacked(p, l.s.Dense(l.s.Load(got[0].kind, got[0].data, p.outputs(), p.inputs()))), nil
	}
	if got[1].kind != got[2].kind {
		return nil, fmt.Errorf("the scales and the biases of %s are of different types", p.name)
	}
	return l.stacked(p, l.s.Quantized(mlx.Quantized{
		Words: got[0].data, Scales: got[1].data, Biases: got[2].data, Type: got[1].kind,
		Outputs: p.outputs(), Inputs: p.inputs(), Group: q.Group, Bits: q.Bits,
	})), nil
}

// stacked is a weight as experts, if it is of some.
func (l *loader) stacked(p part, w mlx.Weight) mlx.Weight {
	if len(p.shape) < 3 {
		return w
	}
	return l.s.Stack(w, p.shape[0])
}
