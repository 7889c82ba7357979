package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"tokwatt/analyze"
	"tokwatt/collect"
	"tokwatt/collect/openai"
	"tokwatt/collect/script"
)

// TestCases plays every trouble case to the driver, through the runner and
// all formulas, and holds each expected column.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("../../testdata/cases/openai-*/*.json")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	// A case waits most of its time, so some can run beside each other
	// without a stamp of theirs being late.
	results := make([]string, len(files))
	t.Setenv("TOKWATT_TEST_KEY", "test-key")
	next := make(chan int)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for i := range next {
				results[i] = runCase(t.Context(), files[i])
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

// runCase says what is wrong. A time is wrong when it is wrong three times.
func runCase(ctx context.Context, file string) string {
	c, err := script.ReadCase(file)
	if err != nil {
		return err.Error()
	}
	var wrong, late []string
	for range 3 {
		cols, err := measure(ctx, c)
		if err != nil {
			return err.Error()
		}
		wrong, late = nil, nil
		for _, name := range slices.Sorted(mapKeys(c.Expect)) {
			got, known := cols[name]
			if !known {
				return "the test knows no column " + name
			}
			want := c.Expect[name]
			if matches(want, got) {
				continue
			}
			text := fmt.Sprintf("%s is %v, want %s", name, got, want)
			if strings.Contains(string(want), `"min"`) {
				late = append(late, text)
			} else {
				wrong = append(wrong, text)
			}
		}
		if len(wrong) > 0 || len(late) == 0 {
			break
		}
	}
	return strings.Join(append(wrong, late...), "\n")
}

func mapKeys(m map[string]json.RawMessage) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// measure runs the case once and returns the columns of its rows.
func measure(ctx context.Context, c *script.Case) (map[string]any, error) {
	play, err := c.Play()
	if err != nil {
		return nil, err
	}
	play.PoliteProbes = true
	srv, err := script.Listen("127.0.0.1:0", play)
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	o := openai.Options{URL: srv.URL()}
	if c.Request.BaseURL != "" {
		o.URL = srv.URL() + strings.TrimPrefix(c.Request.BaseURL, "http://127.0.0.1:PORT")
	}
	if c.Request.APIKey != "" {
		o.APIKeyEnv = "TOKWATT_TEST_KEY"
	}
	rows, batch, err := run(ctx, o, c)
	if err != nil {
		return nil, err
	}
	cols := columns(rows[0])
	cols["rows"] = len(rows)
	cols["batch_wall_s"] = value(batch.BatchWallS)
	cols["agg_gen_tps"] = value(batch.AggGenTPS)
	cols["agg_wall_tps"] = value(batch.AggWallTPS)
	cols["agg_steady_tps"] = value(batch.AggSteadyTPS)
	cols["energy_j"] = value(batch.EnergyJ)
	return cols, nil
}

// run collects one batch through the runner and derives its rows.
func run(ctx context.Context, o openai.Options, c *script.Case) ([]analyze.RequestRow, analyze.BatchRow, error) {
	none, zero, seed := 0, 0.0, int64(7)
	spec := collect.Spec{
		Models: []string{c.Request.Model}, PP: []int64{c.Request.PP}, TG: []int64{c.Request.TG},
		Concurrency: []int64{c.Request.Concurrency}, Repeat: c.Request.Repeats, Warmup: &none,
		Temperature: &zero, Seed: &seed, Streaming: streaming(c.Request.Stream),
		Pause: -1, GroupPause: -1, StallTimeout: 600 * time.Millisecond,
	}
	runner := collect.Runner{Prompts: func(collect.TargetInfo, collect.Engine, bool) (collect.Prompter, string) { return words{}, "" }}
	var target *collect.TargetInfo
	var cas *collect.Case
	var batch *collect.Batch
	for rec, err := range runner.Run(ctx, collect.Job{Driver: openai.Driver{Options: o}, Spec: spec}) {
		if err != nil {
			return nil, analyze.BatchRow{}, err
		}
		switch r := rec.(type) {
		case *collect.TargetInfo:
			target = r
		case *collect.Case:
			cas = r
		case *collect.Batch:
			batch = r
		}
	}
	if batch == nil {
		return nil, analyze.BatchRow{}, fmt.Errorf("no batch came")
	}
	b, rows := analyze.Derive(analyze.Context{Target: target, Case: cas}, batch, nil)
	// The records keep 200 code points of a text; its whole length is known.
	for i := range rows {
		if n := batch.Requests[i].OutputChars; n > 200 {
			rows[i].OutputTextPreview += strings.Repeat(".", int(n)-200)
		}
	}
	return rows, b, nil
}

// words is a prompter for servers whose counts follow a script, not a prompt.
type words struct{}

func (words) Size(context.Context, int64) error { return nil }
func (words) Head() *int64                      { return nil }
func (words) Source() collect.PromptSource      { return collect.PromptCalibrated }
func (words) Build(pp int64) (collect.Prompt, *int64) {
	return collect.Prompt{User: strings.TrimSpace(strings.Repeat("word ", int(pp)-9))}, &pp
}

// columns are those that the cases name.
func columns(r analyze.RequestRow) map[string]any {
	return map[string]any{
		"http_status": count(r.HTTPStatus), "error_kind": text(r.ErrorKind), "error": text(r.Error),
		"retry_after_s": value(r.RetryAfterS), "row_status": string(r.Status), "flags": r.Flags,
		"ttft_ms": value(r.TTFTMS), "first_chunk_ms": value(r.FirstChunkMS), "first_text_ms": value(r.FirstTextMS),
		"total_duration_ms": value(r.TotalDurationMS), "generation_duration_ms": value(r.GenerationDurationMS),
		"tokens_generated": count(r.TokensGenerated), "tokens_source": text(string(r.TokensSource)),
		"prompt_tokens": count(r.PromptTokens), "cached_tokens": count(r.CachedTokens),
		"prefix_cache_hit": text(string(r.PrefixCacheHit)), "in_cold_stats": r.InColdStats,
		"prompt_tps": value(r.PromptTPS), "generation_tps": value(r.GenerationTPS),
		"generation_tps_source": text(string(r.GenerationTPSSource)), "generation_tps_client": value(r.GenerationTPSClient),
		"tok_per_sec": value(r.TokPerSec), "chunks": count(r.Chunks),
		"finish_reason": text(r.FinishReason), "text": text(r.OutputTextPreview),
	}
}

// value, count and text turn a column into nil, a float64 or a string.
func value(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

func count(x *int64) any {
	if x == nil {
		return nil
	}
	return float64(*x)
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// matches holds a column against an expectation in the form of the case files:
// null is NULL, a number is met to 1e-6, an object is one of the forms below.
func matches(want json.RawMessage, got any) bool {
	var w any
	if json.Unmarshal(want, &w) != nil {
		return false
	}
	return meets(w, got)
}

func meets(want, got any) bool {
	switch w := want.(type) {
	case nil:
		return got == nil
	case float64:
		if n, ok := got.(int); ok {
			got = float64(n)
		}
		g, ok := got.(float64)
		return ok && math.Abs(g-w) <= 1e-6*max(1, math.Abs(w))
	case string, bool:
		return got == w
	case map[string]any:
		return meetsForm(w, got)
	}
	return false
}

func meetsForm(w map[string]any, got any) bool {
	if all, ok := w["any_of"].([]any); ok {
		return slices.ContainsFunc(all, func(one any) bool { return meets(one, got) })
	}
	if w["not_null"] == true {
		return got != nil
	}
	if part, ok := w["contains"].(string); ok {
		s, ok := got.(string)
		return ok && strings.Contains(s, part)
	}
	if n, ok := w["length"].(float64); ok {
		s, ok := got.(string)
		return ok && utf8.RuneCountInString(s) == int(n)
	}
	if lo, ok := w["min"].(float64); ok {
		g, ok := got.(float64)
		return ok && g >= lo && g <= w["max"].(float64)
	}
	flags, ok := got.([]string)
	if !ok {
		return false
	}
	for _, f := range list(w["has"]) {
		if !slices.Contains(flags, f) {
			return false
		}
	}
	for _, f := range list(w["has_not"]) {
		if slices.Contains(flags, f) {
			return false
		}
	}
	return w["has"] != nil || w["has_not"] != nil
}

func list(x any) []string {
	var out []string
	all, _ := x.([]any)
	for _, one := range all {
		s, _ := one.(string)
		out = append(out, s)
	}
	return out
}

func streaming(on bool) collect.Streaming {
	if on {
		return collect.StreamAll
	}
	return collect.StreamNone
}
