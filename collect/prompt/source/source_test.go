package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/collect/prompt/template"
)

// write makes a folder of files.
func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tiny is a byte-level tokenizer of three tokens.
const tiny = `{"added_tokens":[{"id":2,"content":"<s>","special":true,"normalized":false,"lstrip":false,"rstrip":false,"single_word":false}],
"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","vocab":{"a":0,"b":1,"<s>":2},"merges":[]}}`

func TestFolder(t *testing.T) {
	files := map[string]string{
		"tokenizer.json":         tiny,
		"tokenizer_config.json":  `{"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "pad_token": null, "chat_template": "{{ bos_token }}{{ messages[0].content }}"}`,
		"config.json":            `{"eos_token_id": 7}`,
		"generation_config.json": `{"eos_token_id": [7, 3]}`,
	}
	dir := write(t, t.TempDir(), files)
	for _, ref := range []string{dir, filepath.Join(dir, "tokenizer.json")} {
		m, err := Open(ref)
		if err != nil {
			t.Fatal(err)
		}
		if m.Path != dir || !slices.Equal(m.EOS, []int64{3, 7}) || m.AddBOS {
			t.Errorf("%+v", m)
		}
		if m.Special != (template.Special{BOS: "<s>", EOS: "</s>"}) {
			t.Errorf("%+v", m.Special)
		}
		tok, err := m.Tokenizer()
		if err != nil {
			t.Fatal(err)
		}
		chat, err := m.Template(time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := chat.Render("", "abab")
		if err != nil || text != "<s>abab" || tok.Count(text) != 5 {
			t.Errorf("%q of %d tokens, %v", text, tok.Count(text), err)
		}
	}
}

func TestChatTemplate(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"file over field":      {map[string]string{"chat_template.jinja": "J", "tokenizer_config.json": `{"chat_template": "F"}`}, "J"},
		"field":                {map[string]string{"tokenizer_config.json": `{"chat_template": "F"}`, "chat_template.json": `{"chat_template": "O"}`}, "F"},
		"named":                {map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]}`}, "D"},
		"of a model that sees": {map[string]string{"tokenizer_config.json": `{}`, "chat_template.json": `{"chat_template": "O"}`}, "O"},
	} {
		t.Run(name, func(t *testing.T) {
			c.files["tokenizer.json"] = tiny
			m, err := Open(write(t, t.TempDir(), c.files))
			if err != nil || m.ChatTemplate != c.want {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

func TestSpecialTokensMap(t *testing.T) {
	m, err := Open(write(t, t.TempDir(), map[string]string{
		"tokenizer.json":          tiny,
		"chat_template.jinja":     "x",
		"tokenizer_config.json":   `{"eos_token": "new"}`,
		"special_tokens_map.json": `{"eos_token": "old", "bos_token": {"content": "<s>"}}`,
	}))
	if err != nil || m.Special != (template.Special{BOS: "<s>", EOS: "new"}) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestUnsupported(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"Kimi":          {map[string]string{"tiktoken.model": "", "tokenizer_config.json": "{}"}, "Kimi"},
		"DeepSeek V4":   {map[string]string{"tokenizer.json": tiny, "config.json": `{"model_type": "deepseek_v4"}`}, "DeepSeek V4"},
		"base model":    {map[string]string{"tokenizer.json": tiny}, "no chat template"},
		"only tools":    {map[string]string{"tokenizer.json": tiny, "tokenizer_config.json": `{"chat_template": [{"name": "tool_use", "template": "T"}]}`}, "no chat template"},
		"SentencePiece": {map[string]string{"tokenizer.model": ""}, "tokenizer.model"},
		"tekken":        {map[string]string{"tekken.json": ""}, "tekken"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(write(t, t.TempDir(), c.files))
			var u *UnsupportedError
			if !errors.As(err, &u) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one about %s", err, c.want)
			}
		})
	}
}

func TestBroken(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no model":      {"readme": ""},
		"config":        {"tokenizer.json": tiny, "tokenizer_config.json": `[`},
		"special token": {"tokenizer.json": tiny, "tokenizer_config.json": `{"bos_token": 3}`},
		"template":      {"tokenizer.json": tiny, "tokenizer_config.json": `{"chat_template": 3}`},
		"end tokens":    {"tokenizer.json": tiny, "chat_template.jinja": "x", "config.json": `{"eos_token_id": "x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(write(t, t.TempDir(), files))
			var u *UnsupportedError
			if err == nil || errors.As(err, &u) {
				t.Errorf("error %v", err)
			}
		})
	}
	file := filepath.Join(write(t, t.TempDir(), map[string]string{"x.bin": ""}), "x.bin")
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("error %v", err)
	}
}

