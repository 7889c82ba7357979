package prompt

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
)

// oraclePrompts are models' folders, each with a lengths.json: how long prompts
// are to the reference libraries.
const oraclePrompts = "TOKWATT_ORACLE_PROMPTS"

type lengths struct {
	System, Atom string
	Atoms        []int
	Tokens       []int64
}

func oracleFolders(t testing.TB) []string {
	folders := filepath.SplitList(os.Getenv(oraclePrompts))
	if len(folders) == 0 {
		t.Skip(oraclePrompts + " is not set: run scripts/oracle/end_to_end.sh")
	}
	return folders
}

func oracleModel(t testing.TB, folder string) *Model {
	m, err := Open(t.Context(), folder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestEndToEnd compares the lengths of prompts with the reference libraries',
// and that exactly those are found that there are.
func TestEndToEnd(t *testing.T) {
	for _, folder := range oracleFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(folder, "lengths.json"))
			if err != nil {
				t.Fatal(err)
			}
			var all []lengths
			if err := json.Unmarshal(raw, &all); err != nil {
				t.Fatal(err)
			}
			m := oracleModel(t, folder)
			n := 0
			for _, l := range all {
				n += compareLengths(t, m, l)
			}
			t.Logf("%d lengths", n)
		})
	}
}

func compareLengths(t *testing.T, m *Model, l lengths) int {
	e, err := m.Exact(ExactOptions{Atom: l.Atom})
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for i, atoms := range l.Atoms {
		got, err := e.count(collect.Prompt{System: l.System, User: strings.Repeat(l.Atom, atoms)})
		if err != nil || got != l.Tokens[i] {
			if wrong++; wrong < 4 {
				t.Errorf("system %q, %d times %q: %d tokens, %v; want %d", l.System, atoms, l.Atom, got, err, l.Tokens[i])
			}
		}
	}
	if l.System != "" {
		return len(l.Atoms)
	}
	reached, missed := 0, 0
	// Over the numbers of atoms that all were tried.
	every := l.Tokens[:301]
	for pp := every[0] - 2; pp <= slices.Max(every); pp++ {
		err := e.Size(t.Context(), pp)
		switch there := slices.Contains(every, pp); {
		case err == nil:
			reached++
			if p, n := e.Build(pp); *n != pp || e.mustCount(t, p) != pp {
				t.Errorf("%q: %d tokens for %d", l.Atom, e.mustCount(t, p), pp)
			}
		case there && e.steady && e.slope > 0:
			t.Errorf("%q: %d tokens can be had: %v", l.Atom, pp, err)
		case there:
			missed++
		}
	}
	t.Logf("%q: overhead %d, %.2f tokens each, steady %t, head %d: %d lengths found, %d not", l.Atom, e.overhead, e.slope, e.steady, e.head, reached, missed)
	return len(l.Atoms)
}

func (e *Exact) mustCount(t *testing.T, p collect.Prompt) int64 {
	n, err := e.count(p)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// BenchmarkSize is what --pp 100000 takes, but for loading the files.
func BenchmarkSize(b *testing.B) {
	for _, folder := range oracleFolders(b) {
		m := oracleModel(b, folder)
		for _, atom := range []string{" a", "a ", "0 ", "\n"} {
			b.Run(filepath.Base(folder)+"/"+strings.Trim(strings.ReplaceAll(atom, "\n", "newline"), " "), func(b *testing.B) {
				for b.Loop() {
					e, err := m.Exact(ExactOptions{Atom: atom, Fresh: true})
					if err != nil {
						b.Fatal(err)
					}
					if err := e.Size(b.Context(), 100_000); err != nil {
						b.Skip(err)
					}
					if _, n := e.Build(100_000); n == nil || *n != 100_000 {
						b.Errorf("%v tokens", n)
					}
				}
			})
		}
	}
}
