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

// fourBit is how folders named 4bit are quantized.
var fourBit = Quantization{Group: 64, Bits: 4}

// qwen3 sets what the models of that family have in common.
func qwen3(c *Config) {
	c.ModelType, c.Vocab, c.MaxPositions, c.NormEps, c.Rope.Theta = "qwen3", 151936, 40960, 1e-6, 1e6
	c.DType, c.Quant = mlx.BF16, fourBit
}

// Shapes lists the synthetic models, the smallest first. Those named after a
// model have its sizes, in float32 or, where their name says so, quantized with
// the rest in bfloat16; their text is noise.
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
		shape("qwen3-0.6b-4bit", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.HeadDim = 1024, 28, 3072, 16, 8, 128
			qwen3(c)
			c.Tied = true
		}),
		shape("llama-3.2-3b-4bit", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.HeadDim, c.Vocab = 3072, 28, 8192, 24, 8, 128, 128256
			c.Rope = Rope{Theta: 500000, Scaling: RopeLlama3, Factor: 32, LowFreq: 1, HighFreq: 4, OldPosition: 8192}
			c.Tied, c.DType, c.Quant = true, mlx.BF16, fourBit
		}),
		shape("qwen3-4b-4bit", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.HeadDim = 2560, 36, 9728, 32, 8, 128
			qwen3(c)
			c.Tied = true
		}),
		shape("qwen2.5-7b-4bit", func(c *Config) {
			c.ModelType, c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.HeadDim, c.Vocab = "qwen2", 3584, 28, 18944, 28, 4, 128, 152064
			c.Rope.Theta, c.NormEps, c.MaxPositions, c.DType, c.Quant = 1e6, 1e-6, 32768, mlx.BF16, fourBit
		}),
		shape("llama-3.1-8b-4bit", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.HeadDim, c.Vocab = 4096, 32, 14336, 32, 8, 128, 128256
			c.Rope = Rope{Theta: 500000, Scaling: RopeLlama3, Factor: 8, LowFreq: 1, HighFreq: 4, OldPosition: 8192}
			c.DType, c.Quant = mlx.BF16, fourBit
		}),
		shape("qwen3-8b-4bit", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.HeadDim = 4096, 36, 12288, 32, 8, 128
			qwen3(c)
		}),
		shape("qwen3-30b-a3b-4bit", func(c *Config) {
			c.Hidden, c.Layers, c.Intermediate, c.Heads, c.KVHeads, c.HeadDim = 2048, 48, 6144, 32, 4, 128
			qwen3(c)
			c.ModelType = "qwen3_moe"
			c.Experts = Experts{Count: 128, Chosen: 8, Intermediate: 768, Normalize: true, Step: 1}
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
