package exchange_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest/casetest"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// importCase is one of testdata/cases/import: a file, and what must come of it.
type importCase struct {
	Format string
	File   string
	Expect map[string]json.RawMessage
}

// importCases are all of them, by name.
func importCases(t testing.TB) map[string]importCase {
	t.Helper()
	files, err := filepath.Glob("../../testdata/cases/import/*.json")
	if err != nil || len(files) < 14 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	cases := map[string]importCase{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var c importCase
		unmarshal(t, text, &c)
		cases[strings.TrimSuffix(filepath.Base(path), ".json")] = c
	}
	return cases
}

// TestCases reads the files of all cases, their formats told by the content.
func TestCases(t *testing.T) {
	for name, c := range importCases(t) {
		t.Run(name, func(t *testing.T) {
			got := imported(t, c.File)
			if got.unknown != nil {
				t.Fatal(got.unknown)
			}
			for name, want := range c.Expect {
				got.compare(t, name, want)
			}
		})
	}
}

// result is what a file became.
type result struct {
	unknown  error // the file was not read at all
	errors   []error
	sessions []*collect.Session
	targets  []*collect.TargetInfo
	batches  []analyze.BatchRow
	cases    []*collect.Case // of each batch
	rows     []analyze.RequestRow
	of       []int // the batch of each row
}

func imported(t *testing.T, file string) *result {
	t.Helper()
	r := &result{}
	in := exchange.Input{Name: "a/file.x", Host: "h", Now: time.Unix(1.8e9, 0), R: strings.NewReader(file), Size: int64(len(file))}
	cases := map[int64]*collect.Case{}
	targets := map[int64]*collect.TargetInfo{}
	id := ""
	for rec, err := range exchange.Read(t.Context(), in) {
		if err != nil {
			r.errors = append(r.errors, err)
			continue
		}
		switch rec := rec.(type) {
		case *collect.Session:
			r.sessions = append(r.sessions, rec)
			id = rec.ID
		case *collect.TargetInfo:
			targets[rec.TargetID] = rec
			r.targets = append(r.targets, rec)
		case *collect.Case:
			cases[rec.CaseID] = rec
		case *collect.Batch:
			c := cases[rec.CaseID]
			b, rows := analyze.Derive(analyze.Context{SessionID: id, Target: targets[c.TargetID], Case: c}, rec, nil)
			for range rows {
				r.of = append(r.of, len(r.batches))
			}
			r.batches, r.rows, r.cases = append(r.batches, b), append(r.rows, rows...), append(r.cases, c)
		}
	}
	if len(r.sessions) == 0 && len(r.errors) == 1 {
		r.unknown = r.errors[0]
	}
	return r
}

// compare holds one expectation, which may be of a part: row1, batch3, test2.
func (r *result) compare(t *testing.T, name string, want json.RawMessage) {
	var n int
	var parts map[string]json.RawMessage
	for kind, values := range map[string]func(int) map[string]any{"row": r.row, "batch": r.batch, "test": r.test} {
		if _, err := fmt.Sscanf(name, kind+"%d", &n); err != nil {
			continue
		}
		unmarshal(t, want, &parts)
		got := values(n - 1)
		for column, want := range parts {
			if x, known := got[column]; !known || !casetest.Matches(want, x) {
				t.Errorf("%s.%s is %v (known: %t), want %s", name, column, x, known, want)
			}
		}
		return
	}
	switch x := r.whole()[name]; {
	case name == "flags", name == "exit_code": // the command's, see its own test
	case !casetest.Matches(want, x):
		t.Errorf("%s is %v, want %s", name, x, want)
	}
}

func (r *result) whole() map[string]any {
	said := map[string]any{"rows": len(r.rows), "batches": len(r.batches), "sessions": len(r.sessions), "tests": len(r.tests()), "errors": len(r.errors), "error": "", "p99": nil}
	if len(r.errors) > 0 {
		said["error"] = r.errors[0].Error()
	}
	if len(r.sessions) > 0 {
		said["started_at"] = r.sessions[0].StartedAt.Format("2006-01-02T15:04:05")
		said["build"] = strings.TrimPrefix(r.sessions[0].Imported.ToolVersion[max(0, strings.LastIndexByte(r.sessions[0].Imported.ToolVersion, '-')):], "-")
	}
	var ttft, rates []float64
	kinds := map[string][]float64{}
	for i, row := range r.rows {
		if !row.InStats {
			continue
		}
		if row.TTFTMS != nil {
			ttft = append(ttft, *row.TTFTMS)
		}
		if row.TokPerSec != nil && *row.TokPerSec > 0 {
			rates = append(rates, *row.TokPerSec)
			kind := r.cases[r.of[i]].PromptKind
			kinds[kind] = append(kinds[kind], *row.TokPerSec)
		}
	}
	good := 0
	for _, row := range r.rows {
		if row.InStats {
			good++
		}
	}
	said["n_good"] = good
	said["median_ttft_ms"], said["median_tok_per_sec"] = orNil(median(ttft)), orNil(median(rates))
	var groups [][]float64
	for _, k := range kinds {
		groups = append(groups, k)
	}
	p := analyze.PooledSpread(groups)
	said["std_dev_tok_s"], said["pooled_sd_sample"] = orNil(p.StdDev), orNil(p.SampleSD)
	return said
}

