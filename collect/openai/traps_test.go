package openai_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestTraps shows that the cases can fail: what tools are known to get wrong
// is not taken for right.
func TestTraps(t *testing.T) {
	files, err := filepath.Glob("../../testdata/cases/openai-*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Trap   map[string]any
			Expect map[string]json.RawMessage
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		for name, bad := range c.Trap {
			want, expected := c.Expect[name]
			if _, number := bad.(float64); !number || !expected {
				continue
			}
			n++
			if matches(want, bad) {
				t.Errorf("%s: %s %v passes for %s", filepath.Base(file), name, bad, want)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d traps tried", n)
	}
}
