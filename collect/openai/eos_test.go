package openai

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestEndTokens(t *testing.T) {
	for _, c := range []struct{ config, generation, want string }{
		{`{"eos_token_id":2}`, "", "[2]"},
		{`{"eos_token_id":[7,2]}`, "", "[2 7]"},
		{`{"eos_token_id":2}`, `{"eos_token_id":[2,9]}`, "[2 9]"},
		{`{"eos_token_id":null}`, "", "[]"},
		{`{}`, "", "[]"},
		{"", `{"eos_token_id":5}`, "[5]"},
		{`{"text_config":{"eos_token_id":[1,106]}}`, "", "[1 106]"},
		{`{"eos_token_id":"</s>"}`, "", "error"},
		{`[`, "", "error"},
		{"", "", "error"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"config.json": c.config, "generation_config.json": c.generation} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ids, err := endTokens(dir)
		got := fmt.Sprint(ids)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%q and %q give %s (%v), want %s", c.config, c.generation, got, err, c.want)
		}
	}
	if ids, err := endTokens(""); ids != nil || err != nil {
		t.Errorf("no folder gives %v, %v", ids, err)
	}
}
