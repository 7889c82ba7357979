package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tokwatt/collect/prompt/template"
)

// maxConfig bounds the files that are read whole, but for tokenizer.json. The
// largest known has a megabyte: all added tokens once more.
const maxConfig = 64 << 20

// openFolder reads a published model's folder.
func openFolder(dir string) (*Model, error) {
	m := &Model{Path: dir, tokenizerJSON: filepath.Join(dir, "tokenizer.json")}
	if !exists(m.tokenizerJSON) {
		return nil, noTokenizer(dir)
	}
	eos, err := EndTokens(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	m.EOS = eos
	var config tokenizerConfig
	if err := readJSON(filepath.Join(dir, "tokenizer_config.json"), &config); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := readSpecial(dir, &config); err != nil {
		return nil, err
	}
	m.Special = config.special()
	m.ChatTemplate, err = chatTemplate(dir, config.ChatTemplate)
	if err == nil && m.ChatTemplate == "" {
		err = noTemplate(dir)
	}
	return m, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// noTokenizer says why a folder without a tokenizer.json won't do.
func noTokenizer(dir string) error {
	for _, other := range []struct{ file, what string }{
		{"tiktoken.model", "Kimi's tiktoken.model comes with a program of its own instead of a tokenizer.json"},
		{"tekken.json", "it has a tekken.json and no tokenizer.json"},
		{"tokenizer.model", "it has a tokenizer.model and no tokenizer.json"},
	} {
		if exists(filepath.Join(dir, other.file)) {
			return &UnsupportedError{Model: name(dir), What: other.what}
		}
	}
	return fmt.Errorf("%s has no tokenizer.json: name the folder of a model: %w", dir, fs.ErrNotExist)
}

// noTemplate says why a folder without a chat template won't do.
func noTemplate(dir string) error {
	var config struct {
		ModelType string `json:"model_type"`
	}
	what := "it has no chat template"
	if err := readJSON(filepath.Join(dir, "config.json"), &config); err == nil && strings.HasPrefix(config.ModelType, "deepseek_v4") {
		what = "DeepSeek V4 has a program of its own instead of a Jinja chat template"
	}
	return &UnsupportedError{Model: name(dir), What: what}
}

// tokenizerConfig is what is wanted of tokenizer_config.json.
type tokenizerConfig struct {
	ChatTemplate json.RawMessage `json:"chat_template"`
	specialTokens
}

type specialTokens struct {
	BOS  *token `json:"bos_token"`
	EOS  *token `json:"eos_token"`
	UNK  *token `json:"unk_token"`
	PAD  *token `json:"pad_token"`
	SEP  *token `json:"sep_token"`
	CLS  *token `json:"cls_token"`
	Mask *token `json:"mask_token"`
}

// token is a special token: a string, or an object with its content.
type token string

func (t *token) UnmarshalJSON(raw []byte) error {
	var object struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(raw, (*string)(t)) == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return errors.New("a special token is neither a string nor an object")
	}
	*t = token(object.Content)
	return nil
}

// readSpecial fills in the special tokens from the file that held them before
// tokenizer_config.json did.
func readSpecial(dir string, config *tokenizerConfig) error {
	var old specialTokens
	if err := readJSON(filepath.Join(dir, "special_tokens_map.json"), &old); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, pair := range []struct{ to, from **token }{
		{&config.BOS, &old.BOS}, {&config.EOS, &old.EOS}, {&config.UNK, &old.UNK}, {&config.PAD, &old.PAD},
		{&config.SEP, &old.SEP}, {&config.CLS, &old.CLS}, {&config.Mask, &old.Mask},
	} {
		if *pair.to == nil {
			*pair.to = *pair.from
		}
	}
	return nil
}

func (s specialTokens) special() template.Special {
	text := func(t *token) string {
		if t == nil {
			return ""
		}
		return string(*t)
	}
	return template.Special{
		BOS: text(s.BOS), EOS: text(s.EOS), UNK: text(s.UNK), PAD: text(s.PAD),
		SEP: text(s.SEP), CLS: text(s.CLS), Mask: text(s.Mask),
	}
}

// chatTemplate is the template for a conversation without tools: the file
// chat_template.jinja, else the field of tokenizer_config.json, a string or a
// list of named ones, else that of chat_template.json, where models that also
// see keep it. "" if there is none.
func chatTemplate(dir string, field json.RawMessage) (string, error) {
	raw, err := readSmall(filepath.Join(dir, "chat_template.jinja"))
	if err == nil {
		return string(raw), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if text, err := templateField(field); text != "" || err != nil {
		return text, err
	}
	var old struct {
		ChatTemplate json.RawMessage `json:"chat_template"`
	}
	if err := readJSON(filepath.Join(dir, "chat_template.json"), &old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return templateField(old.ChatTemplate)
}

func templateField(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one, nil
	}
	var named []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &named); err != nil {
		return "", errors.New("chat_template is neither a string nor a list of named ones")
	}
	for _, t := range named {
		if t.Name == "default" {
			return t.Template, nil
		}
	}
	return "", nil
}

// readJSON decodes a file. The error of one that is not there wraps
// fs.ErrNotExist.
func readJSON(path string, into any) error {
	raw, err := readSmall(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func readSmall(path string) ([]byte, error) { return readRegular(path, maxConfig) }

// readRegular reads a file whole. One that is no regular file, a pipe say, may
// never end, and may not even be opened.
func readRegular(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s is no file of less than %d MiB", path, most>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	_, err = b.ReadFrom(io.LimitReader(f, most))
	return b.Bytes(), err
}