func (r *result) row(i int) map[string]any {
	if i >= len(r.rows) {
		return nil
	}
	row, b := r.rows[i], r.batches[r.of[i]]
	return map[string]any{
		"ttft_ms": orNil(row.TTFTMS), "total_duration_ms": orNil(row.TotalDurationMS), "generation_duration_ms": orNil(row.GenerationDurationMS),
		"load_duration_ms": orNil(row.LoadDurationMS), "elapsed_s": orNil(row.ElapsedS),
		"prompt_tps": orNil(row.PromptTPS), "generation_tps": orNil(row.GenerationTPS), "tok_per_sec": orNil(row.TokPerSec),
		"tokens_generated": whole(row.TokensGenerated), "tokens_source": word(string(row.TokensSource)), "prompt_tokens": whole(row.PromptTokens),
		"chunks": whole(row.Chunks), "peak_memory_bytes": whole(row.PeakMemoryBytes), "error_kind": word(row.ErrorKind),
		"in_stats": row.InStats, "in_cold_stats": row.InColdStats, "warmup": b.Warmup, "power_watts": orNil(r.targets[0].StatedPowerW),
		"energy_j": orNil(b.EnergyJ), "j_per_output_token": orNil(b.JPerOutputToken),
	}
}

func (r *result) batch(i int) map[string]any {
	if i >= len(r.batches) {
		return nil
	}
	b := r.batches[i]
	return map[string]any{
		"concurrency": int(r.cases[i].Concurrency), "energy_j": orNil(b.EnergyJ), "batch_wall_s": orNil(b.BatchWallS), "agg_gen_tps": orNil(b.AggGenTPS),
		"agg_wall_tps": orNil(b.AggWallTPS), "j_per_output_token": orNil(b.JPerOutputToken),
	}
}

// tests are the cases with rows: a line of llama-bench each.
func (r *result) tests() []int64 {
	var ids []int64
	for _, c := range r.cases {
		if !slices.Contains(ids, c.CaseID) {
			ids = append(ids, c.CaseID)
		}
	}
	return ids
}

func (r *result) test(i int) map[string]any {
	ids := r.tests()
	if i >= len(ids) {
		return nil
	}
	var prompt, generation []float64
	var last analyze.RequestRow
	var c *collect.Case
	for j, row := range r.rows {
		if r.cases[r.of[j]].CaseID != ids[i] {
			continue
		}
		last, c = row, r.cases[r.of[j]]
		if row.PromptTPS != nil {
			prompt = append(prompt, *row.PromptTPS)
		}
		if row.GenerationTPS != nil {
			generation = append(generation, *row.GenerationTPS)
		}
	}
	n := any(max(len(prompt), len(generation)))
	if last.StatedSD != nil {
		n = nil
	}
	return map[string]any{
		"name": testName(c), "prompt_tps": orNil(last.PromptTPS), "generation_tps": orNil(last.GenerationTPS), "mixed_tps": orNil(last.MixedTPS),
		"prompt_tps_median": orNil(median(prompt)), "generation_tps_median": orNil(median(generation)),
		"sd": orNil(last.StatedSD), "depth": whole(c.Depth), "n": n, "cpu": r.sessions[0].Host.Chip,
	}
}

func testName(c *collect.Case) string {
	var parts []string
	if c.PP != nil {
		parts = append(parts, fmt.Sprintf("pp%d", *c.PP))
	}
	if c.TG > 0 {
		parts = append(parts, fmt.Sprintf("tg%d", c.TG))
	}
	return strings.Join(parts, "+")
}

func orNil(x *float64) any {
	if x == nil || math.IsNaN(*x) {
		return nil
	}
	return *x
}

func whole(n *int64) any {
	if n == nil {
		return nil
	}
	return int(*n)
}

func word(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func median(xs []float64) *float64 {
	s, _ := analyze.NewSample(xs)
	return s.Median()
}
