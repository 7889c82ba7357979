package model

import (
	"fmt"
	"math"
)

// Rope is a model's rotary position embedding.
type Rope struct {
	Theta       float64 // rope_theta
	Traditional bool    // pairs (2i, 2i + 1) instead of (i, i + dim/2)
	Scaling     RopeScaling
	Factor      float64 // of linear and llama3
	LowFreq     float64 // low_freq_factor, of llama3
	HighFreq    float64 // high_freq_factor, of llama3
	OldPosition float64 // original_max_position_embeddings, of llama3
}

// RopeScaling is how a model was stretched beyond the length it was first
// trained with.
type RopeScaling string

// The scalings.
const (
	RopeDefault RopeScaling = "default" // not at all
	RopeLinear  RopeScaling = "linear"  // all positions divided by the factor
	RopeLlama3  RopeScaling = "llama3"  // slow pairs slowed down, fast ones kept
)

// ropeFile is rope_scaling, or the newer rope_parameters.
type ropeFile struct {
	RopeType    string   `json:"rope_type,omitempty"`
	Type        string   `json:"type,omitempty"` // its older name
	Theta       *float64 `json:"rope_theta,omitempty"`
	Factor      *float64 `json:"factor,omitempty"`
	LowFreq     *float64 `json:"low_freq_factor,omitempty"`
	HighFreq    *float64 `json:"high_freq_factor,omitempty"`
	OldPosition *float64 `json:"original_max_position_embeddings,omitempty"`
	Partial     *float64 `json:"partial_rotary_factor,omitempty"`
}

// rope is the embedding that config.json asks for.
func (f *configFile) rope(theta float64) (Rope, error) {
	r := Rope{Theta: or(f.Theta, theta), Traditional: f.Traditional, Scaling: RopeDefault}
	for _, p := range []*ropeFile{f.Scaling, f.Parameters} {
		if p == nil {
			continue
		}
		r.Theta = or(p.Theta, r.Theta)
		r.Scaling = RopeScaling(p.RopeType)
		if r.Scaling == "" {
			r.Scaling = RopeScaling(p.Type)
		}
		r.Factor, r.LowFreq, r.HighFreq = or(p.Factor, 1), or(p.LowFreq, 1), or(p.HighFreq, 4)
		r.OldPosition = or(p.OldPosition, 8192)
		if or(p.Partial, 1) != 1 {
			return r, fmt.Errorf("config.json: partial_rotary_factor %g is not known to tokwatt's own engine", *p.Partial)
		}
	}
	if r.Scaling == "" {
		r.Scaling = RopeDefault
	}
	return r, r.validate()
}

func (r Rope) validate() error {
	if !(r.Theta > 1 && r.Theta < 1e12) {
		return fmt.Errorf("config.json: rope_theta is %g, must be over 1", r.Theta)
	}
	switch r.Scaling {
	case RopeDefault:
		return nil
	case RopeLinear:
		if !(r.Factor > 0) {
			return fmt.Errorf("config.json: the rope factor is %g, must be positive", r.Factor)
		}
		return nil
	case RopeLlama3:
		if !(r.Factor > 0 && r.LowFreq > 0 && r.HighFreq > r.LowFreq && r.OldPosition > 0) {
			return fmt.Errorf("config.json: rope scaling llama3 makes no sense with factor %g, frequency factors %g and %g, and %g positions",
				r.Factor, r.LowFreq, r.HighFreq, r.OldPosition)
		}
		return nil
	}
	return fmt.Errorf("config.json: rope scaling %q is not known: tokwatt's own engine has default, linear and llama3", r.Scaling)
}

// frequencies is how far each pair of dimensions turns per position, in
// radians: θ^(−2i/dim), scaled. The rule of llama3 is that of Llama 3.1's own
// code: pairs that turn less than LowFreq times over the old length are slowed
// down by Factor, those of more than HighFreq turns are kept, and in between
// the two are mixed.
func (r Rope) frequencies(dim int) []float64 {
	out := make([]float64, dim/2)
	for i := range out {
		f := math.Pow(r.Theta, -2*float64(i)/float64(dim))
		switch r.Scaling {
		case RopeLinear:
			f /= r.Factor
		case RopeLlama3:
			turns := r.OldPosition * f / (2 * math.Pi)
			keep := (turns - r.LowFreq) / (r.HighFreq - r.LowFreq)
			keep = min(max(keep, 0), 1)
			f = (1-keep)*f/r.Factor + keep*f
		}
		out[i] = f
	}
	return out
}

// file is the rope_scaling that makes this embedding, nil for the default.
func (r Rope) file() *ropeFile {
	switch r.Scaling {
	case RopeLinear:
		return &ropeFile{RopeType: string(r.Scaling), Factor: &r.Factor}
	case RopeLlama3:
		return &ropeFile{RopeType: string(r.Scaling), Factor: &r.Factor, LowFreq: &r.LowFreq,
			HighFreq: &r.HighFreq, OldPosition: &r.OldPosition}
	}
	return nil
}
