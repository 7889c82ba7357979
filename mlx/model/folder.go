package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tokwatt/mlx"
)

// ReadConfig reads the config.json of a folder, and the ends of an answer that
// its generation_config.json adds.
func ReadConfig(dir string) (Config, error) {
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if errors.Is(err, os.ErrNotExist) {
		return Config{}, fmt.Errorf("the folder %s has no config.json: give a model folder as mlx_lm and transformers take it", filepath.Base(dir))
	}
	if err != nil {
		return Config{}, err
	}
	c, err := ParseConfig(text)
	if err != nil {
		return c, err
	}
	text, err = os.ReadFile(filepath.Join(dir, "generation_config.json"))
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	return c, c.addEnds(text)
}

// addEnds takes in the eos_token_id of a generation_config.json.
func (c *Config) addEnds(text []byte) error {
	var more struct {
		EOS eosIDs `json:"eos_token_id"`
	}
	if err := json.Unmarshal(text, &more); err != nil {
		return fmt.Errorf("generation_config.json can't be read: %w", err)
	}
	for _, id := range more.EOS {
		if !slices.Contains(c.EOS, id) {
			c.EOS = append(c.EOS, id)
		}
	}
	return c.validate()
}

// LoadFolder loads a model from config.json and model*.safetensors.
func LoadFolder(s *mlx.Stream, dir string) (*Model, error) {
	c, err := ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	f, err := openFolder(dir, &c)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := CheckMemory(filepath.Base(dir), f.bytes(s.Info())); err != nil {
		return nil, err
	}
	return newModel(s, c, f)
}

// folder is the safetensors files of a folder, checked against its config.
type folder struct {
	files []*Safetensors
	where map[string]*Safetensors // by tensor
	base  map[*Safetensors]string // their names
}

// openFolder opens the files. What is quantized is what has scales, whatever
// the config says; so its exceptions are completed.
func openFolder(dir string, c *Config) (*folder, error) {
	paths, err := weightFiles(dir)
	if err != nil {
		return nil, err
	}
	f := &folder{where: map[string]*Safetensors{}, base: map[*Safetensors]string{}}
	for _, path := range paths {
		if err := f.open(path); err != nil {
			f.Close()
			return nil, err
		}
	}
	if err := c.completeQuantization(func(tensor string) bool { return f.where[tensor] != nil }); err != nil {
		f.Close()
		return nil, err
	}
	if err := f.check(*c); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// weightFiles are the files named model*.safetensors as mlx_lm takes them, or if
// there is none all *.safetensors.
func weightFiles(dir string) ([]string, error) {
	for _, pattern := range []string{"model*.safetensors", "*.safetensors"} {
		paths, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern))
		if err != nil || len(paths) > 0 {
			return paths, err
		}
	}
	return nil, fmt.Errorf("the folder %s has no *.safetensors file", filepath.Base(dir))
}

func (f *folder) open(path string) error {
	file, err := OpenSafetensors(path)
	if err != nil {
		return err
	}
	f.files = append(f.files, file)
	f.base[file] = filepath.Base(path)
	for _, name := range file.Names() {
		if f.where[name] != nil {
			return fmt.Errorf("%s: tensor %q is in two files", filepath.Base(path), name)
		}
		f.where[name] = file
	}
	return nil
}

// check compares the tensors to those that the config makes. One that the model
// has no place for is an error, as it would be left out of the sums in silence.
func (f *folder) check(c Config) error {
	specs := map[string]TensorSpec{}
	for _, t := range c.Tensors() {
		specs[t.Name] = t
	}
	for _, file := range f.files {
		for _, name := range file.Names() {
			if strings.HasSuffix(name, "rotary_emb.inv_freq") || c.Tied && strings.HasPrefix(name, "lm_head.") {
				continue // some folders carry them, and nothing reads them
			}
			want, ok := specs[name]
			if !ok {
				return fmt.Errorf("%s: the model has no place for tensor %q", f.base[file], name)
			}
			if err := want.fits(file); err != nil {
				return fmt.Errorf("%s: %w", f.base[file], err)
			}
			delete(specs, name)
		}
	}
	for _, t := range c.Tensors() {
		if _, missing := specs[t.Name]; missing {
			return fmt.Errorf("the weight %s is missing", t.Name)
		}
	}
	return nil
}

// fits compares a tensor to that of a file.
func (t TensorSpec) fits(file *Safetensors) error {
	if shape := file.Shape(t.Name); !slices.Equal(shape, t.Shape) {
		return fmt.Errorf("tensor %q has shape %v, but the config makes it %v", t.Name, shape, t.Shape)
	}
	kind := file.DType(t.Name)
	if _, isFloat := floatTypes[kind]; t.Words && kind != "U32" || !t.Words && !isFloat {
		return fmt.Errorf("tensor %q is of dtype %s: floats must be F32, F16 or BF16, and packed weights U32", t.Name, kind)
	}
	return nil
}

// floatTypes are the types of floats as the format names them.
var floatTypes = map[string]mlx.DType{"F32": mlx.F32, "F16": mlx.F16, "BF16": mlx.BF16}

// bytes is the memory that the tensors take with whoever computes.
func (f *folder) bytes(i mlx.Info) int64 {
	var n int64
	for name, file := range f.where {
		size := file.Bytes(name)
		if _, isFloat := floatTypes[file.DType(name)]; isFloat && !i.KeepsTypes {
			size = 4 * size / dtypeSize[file.DType(name)]
		}
		n += size
	}
	return n
}

func (f *folder) tensor(t TensorSpec) (mlx.DType, []byte, error) {
	file := f.where[t.Name]
	data, err := file.Read(t.Name)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", f.base[file], err)
	}
	return floatTypes[file.DType(t.Name)], data, nil
}

// Close closes the files.
func (f *folder) Close() {
	for _, file := range f.files {
		file.Close()
	}
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
		kind := "U32"
		for name, float := range floatTypes {
			if !t.Words && float == c.DType {
				kind = name
			}
		}
		tensors = append(tensors, Tensor{Name: t.Name, DType: kind, Shape: t.Shape, Data: t.random(c, seed)})
	}
	f, err := os.Create(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return err
	}
	err = errors.Join(WriteSafetensors(f, tensors), f.Close())
	return errors.Join(err, os.WriteFile(filepath.Join(dir, "config.json"), text, 0o666))
}
