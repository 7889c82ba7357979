package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tokwatt/mlx/model"
)

// hubModel puts a model of random weights, with a tokenizer and a chat template
// of its own, into a hub's cache, and returns its id.
func hubModel(t *testing.T) (id string) {
	t.Helper()
	hub := t.TempDir()
	t.Setenv("HF_HUB_CACHE", hub)
	dir := filepath.Join(hub, "models--org--small", "snapshots", "abc")
	c := model.Shapes()[0].Config
	c.Layers, c.Vocab, c.ByteTokenizer, c.EOS = 1, 705, false, nil
	if err := model.WriteSynthetic(dir, c, 3); err != nil {
		t.Fatal(err)
	}
	tokens, err := os.ReadFile("../../collect/prompt/tokenizer/testdata/qwen.json")
	if err != nil {
		t.Fatal(err)
	}
	chat := `{"eos_token":"<|im_end|>","chat_template":"{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"}`
	for name, text := range map[string][]byte{"tokenizer.json": tokens, "tokenizer_config.json": []byte(chat)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return "org/small"
}

// ask asks a server for an answer of 40 tokens, and returns its text, in a
// stream part by part.
func ask(t *testing.T, url, id string, stream bool) (parts []string, promptTokens int) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": id, "stream": stream, "max_tokens": 40, "ignore_eos": true, "messages": []map[string]string{
		{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Again"}}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	type words struct{ Content string }
	var last struct {
		Choices []struct{ Message, Delta words }
		Usage   struct {
			Prompt int `json:"prompt_tokens"`
			Made   int `json:"completion_tokens"`
		}
	}
	lines := bufio.NewReader(resp.Body)
	for end := false; !end; {
		line, err := lines.ReadString('\n')
		end = err == io.EOF
		line = strings.TrimPrefix(line, "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &last); err != nil || len(last.Choices) != 1 {
			t.Fatalf("%v: %s", err, line)
		}
		parts = append(parts, last.Choices[0].Message.Content+last.Choices[0].Delta.Content)
	}
	if last.Usage.Made != 40 {
		t.Errorf("%d tokens: %q", last.Usage.Made, parts)
	}
	return parts, last.Usage.Prompt
}

// TestServeTokenizer: a model of a hub's cache is served by its id, with its own
// template over several turns, and its answer is text: in a stream the same as
// whole, and no part of it is a part of a character.
func TestServeTokenizer(t *testing.T) {
	id := hubModel(t)
	s := startServer(t, "--engine", "reference", "--model", id)
	whole, prompted := ask(t, s.url, id, false)
	parts, _ := ask(t, s.url, id, true)
	if got := strings.Join(parts, ""); len(whole) != 1 || got != whole[0] || strings.TrimSpace(got) == "" || len(parts) < 2 {
		t.Errorf("whole %q, streamed %q", whole, parts)
	}
	for _, p := range parts {
		if !utf8.ValidString(p) {
			t.Errorf("%q is no text", p)
		}
	}
	if prompted < 15 {
		t.Errorf("a prompt of %d tokens", prompted)
	}
	// As collect measures it in process, by the same id.
	db := t.TempDir() + "/t.db"
	r := tokwatt(t, "", "collect", "--db", db, "--engine", "reference", "--model", id, "--pp", "64", "--tg", "8", "--repeat", "1", "--warmup", "0")
	if r.code != 0 || !strings.Contains(r.out+r.err, "org/small") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}

// TestServeEngines: what can't be is refused before anything starts.
func TestServeEngines(t *testing.T) {
	none := t.TempDir() + "/none.so"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"serve", "--engine", "ollama"}, exitUsage, "auto, mlx or reference"},
		{[]string{"serve", "--engine", "reference", "--library", none}, exitUsage, "--engine mlx"},
		{[]string{"serve", "--library", none}, exitNothing, "MLX"},
		{[]string{"engines", "--library", none}, exitNothing, "MLX"},
		{[]string{"collect", "--engine", "reference", "--library", none, "--pp", "8", "--tg", "4"}, exitUsage, "--engine mlx"},
	} {
		if r := tokwatt(t, "", c.args...); r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: exit %d: %s", c.args, r.code, r.err)
		}
	}
}
