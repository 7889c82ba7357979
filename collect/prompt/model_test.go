package prompt

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// byteLevel writes the folder of a model whose tokens are bytes.
func byteLevel(t *testing.T, template string) string {
	t.Helper()
	vocab := map[string]int{}
	for b := range 256 {
		r := rune(b)
		if b <= 0x20 || b >= 0x7f && b <= 0xa0 || b == 0xad {
			r = rune(0x100 + len(vocab)) // some letter; these bytes stay out of the test's texts but for the space
		}
		if b == ' ' {
			r = 'Ġ'
		}
		vocab[string(r)] = b
	}
	tokenizer := map[string]any{
		"added_tokens":  []any{map[string]any{"id": 300, "content": "<s>", "special": true}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	}
	dir := t.TempDir()
	for name, v := range map[string]any{
		"tokenizer.json":        tokenizer,
		"tokenizer_config.json": map[string]any{"bos_token": "<s>", "chat_template": template},
		"config.json":           map[string]any{"eos_token_id": 300},
	} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpen(t *testing.T) {
	m, err := Open(t.Context(), byteLevel(t, "{{ bos_token }}{% for m in messages %}[{{ m.role[0] }}]{{ m.content }}{% endfor %}[a]{% if false %}{{ strftime_now('%Y') }}{% endif %}"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.EOS) != 1 || m.EOS[0] != 300 || !m.Dated {
		t.Errorf("%+v", m)
	}
	e, err := m.Exact(ExactOptions{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	if *e.Head() != 1+3+1 { // <s>[s] and the space that every word begins with
		t.Errorf("head %d", *e.Head())
	}
	// <s>[s], six words of five bytes, [u], [a]: and two for each atom
	for pp, want := range map[int64]string{40: "", 42: "", 41: "leaps", 39: "shorter"} {
		err := e.Size(t.Context(), pp)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", pp, err)
		}
	}
	p, n := e.Build(42)
	if *n != 42 || p.User != " a" || len(p.System) != 30 {
		t.Errorf("%+v, %d", p, *n)
	}
	if ids, err := m.Encode(p); err != nil || len(ids) != 42 {
		t.Errorf("%d tokens, %v", len(ids), err)
	}
}

func TestOpenInexact(t *testing.T) {
	kimi := t.TempDir()
	if err := os.WriteFile(filepath.Join(kimi, "tiktoken.model"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"Kimi":                  kimi,
		"template can't":        byteLevel(t, "{{ messages }}"),
		"template won't":        byteLevel(t, "{{ raise_exception('no') }}"),
		"template is no Jinja":  byteLevel(t, "{{ x"),
		"template of a program": byteLevel(t, "{% include 'x' %}"),
	} {
		m, err := Open(t.Context(), dir, time.Now())
		var i *InexactError
		if inexact := errors.As(err, &i); m != nil || inexact == (name == "template is no Jinja") {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	if _, err := Open(t.Context(), "nobody/nothing", time.Now()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func TestBegun(t *testing.T) {
	for text, want := range map[string]string{"x": "<s>x", "<s>x": "<s>x"} {
		if got, err := (begun{verbatim(text), "<s>"}).Render("", ""); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

type verbatim string

func (v verbatim) Render(string, string) (string, error) { return string(v), nil }
