package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/collect"
)

// TestFilesInCache: files under the model's id that nobody asked for are used
// where they can be; else a warning says why not, and none where there are none.
func TestFilesInCache(t *testing.T) {
	for name, c := range map[string]struct{ tokenizer, template, want string }{
		"none":     {"", "", ""},
		"damaged":  {"{", "x", "org/m's own files"},
		"bomb":     {"{}", "{{ 'a' * 10000000000 }}", "64 MiB"},
		"no bound": {"{}", "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", "macros"},
	} {
		t.Run(name, func(t *testing.T) {
			hub := t.TempDir()
			t.Setenv("HF_HUB_CACHE", hub)
			if c.template != "" {
				folder := filepath.Join(hub, "models--org--m", "snapshots", "c")
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				for file, text := range map[string]string{"tokenizer.json": c.tokenizer, "chat_template.jinja": c.template} {
					if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			m, warning := (&prompts{}).files(t.Context(), collect.TargetInfo{ServedModel: "org/m", ModelID: "org/m"})
			if m != nil || !strings.Contains(warning, c.want) || (c.want == "") != (warning == "") {
				t.Errorf("%v, %q", m, warning)
			}
		})
	}
}