func TestHubCache(t *testing.T) {
	model := func(at string) map[string]string {
		return map[string]string{at + "/tokenizer.json": tiny, at + "/chat_template.jinja": at}
	}
	const repo = "models--org--name"
	both := model(repo + "/snapshots/c1")
	for k, v := range model(repo + "/snapshots/c2") {
		both[k] = v
	}
	withRef := map[string]string{repo + "/refs/main": "c2\n"}
	for k, v := range both {
		withRef[k] = v
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the snapshot, or
		err   string
	}{
		"refs/main":   {withRef, "c2", ""},
		"one":         {model(repo + "/snapshots/c1"), "c1", ""},
		"two":         {both, "", "2 snapshots"},
		"none":        {map[string]string{repo + "/refs/main": "c1"}, "", "name only"},
		"not there":   {map[string]string{"x": ""}, "", "nor a model"},
		"climbing":    {map[string]string{repo + "/refs/main": ".."}, "", "no commit"},
		"climbing up": {map[string]string{repo + "/refs/main": "../../x"}, "", "no commit"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			hub := filepath.Join(home, "hub")
			write(t, hub, c.files)
			for _, env := range []struct{ cache, home, xdg string }{{hub, "", ""}, {"", home, ""}} {
				t.Setenv("HF_HUB_CACHE", env.cache)
				t.Setenv("HF_HOME", env.home)
				m, err := Open("org/name")
				if c.err != "" {
					if err == nil || !strings.Contains(err.Error(), c.err) {
						t.Errorf("error %v, want %q", err, c.err)
					}
					continue
				}
				if err != nil || filepath.Base(m.Path) != c.want {
					t.Errorf("%+v, %v", m, err)
				}
			}
		})
	}
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	if _, err := Open("org/name"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
}

func TestName(t *testing.T) {
	for path, want := range map[string]string{
		"/x/models--org--name/snapshots/0abc": "org/name",
		"/x/Kimi-K2":                          "Kimi-K2",
	} {
		if got := name(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestEndTokens(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []int64
	}{
		"of text":   {map[string]string{"config.json": `{"text_config": {"eos_token_id": [5, 4]}}`}, []int64{4, 5}},
		"null":      {map[string]string{"config.json": `{"eos_token_id": null}`}, nil},
		"generates": {map[string]string{"generation_config.json": `{"eos_token_id": 1}`}, []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := EndTokens(write(t, t.TempDir(), c.files))
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	if _, err := EndTokens(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestEndless: a file that never ends, in the place of any that is read, is
// told instead of read.
func TestEndless(t *testing.T) {
	const endless = "/dev/zero"
	if _, err := os.Stat(endless); err != nil {
		t.Skip("there is no " + endless)
	}
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "config.json", "generation_config.json", "special_tokens_map.json", "chat_template.jinja"} {
		dir := write(t, t.TempDir(), map[string]string{
			"tokenizer.json": tiny, "tokenizer_config.json": `{"chat_template": "x"}`, "config.json": `{}`,
		})
		os.Remove(filepath.Join(dir, name))
		if err := os.Symlink(endless, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		m, err := Open(dir)
		if err == nil {
			_, err = m.Tokenizer()
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	gguf := filepath.Join(t.TempDir(), "x.gguf")
	if err := os.Symlink(endless, gguf); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(gguf); err == nil {
		t.Error("a GGUF file without an end was read")
	}
	hub := write(t, t.TempDir(), map[string]string{"models--a--b/snapshots/x/config.json": "{}", "models--a--b/refs/x": ""})
	t.Setenv("HF_HUB_CACHE", hub)
	if err := os.Symlink(endless, filepath.Join(hub, "models--a--b/refs/main")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("a/b"); err == nil || !strings.Contains(err.Error(), "no file of less") {
		t.Errorf("error %v", err)
	}
}
