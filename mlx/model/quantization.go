package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
)

// Quantization says how weights are packed: in groups of so many inputs, each
// with a scale and a bias. The zero value is not at all.
type Quantization struct {
	Group int `json:"group_size"`
	Bits  int `json:"bits"`
}

// quantization is how a part is packed. Norms never are.
func (c Config) quantization(p part) Quantization {
	if len(p.shape) < 2 {
		return Quantization{}
	}
	if q, ok := c.Except[p.name]; ok {
		return q
	}
	return c.Quant
}

// quantizationFile is how config.json writes it.
type quantizationFile struct {
	Quantization
	Mode   string `json:"mode"`
	Method string `json:"quant_method"`
}

// quantization reads the form and its exceptions, which stand beside it by the
// names of weights: false, or a form of their own.
func (f *configFile) quantization(c *Config) error {
	raw := f.Quantization
	if !isSet(raw) {
		raw = f.QuantizationConfig
	}
	if !isSet(raw) {
		return nil
	}
	var err error
	if c.Quant, err = parseQuantization(raw); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("config.json: quantization can't be read: %w", err)
	}
	c.Except = map[string]Quantization{}
	for name, text := range all {
		switch {
		case string(text) == "false":
			c.Except[name] = Quantization{}
		case text[0] == '{':
			if c.Except[name], err = parseQuantization(text); err != nil {
				return err
			}
		}
	}
	return nil
}

func parseQuantization(raw []byte) (Quantization, error) {
	var q quantizationFile
	if err := json.Unmarshal(raw, &q); err != nil {
		return Quantization{}, fmt.Errorf("config.json: quantization can't be read: %w", err)
	}
	switch {
	case q.Method != "":
		return Quantization{}, fmt.Errorf("config.json: the folder is quantized by %q, and tokwatt's own engine reads MLX's affine quantization: convert it with mlx_lm.convert, or measure a server with --url", q.Method)
	case q.Mode != "" && q.Mode != "affine":
		return Quantization{}, fmt.Errorf("config.json: quantization of mode %q is not known: tokwatt's own engine has affine", q.Mode)
	}
	return q.Quantization, q.validate()
}

func (q Quantization) validate() error {
	if q.Bits != 4 && q.Bits != 8 {
		return fmt.Errorf("config.json: quantization to %d bits is not known: tokwatt's own engine has 4 and 8", q.Bits)
	}
	if q.Group != 32 && q.Group != 64 && q.Group != 128 {
		return fmt.Errorf("config.json: quantization in groups of %d is not known: it must be 32, 64 or 128", q.Group)
	}
	return nil
}

// fitQuantization checks that groups fill the rows of all that is quantized.
func (c Config) fitQuantization() error {
	var errs []error
	for _, p := range c.parts() {
		if q := c.quantization(p); q.Bits != 0 && p.inputs()%q.Group != 0 {
			errs = append(errs, fmt.Errorf("config.json: the %d inputs of %s don't fill groups of %d", p.inputs(), p.name, q.Group))
		}
	}
	return errors.Join(errs...)
}

// completeQuantization names as exceptions the parts that are not quantized,
// since there is no tensor of their scales. Scales without a form are an error:
// nobody could say how many bits they are of.
func (c *Config) completeQuantization(has func(tensor string) bool) error {
	except := maps.Clone(c.Except)
	for _, p := range c.parts() {
		if len(p.shape) < 2 {
			continue
		}
		switch scales, q := has(p.name+".scales"), c.quantization(p); {
		case scales && q.Bits == 0:
			return fmt.Errorf("%s is quantized, and config.json does not say how", p.name)
		case !scales && q.Bits != 0:
			if except == nil {
				except = map[string]Quantization{}
			}
			except[p.name] = Quantization{}
		}
	}
	c.Except = except
	return c.fitQuantization()
}

// marshalQuantization is the inverse of reading, nil where nothing is quantized.
func (c Config) marshalQuantization() json.RawMessage {
	if c.Quant == (Quantization{}) {
		return nil
	}
	all := map[string]any{"group_size": c.Quant.Group, "bits": c.Quant.Bits, "mode": "affine"}
	for name, q := range c.Except {
		all[name] = any(q)
		if q.Bits == 0 {
			all[name] = false
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil // numbers and names: never
	}
	return text
}
