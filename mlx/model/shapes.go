package model

import "tokwatt/mlx"

// Shapes lists the synthetic models, the smallest first. Those named after a
// model have its sizes, in float32 or, where their name says so, quantized with
// the rest in bfloat16; their text is noise.
func Shapes() []Shape { return append(floatShapes(), packedShapes()...) }

// shape is a synthetic model whose config differs from the base in what set
// sets.
func shape(name string, set func(c *Config)) Shape {
	c := Config{ModelType: "llama", HeadDim: 64, NormEps: 1e-5, MaxPositions: 131072,
		Rope: Rope{Theta: 10000, Scaling: RopeDefault}, EOS: []int32{TokenEOS}, ByteTokenizer: true}
	set(&c)
	return Shape{Name: name, Config: c}
}

func floatShapes() []Shape {
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

// fourBit is how folders named 4bit are quantized.
var fourBit = Quantization{Group: 64, Bits: 4}

// qwen3 sets what the models of that family have in common.
func qwen3(c *Config) {
	c.ModelType, c.Vocab, c.MaxPositions, c.NormEps, c.Rope.Theta = "qwen3", 151936, 40960, 1e-6, 1e6
	c.DType, c.Quant = mlx.BF16, fourBit
}

func packedShapes() []Shape {
	return []Shape{
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
