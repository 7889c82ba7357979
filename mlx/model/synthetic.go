package model

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
)

// SyntheticPrefix starts the name of a model whose weights are made from a
// seed: "synthetic:tiny".
const SyntheticPrefix = "synthetic:"

// Shape is a synthetic model: the sizes of a network, without its weights.
type Shape struct {
	Name   string // without the prefix
	Config Config
}

// Shapes lists the synthetic models, the smallest first. Those named after a
// model have its sizes in float32; their text is noise.
func Shapes() []Shape {
	base := Config{ModelType: "llama", HeadDim: 64, NormEps: 1e-5, MaxPositions: 131072,
		Rope: Rope{Theta: 10000, Scaling: RopeDefault}, EOS: []int32{TokenEOS}, ByteTokenizer: true}
	shape := func(name string, set func(c *Config)) Shape {
		c := base
		set(&c)
		return Shape{Name: name, Config: c}
	}
	return []Shape{
		shape("tiny", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.Vocab = 256, 4, 704, 4, 2, ByteVocab
		}),
		shape("small", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.Vocab = 512, 8, 1408, 8, 4, ByteVocab
		}),
		shape("smollm2-135m", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.Vocab = 576, 30, 1536, 9, 3, 49152
			c.Rope.Theta, c.MaxPositions, c.Tied = 100000, 8192, true
		}),
		shape("smollm2-360m", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.Vocab = 960, 32, 2560, 15, 5, 49152
			c.Rope.Theta, c.MaxPositions, c.Tied = 100000, 8192, true
		}),
		shape("llama-3.2-1b", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.Vocab = 2048, 16, 8192, 32, 8, 128256
			c.Rope = Rope{Theta: 500000, Scaling: RopeLlama3, Factor: 32, LowFreq: 1, HighFreq: 4, OldPosition: 8192}
			c.Tied = true
		}),
	}
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
func Synthetic(s Shape, seed uint64) (*Model, error) {
	if err := CheckMemory(SyntheticPrefix+s.Name, s.Config.WeightBytes()); err != nil {
		return nil, err
	}
	specs := s.Config.Tensors()
	data := make([][]float32, len(specs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, t := range specs {
		slots <- struct{}{}
		wg.Go(func() {
			data[i] = t.random(seed)
			<-slots
		})
	}
	wg.Wait()
	w := Weights{}
	for i, t := range specs {
		w[t.Name] = t.array(data[i])
	}
	return New(s.Config, w)
}

// random is the tensor's weights: uniform with a variance of 1/inputs, so that
// an output is about as large as the inputs; norms are near 1, biases near 0.
// They hang on the seed and the tensor's name only.
func (t TensorSpec) random(seed uint64) []float32 {
	h := fnv.New64a()
	h.Write([]byte(t.Name))
	r := rand.NewPCG(seed, h.Sum64())
	mid, width := 0.0, 0.1
	switch {
	case t.isNorm():
		mid = 1
	case len(t.Shape) == 2:
		width = math.Sqrt(3 / float64(t.Shape[1]))
	}
	scale := float32(width / (1 << 23))
	out := make([]float32, t.elements())
	for i := range out {
		// 24 bits are what a float32 holds: -2²³ to 2²³ - 1
		offset := float32(int32(r.Uint64()>>40)-1<<23) * scale
		out[i] = float32(mid) + float32(offset) // the conversion keeps the two roundings apart
	}
	return out
}
