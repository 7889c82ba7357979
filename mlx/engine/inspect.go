package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tokwatt/mlx/model"
)

// DefaultModel is what the reference engine measures where nothing is named.
const DefaultModel = model.SyntheticPrefix + "tiny"

// Info is what is known of a model before it is loaded.
type Info struct {
	Name         string // "synthetic:tiny", or the folder's base name
	Format       string // "synthetic" or "safetensors"
	Quantization string // "f32": what it is computed in
	WeightBytes  int64  // memory of the weights
	KVBytes      int64  // memory of a token in the cache
	Text         bool   // it takes text: its tokens are those of the byte tokenizer
}

// Inspect says what a model is, and fails where Start would for reasons that
// can be known now: no such model, an unknown architecture, quantized weights,
// too little memory.
func Inspect(name string) (Info, error) {
	info, c, err := describe(name)
	if err != nil {
		return info, err
	}
	info.WeightBytes, info.KVBytes, info.Text = c.WeightBytes(), c.KVBytes(), c.ByteTokenizer
	return info, model.CheckMemory(info.Name, info.WeightBytes)
}

func describe(name string) (Info, model.Config, error) {
	if isSynthetic(name) {
		shape, err := model.FindShape(name)
		return Info{Name: name, Format: "synthetic", Quantization: "f32"}, shape.Config, err
	}
	base := filepath.Base(name)
	if abs, err := filepath.Abs(name); err == nil { // "." has a name, too
		base = filepath.Base(abs)
	}
	info := Info{Name: base, Format: "safetensors", Quantization: "f32"}
	stat, err := os.Stat(name)
	if err != nil || !stat.IsDir() {
		return info, model.Config{}, fmt.Errorf("there is no model folder %q: give a folder, or a synthetic model such as %s", name, DefaultModel)
	}
	c, err := model.ReadConfig(name)
	return info, c, err
}

func isSynthetic(name string) bool { return strings.HasPrefix(name, model.SyntheticPrefix) }

// Shapes lists the synthetic models, the smallest first.
func Shapes() []Info {
	var out []Info
	for _, s := range model.Shapes() {
		out = append(out, Info{Name: model.SyntheticPrefix + s.Name, Format: "synthetic", Quantization: "f32",
			WeightBytes: s.Config.WeightBytes(), KVBytes: s.Config.KVBytes(), Text: s.Config.ByteTokenizer})
	}
	return out
}

// load makes the model ready.
func load(l Load) (*model.Model, error) {
	if !isSynthetic(l.Model) {
		return model.LoadFolder(l.Model)
	}
	shape, err := model.FindShape(l.Model)
	if err != nil {
		return nil, err
	}
	return model.Synthetic(shape, l.Seed)
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
