// Package casetest plays the trouble cases of testdata/cases to a driver,
// through the runner and all formulas, and holds every column that a case
// expects. A driver's test says how to measure against a server:
//
//	casetest.Run(t, "../../testdata/cases/ollama/*.json", 14, casetest.Harness{
//		Records: func(ctx context.Context, c *script.Case, url string) iter.Seq2[collect.Record, error] {
//			…runner.Run(ctx, …casetest.Spec(c)…)
//		},
//	})
//
// run.go plays, columns.go names what may be expected, match.go compares.
package casetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/script"
)

// Harness is a driver's way to be measured.
type Harness struct {
	// Records runs the case, as Spec(c) or a change of it says, against the
	// server at url, and yields what was recorded. It is called from several
	// goroutines.
	Records func(ctx context.Context, c *script.Case, url string) iter.Seq2[collect.Record, error]
	// Script completes the server, which plays the answers of the case and
	// what servers plausibly say to GETs. May be nil.
	Script func(c *script.Case, s *script.Script)
}

// Run holds the driver to each case whose file matches the pattern; fewer than
// atLeast of them are an error. A time is wrong when it is wrong in three of
// three tries, everything else at once.
func Run(t *testing.T, pattern string, atLeast int, h Harness) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < atLeast {
		t.Fatalf("%s: %d cases, want %d, %v", pattern, len(files), atLeast, err)
	}
	// A case waits most of its time, so some can run beside each other
	// without a stamp of theirs being late.
	results := make([]string, len(files))
	next := make(chan int)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for i := range next {
				results[i] = h.try(t.Context(), files[i])
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wg.Wait()
	for i, file := range files {
		name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			if results[i] != "" {
				t.Error(results[i])
			}
		})
	}
}

// try says what is wrong.
func (h Harness) try(ctx context.Context, file string) string {
	c, err := script.ReadCase(file)
	if err != nil {
		return err.Error()
	}
	if len(c.Expect) == 0 {
		return "the case expects nothing"
	}
	var wrong, late []string
	for range 3 {
		cols, err := h.measure(ctx, c)
		if err != nil {
			return err.Error()
		}
		if wrong, late = Differences(c.Expect, cols); len(wrong) > 0 || len(late) == 0 {
			break
		}
	}
	return strings.Join(append(wrong, late...), "\n")
}

// measure runs the case once and returns the columns of its rows.
func (h Harness) measure(ctx context.Context, c *script.Case) (map[string]any, error) {
	play, err := c.Play()
	if err != nil {
		return nil, err
	}
	play.PoliteProbes = true
	if h.Script != nil {
		h.Script(c, &play)
	}
	srv, err := script.Listen("127.0.0.1:0", play)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	var r recorded
	for rec, err := range h.Records(ctx, c, srv.URL()) {
		if err != nil {
			return nil, err
		}
		r.take(rec)
	}
	if r.batch == nil {
		return nil, errors.New("no batch came")
	}
	return r.columns(), nil
}

// Spec is what a case asks to measure: one prompt, no warm-up, no pauses, and
// little patience with silence.
func Spec(c *script.Case) collect.Spec {
	q := c.Request
	none, zero, seed := 0, 0.0, int64(7)
	spec := collect.Spec{
		Models: []string{q.Model}, PP: []int64{q.PP}, TG: []int64{q.TG},
		Concurrency: []int64{q.Concurrency}, Repeat: q.Repeats, Warmup: &none,
		Temperature: &zero, Seed: &seed, Streaming: collect.StreamNone,
		Pause: -1, GroupPause: -1, FirstTimeout: 3 * time.Second, StallTimeout: 600 * time.Millisecond,
	}
	if q.Stream {
		spec.Streaming = collect.StreamAll
	}
	if q.UsePrefixCache {
		spec.Cache = collect.CachePrefix
	}
	return spec
}

// Words is a prompter for servers whose counts follow a script, not a prompt:
// a word a token, and 9 for the template.
type Words struct{}

var _ collect.Prompter = Words{}

// Size takes any size.
func (Words) Size(context.Context, int64) error { return nil }

// Head is not known.
func (Words) Head() *int64 { return nil }

// Source is that of sizes that were fitted to the server.
func (Words) Source() collect.PromptSource { return collect.PromptCalibrated }

// Build returns a prompt that a polite server counts as pp tokens.
func (Words) Build(pp int64) (collect.Prompt, *int64) {
	return collect.Prompt{User: strings.TrimSpace(strings.Repeat("word ", int(max(1, pp-9))))}, &pp
}

// Differences says which columns are not as expected: those that are wrong, and
// those that can be because a loaded machine was late. {"any_of": […]} at the
// top stands for one of several whole outcomes.
func Differences(expect map[string]json.RawMessage, cols map[string]any) (wrong, late []string) {
	if raw, ok := expect["any_of"]; ok {
		return anyOutcome(raw, expect, cols)
	}
	for _, name := range slices.Sorted(maps.Keys(expect)) {
		want := expect[name]
		got, known := cols[name]
		switch {
		case !known:
			wrong = append(wrong, "no column "+name+" is known")
		case Matches(want, got):
		case strings.Contains(string(want), `"min"`):
			late = append(late, fmt.Sprintf("%s is %v, want %s", name, got, want))
		default:
			wrong = append(wrong, fmt.Sprintf("%s is %v, want %s", name, got, want))
		}
	}
	return wrong, late
}

// anyOutcome returns the differences from the outcome that has the fewest.
func anyOutcome(raw json.RawMessage, expect map[string]json.RawMessage, cols map[string]any) (wrong, late []string) {
	var outcomes []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &outcomes); err != nil || len(outcomes) == 0 {
		return []string{"any_of is no list of outcomes"}, nil
	}
	best := -1
	for _, o := range outcomes {
		all := maps.Clone(expect)
		delete(all, "any_of")
		maps.Copy(all, o)
		w, l := Differences(all, cols)
		if n := 100*len(w) + len(l); best < 0 || n < best {
			best, wrong, late = n, w, l
		}
	}
	return wrong, late
}
