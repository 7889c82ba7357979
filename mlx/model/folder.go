package model

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tokwatt/mlx"
)

// ReadConfig reads the config.json of a folder.
func ReadConfig(dir string) (Config, error) {
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if errors.Is(err, os.ErrNotExist) {
		return Config{}, fmt.Errorf("the folder %s has no config.json: give a model folder as mlx_lm and transformers take it", filepath.Base(dir))
	}
	if err != nil {
		return Config{}, err
	}
	return ParseConfig(text)
}

// LoadFolder loads a model from config.json and *.safetensors.
func LoadFolder(dir string) (*Model, error) {
	c, err := ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	if err := CheckMemory(filepath.Base(dir), c.WeightBytes()); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.safetensors"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("the folder %s has no *.safetensors file", filepath.Base(dir))
	}
	specs := map[string]TensorSpec{}
	for _, t := range c.Tensors() {
		specs[t.Name] = t
	}
	w := Weights{}
	for _, path := range paths {
		if err := w.load(path, c, specs); err != nil {
			return nil, err
		}
	}
	return New(c, w)
}

// load takes in the tensors of one file. One that the model has no place for
// is an error, as it would be left out of the sums in silence.
func (w Weights) load(path string, c Config, specs map[string]TensorSpec) error {
	f, err := OpenSafetensors(path)
	if err != nil {
		return err
	}
	defer f.Close()
	base := filepath.Base(path)
	for _, name := range f.Names() {
		switch {
		case strings.HasSuffix(name, ".scales"):
			return errQuantized
		case strings.HasSuffix(name, "rotary_emb.inv_freq"), c.Tied && name == "lm_head.weight":
			continue // some folders carry them, and nothing reads them
		case w[name] != nil:
			return fmt.Errorf("%s: tensor %q is in two files", base, name)
		}
		want, ok := specs[name]
		if !ok {
			return fmt.Errorf("%s: the model has no place for tensor %q", base, name)
		}
		if shape := f.Shape(name); !slices.Equal(shape, want.Shape) {
			return fmt.Errorf("%s: tensor %q has shape %v, but the config makes it %v", base, name, shape, want.Shape)
		}
		data, err := f.Read(name)
		if err != nil {
			return fmt.Errorf("%s: %w", base, err)
		}
		w[name] = want.array(data)
	}
	return nil
}

// array makes an array of the tensor's shape over data.
func (t TensorSpec) array(data []float32) *mlx.Array {
	cols := t.Shape[len(t.Shape)-1]
	return mlx.NewArray(data, len(data)/cols, cols)
}

// escapeGlob makes a path match only itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// WriteSynthetic writes the synthetic model of a config and seed as a folder
// that this package, mlx_lm and transformers load.
func WriteSynthetic(dir string, c Config, seed uint64) error {
	text, err := c.marshal()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var tensors []Tensor
	for _, t := range c.Tensors() {
		tensors = append(tensors, Tensor{t, t.random(seed)})
	}
	f, err := os.Create(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return err
	}
	err = errors.Join(WriteSafetensors(f, tensors), f.Close())
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o666))
}
