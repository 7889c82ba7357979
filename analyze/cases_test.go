package analyze_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// statsCase is one of testdata/cases/stats: an input in one of several forms,
// and what must come out.
type statsCase struct {
	Input struct {
		Column     string
		Groups     map[string][]float64
		Sets       map[string]map[string][]float64
		ValuesText []string `json:"values_text"`
		Rows       []caseRow
		Batch      *caseBatch
		A, B       []float64
	}
	Expect map[string]any
	Trap   map[string]any // what known wrong tools say
}

// caseRow is a request as a case gives it: what is absent is as in any good row.
type caseRow struct {
	TTFTMS          *float64 `json:"ttft_ms"`
	TotalDurationMS *float64 `json:"total_duration_ms"`
	GenerationTPS   *float64 `json:"generation_tps"`
	TokensGenerated *int64   `json:"tokens_generated"`
	ErrorKind       string   `json:"error_kind"`
	Warmup          bool
	PrefixCacheHit  string `json:"prefix_cache_hit"`
	TokensSource    string `json:"tokens_source"`
}

type caseBatch struct {
	Concurrency int64
	Requests    []struct {
		GenerationTPS   float64 `json:"generation_tps"`
		TokensGenerated int64   `json:"tokens_generated"`
		ElapsedS        float64 `json:"elapsed_s"`
	}
	EnergyJ          float64 `json:"energy_j"`
	PromptTokensEach int64   `json:"prompt_tokens_each"`
}

func TestStatsCases(t *testing.T) {
	files, err := filepath.Glob("../testdata/cases/stats/*.json")
	if err != nil || len(files) != 14 {
		t.Fatalf("%d cases, want 14 (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c statsCase
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
			delete(c.Expect, "exit_code") // the command's, not ours
			for name, trap := range c.Trap {
				if x, ok := trap.(float64); ok && differs(x, c.Expect[name]) == "" {
					t.Errorf("%s: the case can't fail: it takes the wrong answer %v", name, x)
				}
			}
			got := c.run()
			for name, want := range c.Expect {
				have, ok := got[name]
				if !ok {
					t.Errorf("%s: nothing computes it", name)
				} else if why := differs(have, want); why != "" {
					t.Errorf("%s: %s", name, why)
				}
			}
		})
	}
}

// run computes all that a case of its kind may expect.
func (c *statsCase) run() map[string]any {
	in := &c.Input
	switch {
	case in.Groups != nil:
		return groupStats(in.Groups)
	case in.Sets != nil:
		out := map[string]any{}
		for name, groups := range in.Sets {
			out[name] = groupStats(groups)
		}
		return out
	case in.A != nil:
		r := analyze.MannWhitney(in.A, in.B)
		return map[string]any{"u": value(r.U), "p": value(r.P), "verdict": r.Verdict}
	case in.Batch != nil:
		return batchStats(in.Batch)
	case in.ValuesText != nil:
		for _, text := range in.ValuesText {
			x, _ := strconv.ParseFloat(text, 64)
			in.Rows = append(in.Rows, caseRow{GenerationTPS: &x})
		}
	}
	return rowStats(in.Rows)
}

func groupStats(groups map[string][]float64) map[string]any {
	var all []float64
	var list [][]float64
	for _, g := range groups {
		all = append(all, g...)
		list = append(list, g)
	}
	pooled := analyze.PooledSpread(list)
	out := sampleStats(all)
	out["std_dev_tok_s"], out["pooled_sd_sample"] = value(pooled.StdDev), value(pooled.SampleSD)
	out["cv"], out["stability"] = value(pooled.CV), word(analyze.Stability(pooled.CV))
	return out
}

func sampleStats(xs []float64) map[string]any {
	s, _ := analyze.NewSample(xs)
	out := map[string]any{
		"n": float64(s.N()), "median": value(s.Median()), "mean": value(s.Mean()), "sd": value(s.SD()),
		"p90": value(s.Percentile(90)), "p99": value(s.Percentile(99)), "ci95_median": []any{nil, nil},
	}
	if iv := s.MedianInterval(); iv != nil {
		out["ci95_median"] = []any{iv.Lo, iv.Hi}
	}
	return out
}

