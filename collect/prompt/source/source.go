package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tokwatt/collect/prompt/template"
	"tokwatt/collect/prompt/tokenizer"
)

// A Model is what is known of a model from its files.
type Model struct {
	Path         string // the folder or file
	ChatTemplate string // Jinja
	Special      template.Special
	EOS          []int64 // ids of the end tokens, ascending
	AddBOS       bool    // the engine puts BOS in front where the template does not

	tokenizerJSON string                // path
	vocabulary    *tokenizer.Vocabulary // of a GGUF file
}

// UnsupportedError is a model whose prompts can't be counted from its files.
type UnsupportedError struct {
	Model string
	What  string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the tokens of prompts to %s can't be counted here: %s", e.Model, e.What)
}

// Open finds a model by a folder, a GGUF file or a model id. Where there is
// nothing of that name the error wraps fs.ErrNotExist.
func Open(ref string) (*Model, error) {
	path, err := Path(ref)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("the model can't be read: %w", err)
	}
	switch {
	case info.IsDir():
		return openFolder(path)
	case strings.EqualFold(filepath.Ext(path), ".gguf"):
		return openGGUF(path)
	case filepath.Base(path) == "tokenizer.json":
		return openFolder(filepath.Dir(path))
	}
	return nil, fmt.Errorf("%s is neither a model's folder nor a GGUF file: name one of these, or a model id", ref)
}

// Path is where a model is: ref itself, where there is such a file, else the
// folder of the model of that id in the hub's cache. Where there is nothing of
// that name the error wraps fs.ErrNotExist.
func Path(ref string) (string, error) {
	if _, err := os.Stat(ref); errors.Is(err, fs.ErrNotExist) {
		return cached(ref)
	}
	return ref, nil
}

// Tokenizer loads the tokenizer, which takes up to a second. What can't be
// counted exactly is a *tokenizer.UnsupportedError.
func (m *Model) Tokenizer() (*tokenizer.Tokenizer, error) {
	if m.vocabulary != nil {
		return tokenizer.FromVocabulary(*m.vocabulary)
	}
	raw, err := readRegular(m.tokenizerJSON, tokenizer.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("the tokenizer can't be read: %w", err)
	}
	return tokenizer.Parse(raw)
}

// Template parses the chat template; date is what it takes for today. What
// can't be rendered exactly is a *template.UnsupportedError.
func (m *Model) Template(date time.Time) (*template.Template, error) {
	return template.Parse(m.ChatTemplate, m.Special, date)
}

// name is what messages call the model at path. A snapshot in the hub's cache
// is known by its repository.
func name(path string) string {
	if up := filepath.Dir(path); filepath.Base(up) == "snapshots" {
		path = filepath.Dir(up)
	}
	return strings.ReplaceAll(strings.TrimPrefix(filepath.Base(path), "models--"), "--", "/")
}
