package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCollectFromServe: the first thing that anybody tries against the
// program's own server gives figures, of a tokenizer of which the default atom
// makes two tokens; and what can't be measured is said once and not repeated.
func TestCollectFromServe(t *testing.T) {
	s := startServer(t, "--engine", "reference")
	defer s.end()
	db := filepath.Join(t.TempDir(), "t.db")
	for name, c := range map[string]struct {
		args []string
		code int
		out  []string // on stdout
		errs []string // on stderr, each once
	}{
		"even lengths":  {[]string{"--pp", "64,65"}, 0, []string{"\n64 ", "\n65 "}, nil},
		"a line's end":  {[]string{"--pp", "64", "--atom", `\n`}, 0, []string{"\n64 "}, nil},
		"the atom":      {[]string{"--pp", "64", "--atom", "0 "}, 3, nil, []string{`"0 " leaps over it`, `take --pp 65, or --atom "\n", which makes it`}},
		"cached prompt": {[]string{"--pp", "64", "--use-prefix-cache"}, 0, []string{"exact"}, nil},
		"no such model": {[]string{"--pp", "64,65", "--model", "nosuch"}, 3, nil, []string{"so the rest of this target was not run", "[1/4]"}},
	} {
		t.Run(name, func(t *testing.T) {
			// The address of the API is what the openai driver takes.
			args := append([]string{"collect", "--db", db, "--url", s.url + "/v1", "--tg", "4", "--repeat", "2", "--pause", "0s", "--no-idle"}, c.args...)
			got := tokwatt(t, "", args...)
			if got.code != c.code {
				t.Fatalf("code %d, want %d: %s", got.code, c.code, got.err)
			}
			for _, text := range c.out {
				if !strings.Contains(got.out, text) {
					t.Errorf("no %q in %s", text, got.out)
				}
			}
			for _, text := range c.errs {
				if strings.Count(got.err, text) != 1 {
					t.Errorf("%q not once in %s", text, got.err)
				}
			}
			if strings.Contains(got.err, "[2/4] pp") && name == "no such model" {
				t.Errorf("asked again: %s", got.err)
			}
		})
	}
}
