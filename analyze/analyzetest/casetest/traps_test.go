package casetest

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestTraps shows that the cases can fail: what tools are known to get wrong
// is not taken for right. A trap is one wrong value or a list of them.
func TestTraps(t *testing.T) {
	n := 0
	for _, kind := range []string{"openai-*", "ollama", "exo"} {
		files, err := filepath.Glob("../../../testdata/cases/" + kind + "/*.json")
		if err != nil || len(files) < 8 {
			t.Fatalf("%s: %d cases, %v", kind, len(files), err)
		}
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
			for name, trap := range c.Trap {
				for _, bad := range wrongs(trap) {
					want, expected := c.Expect[name]
					if !expected {
						continue
					}
					n++
					if Matches(want, bad) {
						t.Errorf("%s: %s %v passes for %s", filepath.Base(file), name, bad, want)
					}
				}
			}
		}
	}
	if n < 35 {
		t.Errorf("only %d traps tried", n)
	}
}

// wrongs are the values of a trap that a column can have.
func wrongs(trap any) []any {
	list, ok := trap.([]any)
	if !ok {
		list = []any{trap}
	}
	var out []any
	for _, x := range list {
		switch x {
		case "inf":
			x = math.Inf(1)
		case "inf or NaN":
			out = append(out, math.Inf(1))
			x = math.NaN()
		}
		switch x.(type) {
		case nil, float64:
			out = append(out, x)
		}
	}
	return out
}
