package exchange_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withoutRuns is a results file whose runs are none.
func withoutRuns(t *testing.T, file []byte) []byte {
	var f struct {
		Runs    []int           `json:"runs"`
		Cluster json.RawMessage `json:"cluster"`
		Metrics json.RawMessage `json:"system_metrics"`
	}
	var whole map[string]json.RawMessage
	unmarshal(t, file, &whole)
	f.Runs, f.Cluster, f.Metrics = []int{}, whole["cluster"], whole["system_metrics"]
	out, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tokens are the tokens of a document in their order, numbers as they are
// written.
func tokens(t *testing.T, doc []byte) []json.Token {
	t.Helper()
	var out []json.Token
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	for d.More() || len(out) > 0 {
		tok, err := d.Token()
		if err != nil {
			break
		}
		out = append(out, tok)
	}
	if !json.Valid(doc) {
		t.Fatalf("no JSON document: %.200s", doc)
	}
	return out
}

// sameTokens compares two documents; numbers must be of one type, and equal but
// for the nanosecond that records round to.
func sameTokens(t *testing.T, got, want []json.Token) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d tokens, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		g, isNumber := got[i].(json.Number)
		w, both := want[i].(json.Number)
		if isNumber && both {
			a, _ := g.Float64()
			b, _ := w.Float64()
			if isFloat(g) == isFloat(w) && math.Abs(a-b) <= 1e-9 {
				continue
			}
		}
		if got[i] != want[i] {
			t.Fatalf("token %d is %v, want %v, behind %v", i, got[i], want[i], want[max(0, i-8):i])
		}
	}
}

func isFloat(n json.Number) bool { return strings.ContainsAny(n.String(), ".e") }

// sameLines compares the lines of two documents, but for lines of time.
func sameLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(strings.TrimSpace(got), "\n"), strings.Split(strings.TrimSpace(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] && !strings.Contains(w[i], `"elapsed_s"`) && !strings.Contains(w[i], `"download_duration_s"`) {
			t.Fatalf("line %d is %q, want %q", i+1, g[i], w[i])
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recordings, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unmarshal(t testing.TB, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}
