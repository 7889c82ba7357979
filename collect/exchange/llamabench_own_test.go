package exchange_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestLlamaBenchOwnFiles reads what one llama-bench wrote in its five formats:
// the same six tests come out of each, and the mean over the runs is the one
// that llama-bench made itself.
func TestLlamaBenchOwnFiles(t *testing.T) {
	for format, runs := range map[string]int{"json": 3, "jsonl": 3, "csv": 1, "md": 1, "sql": 1} {
		got := imported(t, peerFile(t, "llama-bench-11434."+format))
		if len(got.errors) != 0 || len(got.sessions) != 1 || len(got.rows) != 6*runs {
			t.Fatalf("%s: %d sessions, %d rows, %v", format, len(got.sessions), len(got.rows), got.errors)
		}
		var tests []string
		for i := 0; i < len(got.cases); i += runs {
			c := got.cases[i]
			tests = append(tests, fmt.Sprintf("%s %d %s", say(c.PP), c.TG, say(c.Depth)))
		}
		if all := strings.Join(tests, ", "); all != "32 0 -, - 8 -, 32 8 -, 32 0 64, - 8 64, 32 8 64" {
			t.Errorf("%s: %s", format, all)
		}
		if runs > 1 {
			ownMeans(t, format, got, runs)
		}
	}
}

func say(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// ownMeans holds the mean of the rates of each test against avg_ts.
func ownMeans(t *testing.T, format string, got *result, runs int) {
	t.Helper()
	for i := 0; i < len(got.rows); i += runs {
		var said struct {
			Mean float64 `json:"avg_ts"`
		}
		if err := json.Unmarshal([]byte(got.rows[i].ServerJSON), &said); err != nil || said.Mean == 0 {
			t.Fatalf("%s, row %d: %v in %s", format, i, err, got.rows[i].ServerJSON)
		}
		sum := 0.0
		for _, r := range got.rows[i : i+runs] {
			for _, x := range []*float64{r.PromptTPS, r.GenerationTPS, r.MixedTPS} {
				if x != nil {
					sum += *x
				}
			}
		}
		if mean := sum / float64(runs); math.Abs(mean/said.Mean-1) > 1e-5 {
			t.Errorf("%s, row %d: mean %v, llama-bench says %v", format, i, mean, said.Mean)
		}
	}
}