// rowStats sends the rows of a cold case through Derive and takes the
// statistics of what they are about.
func rowStats(rows []caseRow) map[string]any {
	var xs []float64
	counts := map[string]float64{}
	times := slices.ContainsFunc(rows, func(r caseRow) bool { return r.TTFTMS != nil })
	for i := range rows {
		row := rows[i].derive()
		if rows[i].Warmup {
			continue
		}
		counts["n_"+string(row.Status)]++
		if row.TokensSource == analyze.SourceEstimate {
			counts["n_estimated"]++
		}
		if slices.Contains(row.Flags, "cache_hit_in_cold") {
			counts["n_cache_hit"]++
		}
		x := row.GenerationTPS
		if times {
			x = row.TTFTMS
		}
		if row.InColdStats && x == nil {
			counts["n_null"]++
		} else if row.InColdStats {
			xs = append(xs, *x)
		}
	}
	out := sampleStats(xs)
	out["median_ttft_ms"] = out["median"]
	for _, name := range []string{"n_failed", "n_invalid", "n_estimated", "n_cache_hit", "n_null"} {
		out[name] = counts[name]
	}
	return out
}

// derive makes a request of which the row's figures follow.
func (c *caseRow) derive() analyze.RequestRow {
	t := newTrial()
	t.batch.Warmup = c.Warmup
	rep := &t.req.Report
	rep.PrefixCacheHit = c.PrefixCacheHit
	rep.GenerationTPS, rep.GenerationRule = c.GenerationTPS, collect.RateIntervals
	if c.TokensGenerated != nil {
		rep.CompletionTokens, t.cs.TGWanted = c.TokensGenerated, false
	}
	if c.TokensSource == "estimate" {
		rep.CompletionTokens = nil
	}
	if c.ErrorKind != "" {
		t.req.Failure = collect.Failf(collect.ErrorKind(c.ErrorKind), "x")
	}
	if c.TTFTMS != nil {
		total := *c.TTFTMS + 100
		if c.TotalDurationMS != nil {
			total = *c.TotalDurationMS
		}
		t.req.Chunks = []collect.Chunk{
			{T: int64(*c.TTFTMS * ms), Tokens: collect.TokensUnknown, Kind: collect.KindContent},
			{T: int64(total * ms), Tokens: collect.TokensUnknown, Kind: collect.KindContent},
		}
	}
	return t.derive()
}

func batchStats(c *caseBatch) map[string]any {
	t := newTrial()
	t.cs.TGWanted, t.cs.Concurrency = false, c.Concurrency
	b := &collect.Batch{}
	for _, in := range c.Requests {
		r := t.req
		r.StartNS, r.EndNS = 0, int64(in.ElapsedS*1e9)
		r.Report.CompletionTokens, r.Report.PromptTokens, r.PPTokens = &in.TokensGenerated, &c.PromptTokensEach, nil
		r.Report.GenerationTPS, r.Report.GenerationRule = &in.GenerationTPS, collect.RateIntervals
		b.Requests = append(b.Requests, r)
	}
	row := deriveBatch(t, b, &analyze.Energy{J: &c.EnergyJ})
	return map[string]any{
		"batch_wall_s": value(row.BatchWallS), "agg_gen_tps": value(row.AggGenTPS), "agg_wall_tps": value(row.AggWallTPS),
		"j_per_output_token": value(row.JPerOutputToken), "j_per_total_token": value(row.JPerTotalToken),
	}
}

func value(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

func word(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// differs compares by the rules of the cases: a number to 1e-6 of its size,
// null only with null, {min, max} inclusive, other objects and lists by part.
func differs(got, want any) string {
	bad := func() string {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		return string(g) + ", want " + string(w)
	}
	switch want := want.(type) {
	case float64:
		if x, ok := got.(float64); !ok || math.Abs(x-want) > 1e-6*math.Abs(want) {
			return bad()
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return bad()
		}
		for i := range want {
			if differs(list[i], want[i]) != "" {
				return bad()
			}
		}
	case map[string]any:
		if lo, ok := want["min"].(float64); ok {
			if x, ok := got.(float64); !ok || x < lo || x > want["max"].(float64) {
				return bad()
			}
			return ""
		}
		parts, ok := got.(map[string]any)
		for name := range want {
			if why := differs(parts[name], want[name]); !ok || why != "" {
				return name + ": " + why
			}
		}
	default:
		if got != want {
			return bad()
		}
	}
	return ""
}
