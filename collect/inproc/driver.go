package inproc

import (
	"context"
	"errors"
	"iter"

	"tokwatt/collect"
	"tokwatt/mlx/engine"
)

// Driver reaches tokwatt's own engine. Its zero value computes in plain Go: the
// reference engine.
type Driver struct {
	Backend engine.Backend // who computes
	Library string         // path of MLX's library; empty: wherever it is found
	// Text reads a model folder's own tokenizer and chat template. Without it
	// only models of the byte tokenizer can be measured.
	Text func(folder string) (Text, error)
	// Folder finds the folder of a model that is named by an id; nil: models are
	// folders or synthetic.
	Folder func(id string) (string, error)
}

// Text makes tokens of prompts, and text of the tokens of answers.
type Text struct {
	Encode func(collect.Prompt) ([]int32, error)
	Decode func() Decoder // nil: tokens are shown by their numbers
}

// Decoder makes text of the tokens of one answer.
type Decoder interface {
	Next(id int32) string // the text that a token completes, which may be none
	End() string          // what was held back
}

var _ collect.Driver = Driver{}

// Targets yields one target per entry of spec.Models, or the default model. It
// loads nothing. An entry that can't be had is an error item; so is a wish of
// the spec that the engine can't meet, which ends the sequence.
func (d Driver) Targets(ctx context.Context, spec collect.Spec) iter.Seq2[collect.Target, error] {
	return func(yield func(collect.Target, error) bool) {
		if err := meets(spec); err != nil {
			yield(nil, err)
			return
		}
		models := spec.Models
		if len(models) == 0 {
			models = []string{engine.DefaultModel}
		}
		for _, name := range models {
			t, err := d.target(name, spec.Cache == collect.CachePrefix)
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// meets names what a spec asks of an engine and this one does not have.
func meets(spec collect.Spec) error {
	if spec.Temperature != nil && *spec.Temperature != 0 {
		return errors.New("tokwatt's own engine takes the likeliest token always: leave --temperature out, or 0")
	}
	return nil
}
