package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tokwatt/mlx"
	"tokwatt/mlx/model"
)

// DefaultModel is what the reference engine measures where nothing is named.
const DefaultModel = model.SyntheticPrefix + "tiny"

// Info is what is known of a model before it is loaded.
type Info struct {
	Name         string // "synthetic:tiny", or the folder's base name
	Format       string // "synthetic" or "safetensors"
	Quantization string // "4bit", or the type of weights that are not quantized, as "f32"
	WeightBytes  int64  // memory of the weights
	KVBytes      int64  // memory of a token in the cache
	Text         bool   // it takes text: its tokens are those of the byte tokenizer
}

// Inspect says what a model is to the reference engine, and fails where Start
// would for reasons that can be known now: no such model, an unknown
// architecture or quantization, too little memory.
func Inspect(name string) (Info, error) { return InspectLoad(Load{Model: name}) }

// InspectLoad is Inspect for whoever computes.
func InspectLoad(l Load) (Info, error) {
	info, c, err := describe(l.Model)
	if err != nil {
		return info, err
	}
	info.fill(c.HeldBy(mlx.Info{KeepsTypes: l.Backend == MLX}))
	return info, model.CheckMemory(info.Name, info.WeightBytes)
}

// fill takes in what a config says.
func (i *Info) fill(c model.Config) {
	i.WeightBytes, i.KVBytes, i.Text = c.WeightBytes(), c.KVBytes(), c.ByteTokenizer
	i.Quantization = map[mlx.DType]string{mlx.F32: "f32", mlx.F16: "f16", mlx.BF16: "bf16"}[c.DType]
	if c.Quant.Bits > 0 {
		i.Quantization = fmt.Sprintf("%dbit", c.Quant.Bits)
	}
}

func describe(name string) (Info, model.Config, error) {
	if isSynthetic(name) {
		shape, err := model.FindShape(name)
		return Info{Name: name, Format: "synthetic"}, shape.Config, err
	}
	base := filepath.Base(name)
	if abs, err := filepath.Abs(name); err == nil { // "." has a name, too
		base = filepath.Base(abs)
	}
	info := Info{Name: base, Format: "safetensors"}
	stat, err := os.Stat(name)
	if err != nil || !stat.IsDir() {
		return info, model.Config{}, fmt.Errorf("there is no model folder %q: give a folder, or a synthetic model such as %s", name, DefaultModel)
	}
	c, err := model.ReadConfig(name)
	return info, c, err
}

func isSynthetic(name string) bool { return strings.HasPrefix(name, model.SyntheticPrefix) }

// Shapes lists the synthetic models, the smallest first, as MLX holds them.
func Shapes() []Info {
	var out []Info
	for _, s := range model.Shapes() {
		info := Info{Name: model.SyntheticPrefix + s.Name, Format: "synthetic"}
		info.fill(s.Config)
		out = append(out, info)
	}
	return out
}

// newStream makes the stream of a backend.
func newStream(l Load) (*mlx.Stream, error) {
	switch l.Backend {
	case Reference:
		return mlx.NewStream(), nil
	case MLX:
		return mlx.Open(l.Library)
	}
	return nil, fmt.Errorf("there is no backend %q", l.Backend)
}

// load makes the model ready.
func load(s *mlx.Stream, l Load) (*model.Model, error) {
	if !isSynthetic(l.Model) {
		return model.LoadFolder(s, l.Model)
	}
	shape, err := model.FindShape(l.Model)
	if err != nil {
		return nil, err
	}
	return model.Synthetic(s, shape, l.Seed)
}

// CountPrompt is the number of tokens of a conversation once rendered, for
// models that take text.
func CountPrompt(system, user string) int { return model.CountChat(system, user) }

// PromptHead is the number of tokens that the chat template puts before the
// user's message when there is no system message; PromptTail those after it.
const (
	PromptHead = model.ChatHead
	PromptTail = model.ChatTail
)
