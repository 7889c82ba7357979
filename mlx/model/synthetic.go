package model

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"

	"tokwatt/mlx"
)

// SyntheticPrefix starts the name of a model whose weights are made from a
// seed: "synthetic:tiny".
const SyntheticPrefix = "synthetic:"

// Shape is a synthetic model: the sizes of a network, without its weights.
type Shape struct {
	Name   string // without the prefix
	Config Config
}

// FindShape finds a synthetic model by its name, with or without the prefix.
func FindShape(name string) (Shape, error) {
	name = strings.TrimPrefix(name, SyntheticPrefix)
	var known []string
	for _, s := range Shapes() {
		if s.Name == name {
			return s, nil
		}
		known = append(known, SyntheticPrefix+s.Name)
	}
	return Shape{}, fmt.Errorf("there is no synthetic model %q: take %s", name, strings.Join(known, ", "))
}

// Synthetic makes a model whose weights follow from the seed alone, the same on
// every machine.
func Synthetic(s *mlx.Stream, shape Shape, seed uint64) (*Model, error) {
	c := shape.Config
	if err := CheckMemory(SyntheticPrefix+shape.Name, c.HeldBy(s.Info()).WeightBytes()); err != nil {
		return nil, err
	}
	return newModel(s, c, newSeeded(c, seed))
}

// seeded makes weights of a seed, a few tensors ahead of who takes them.
type seeded struct {
	c     Config
	ready map[string]chan []byte
	slots chan struct{}
}

func newSeeded(c Config, seed uint64) *seeded {
	specs := c.Tensors()
	s := &seeded{c: c, ready: map[string]chan []byte{}, slots: make(chan struct{}, runtime.GOMAXPROCS(0)+1)}
	for _, t := range specs {
		s.ready[t.Name] = make(chan []byte, 1)
	}
	go func() {
		for _, t := range specs {
			s.slots <- struct{}{}
			go func() { s.ready[t.Name] <- t.random(c, seed) }()
		}
	}()
	return s
}

func (s *seeded) tensor(t TensorSpec) (mlx.DType, []byte, error) {
	data := <-s.ready[t.Name]
	<-s.slots
	return s.c.DType, data, nil
}

// random is the tensor's elements, which hang on the seed and the tensor's name
// only: floats in the config's type, or words.
func (t TensorSpec) random(c Config, seed uint64) []byte {
	if t.Words {
		r := source(t.Name, seed)
		raw := make([]byte, 0, 4*t.elements())
		for range t.elements() / 2 { // rows have an even number of words
			raw = binary.LittleEndian.AppendUint64(raw, r.Uint64())
		}
		return raw
	}
	return c.DType.Append(make([]byte, 0, t.bytes(c.DType.Size())), t.floats(c, seed))
}

func source(name string, seed uint64) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.NewPCG(seed, h.Sum64())
}

// floats is the tensor's weights: uniform with a variance of 1/inputs, so that
// an output is about as large as the inputs; norms are near 1, biases near 0.
//
// Packed weights are 0 to 2^bits − 1, each as likely. So their scales are what
// gives them that variance, a tenth more or less, and their biases what makes
// their mean 0.
func (t TensorSpec) floats(c Config, seed uint64) []float32 {
	mid, width := 0.0, 0.1
	of, kind := cutLast(t.Name)
	switch q := c.quantization(part{of, t.Shape, false}); {
	case kind == "biases":
		scales := TensorSpec{Name: of + ".scales", Shape: t.Shape}.floats(c, seed)
		for i := range scales {
			scales[i] *= -float32(int(1)<<q.Bits-1) / 2
		}
		return scales
	case kind == "scales":
		mid = 2 * math.Sqrt(3/float64(t.Shape[len(t.Shape)-1]*q.Group)) / float64(int(1)<<q.Bits-1)
		width = mid / 10
	case t.isNorm():
		mid = 1
	case len(t.Shape) > 1:
		width = math.Sqrt(3 / float64(t.Shape[len(t.Shape)-1]))
	}
	r := source(t.Name, seed)
	scale := float32(width / (1 << 23))
	out := make([]float32, t.elements())
	for i := range out {
		// 24 bits are what a float32 holds: -2²³ to 2²³ - 1
		offset := float32(int32(r.Uint64()>>40)-1<<23) * scale
		out[i] = float32(mid) + float32(offset) // the conversion keeps the two roundings apart
	}
	return out
}

// cutLast splits a tensor's name at its last dot.
func cutLast(name string) (of, kind string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}
