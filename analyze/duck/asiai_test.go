//go:build cgo

package duck

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// kindsSession is a session whose case k has a run for each of kinds[k]; a
// value is tok_per_sec.
func (f *fixture) kindsSession(session string, kinds ...[]string) {
	f.session(session)
	var cases, batches, requests []string
	for k, runs := range kinds {
		cases = append(cases, fmt.Sprintf("('%s', 'h', '2026-01-02', 1, %d, 64, 1, 'server', 'kind %[2]d')", session, k+1))
		for _, v := range runs {
			id := len(batches) + 1
			batches = append(batches, fmt.Sprintf("('%s', 'h', '2026-01-02', %d, %d, false)", session, k+1, id))
			requests = append(requests, fmt.Sprintf("('%s', 'h', '2026-01-02', %d, %[2]d, 'ok', [], 'server', 'unknown', true, false, %s, 100)", session, id, v))
		}
	}
	insert := func(into string, rows []string) {
		if len(rows) > 0 {
			f.exec("insert into %s values %s", into, strings.Join(rows, ", "))
		}
	}
	insert("cases (session_id, host, date, target_id, case_id, tg, concurrency, cache_mode, prompt_kind)", cases)
	insert("batches (session_id, host, date, case_id, batch_id, warmup)", batches)
	insert(`requests (session_id, host, date, batch_id, request_id, status, flags, tokens_source, prefix_cache_hit, in_stats, in_cold_stats,
		tok_per_sec, ttft_ms)`, requests)
}

// TestAsiaiSpread has cases of M8 that are worked out by hand.
func TestAsiaiSpread(t *testing.T) {
	is, null := func(x float64) *float64 { return &x }, (*float64)(nil)
	cases := []struct {
		name           string
		kinds          [][]string
		sd, sample, cv *float64
		stability      string
		mean, median   *float64
	}{
		// Variances 1 and 0, their mean 0.5; sample form (2 + 0) / (1 + 2).
		{"the worked case", [][]string{{"10", "12"}, {"100", "100", "100"}}, is(0.7071067811865476), is(0.816496580927726),
			is(100 * 0.7071067811865476 / 64.4), "stable", is(64.4), is(100)},
		{"a kind with one run has no spread, but is in the mean", [][]string{{"10", "12"}, {"50"}}, is(1), is(1.4142135623730951),
			is(100 / 24.0), "stable", is(24), is(12)},
		{"no kind with two runs", [][]string{{"10"}, {"20"}}, null, null, null, "", is(15), is(15)},
		{"0.0 is no run", [][]string{{"10", "0.0"}, {"20", "22", "0.0"}}, is(1), is(1.4142135623730951),
			is(100 / (52.0 / 3)), "variable", is(52.0 / 3), is(20)},
		{"nothing measurable", [][]string{{"0.0", "null"}}, null, null, null, "", null, null},
		{"a cv of five is not under five", [][]string{{"95", "105"}}, is(5), is(7.0710678118654755), is(5), "variable", is(100), is(100)},
		{"a cv of ten is not under ten", [][]string{{"90", "110"}}, is(10), is(14.142135623730951), is(10), "unstable", is(100), is(100)},
		{"kinds are far apart and each is steady", [][]string{{"40", "40"}, {"400", "400"}}, is(0), is(0), is(0), "stable", is(220), is(220)},
	}
	f := newFixture(t)
	for _, c := range cases {
		f.kindsSession(c.name, c.kinds...)
	}
	rows, err := f.open(Options{}).Asiai(t.Context(), nil)
	if err != nil || len(rows) != len(cases) {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	for _, c := range cases {
		r := rows[slices.IndexFunc(rows, func(r analyze.Asiai) bool { return r.SessionID == c.name })]
		for _, v := range []struct {
			name      string
			got, want *float64
		}{
			{"std_dev_tok_s", r.StdDevTokS, c.sd}, {"pooled_sd_sample", r.PooledSDSample, c.sample}, {"cv", r.CV, c.cv},
			{"tok_per_sec_mean", r.TokPerSecMean, c.mean}, {"tok_per_sec", r.TokPerSec, c.median},
		} {
			if !near(v.got, v.want) {
				t.Errorf("%s: %s is %s, want %s", c.name, v.name, show(v.got), show(v.want))
			}
		}
		if r.Stability != c.stability {
			t.Errorf("%s: %q, want %q", c.name, r.Stability, c.stability)
		}
		if r.TTFTMS == nil || *r.TTFTMS != 100 || r.PowerWatts != nil || r.TokPerSecPerWatt != nil {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestAsiaiRows says which rows enter which of the metrics.
func TestAsiaiRows(t *testing.T) {
	f := newFixture(t)
	f.coldCase("s", `status, in_stats, in_cold_stats, tokens_source, prefix_cache_hit, tok_per_sec, ttft_ms, total_duration_ms, response_ms,
		tokens_generated, generation_duration_ms`,
		"'ok', true, true, 'server', 'none', 50, 100, 300, 310, 10, 200",
		"'ok', true, true, 'server', 'none', 60, 110, 310, 360, 12, 200",
		"'ok', true, true, 'estimate', 'none', 1000, 300, 500, 510, 90, 200", // in the times
		"'ok', true, true, 'server', 'none', 0.0, 120, 121, 125, 9, 1",       // too short to measure
		"'ok', true, false, 'server', 'exact', 99, 1, 2, 300, 99, 1",         // from the cache, in a cold case
		"'failed', false, false, null, null, 70, 5, 5, 5, 5, 5",
		"'invalid', false, false, 'server', 'none', 70, 5, 5, 5, 5, 5")
	f.exec("update targets set power_watts = 20, power_scope = 'gpu'")
	f.session("ollama")
	f.exec("update targets set driver = 'ollama' where session_id = 'ollama'")
	f.case_("ollama", 1, 1, "server")
	f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, flags, tokens_source, in_stats, in_cold_stats, tok_per_sec,
			ttft_ms, response_ms, tokens_generated)
		values ('ollama', 'h', '2026-01-02', 100001, 1, 'ok', [], 'server', true, false, 57, 90, 500, 8)`)
	f.session("dead")
	f.case_("dead", 1, 1, "cold")
	f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, error_kind, flags, in_stats, in_cold_stats)
		values ('dead', 'h', '2026-01-02', 100001, 1, 'failed', 'connect', [], false, false)`)
	db := f.open(Options{})
	rows, err := db.Asiai(t.Context(), []string{"s"})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	is := func(x float64) *float64 { return &x }
	r := rows[0]
	for _, v := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"tok_per_sec", r.TokPerSec, 55},
		{"tok_per_sec_response", r.TokPerSecResponse, (10/0.21 + 12/0.25) / 2},
		{"ttft_ms", r.TTFTMS, 115}, {"total_duration_ms", r.TotalDurationMS, 305}, {"tokens_generated", r.TokensGenerated, 11},
		{"generation_duration_ms", r.GenerationDurationMS, 200}, {"power_watts", r.PowerWatts, 20}, {"tok_per_sec_per_watt", r.TokPerSecPerWatt, 2.75},
	} {
		if !near(v.got, is(v.want)) {
			t.Errorf("%s is %s, want %g", v.name, show(v.got), v.want)
		}
	}
	counts := []int64{r.NRuns, r.NRates, r.NWarm, r.NKinds, r.NOK, r.NFailed, r.NInvalid, r.NCacheHit, r.NEstimated, r.NImplausible}
	if !slices.Equal(counts, []int64{4, 2, 0, 1, 5, 1, 1, 1, 1, 0}) || r.PowerScope != "gpu" {
		t.Errorf("counts are %v, scope %q", counts, r.PowerScope)
	}
	all, err := db.Asiai(t.Context(), nil)
	if err != nil || len(all) != 3 || all[0].SessionID != "dead" || all[0].NFailed != 1 || all[0].NRuns != 0 || all[0].TTFTMS != nil {
		t.Fatalf("%+v, error %v", all, err)
	}
	if o := all[1]; !near(o.TokPerSec, is(57)) || !near(o.TokPerSecResponse, is(57)) {
		t.Errorf("ollama: %s and %s, want the server's own time in both", show(o.TokPerSec), show(o.TokPerSecResponse))
	}
	if none, err := db.Asiai(t.Context(), []string{"no-such-id"}); err != nil || len(none) != 0 {
		t.Errorf("of no session: %v, %v", none, err)
	}
}

// TestAsiaiAgainstGo holds the view against analyze.PooledSpread and
// analyze.Sample over the rows that Derive makes.
func TestAsiaiAgainstGo(t *testing.T) {
	root := t.TempDir()
	want := map[string]*asiaiReference{}
	for s := range analyzetest.Fleet(3, 2, analyzetest.Options{Targets: 4, PP: []int64{128, 512}, Repeats: 5, Tokens: 6}) {
		export(t, root, s)
		addAsiai(want, s)
	}
	rows, err := open(t, Options{Roots: []string{root}}).Asiai(t.Context(), nil)
	if err != nil || len(rows) != len(want) {
		t.Fatalf("%d rows, want %d; error %v", len(rows), len(want), err)
	}
	for _, r := range rows {
		id := fmt.Sprint(r.SessionID, r.TargetID)
		w := want[id]
		pooled := analyze.PooledSpread(w.groups())
		for _, v := range []struct {
			name      string
			got, want *float64
		}{
			{"std_dev_tok_s", r.StdDevTokS, pooled.StdDev}, {"pooled_sd_sample", r.PooledSDSample, pooled.SampleSD},
			{"cv", r.CV, pooled.CV}, {"tok_per_sec_mean", r.TokPerSecMean, pooled.Mean},
			{"tok_per_sec", r.TokPerSec, medianOf(slices.Concat(w.groups()...))}, {"ttft_ms", r.TTFTMS, medianOf(w.ttft)},
		} {
			if v.want == nil || !near(v.got, v.want) {
				t.Errorf("%s: %s is %s, want %s", id, v.name, show(v.got), show(v.want))
			}
		}
		if r.Stability != analyze.Stability(pooled.CV) || r.NRuns != w.n {
			t.Errorf("%s: %q of %d runs, want %q of %d", id, r.Stability, r.NRuns, analyze.Stability(pooled.CV), w.n)
		}
	}
}

// asiaiReference is what enters the row of a target.
type asiaiReference struct {
	byCase map[int64][]float64
	ttft   []float64
	n      int64
}

func (r *asiaiReference) groups() [][]float64 {
	var out [][]float64
	for _, g := range r.byCase {
		out = append(out, g)
	}
	return out
}

func addAsiai(all map[string]*asiaiReference, o analyzetest.Options) {
	ctx := analyze.Context{SessionID: o.ID()}
	cases, targets := map[int64]*collect.Case{}, map[int64]*collect.TargetInfo{}
	for rec := range analyzetest.Records(o) {
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			targets[rec.TargetID] = rec
			all[fmt.Sprint(ctx.SessionID, rec.TargetID)] = &asiaiReference{byCase: map[int64][]float64{}}
		case *collect.Case:
			cases[rec.CaseID] = rec
		case *collect.Batch:
			ctx.Case = cases[rec.CaseID]
			ctx.Target = targets[ctx.Case.TargetID]
			r := all[fmt.Sprint(ctx.SessionID, ctx.Case.TargetID)]
			_, rows := analyze.Derive(ctx, rec, nil)
			for i := range rows {
				r.add(&rows[i], ctx.Case)
			}
		}
	}
}

func (r *asiaiReference) add(q *analyze.RequestRow, c *collect.Case) {
	if !q.InStats || c.CacheMode == collect.CacheCold && !q.InColdStats {
		return
	}
	r.n++
	if q.TTFTMS != nil {
		r.ttft = append(r.ttft, *q.TTFTMS)
	}
	if q.TokPerSec != nil && *q.TokPerSec > 0 && q.TokensSource != analyze.SourceEstimate {
		r.byCase[c.CaseID] = append(r.byCase[c.CaseID], *q.TokPerSec)
	}
}

func medianOf(xs []float64) *float64 {
	s, _ := analyze.NewSample(xs)
	return s.Median()
}

// TestHitsAreKeptApart: whatever a case asks of the cache but cold, each kind
// of hit is a group of its own in every statistic there is.
func TestHitsAreKeptApart(t *testing.T) {
	for _, mode := range []collect.CacheMode{collect.CachePrefix, collect.CacheServer} {
		f := newFixture(t)
		f.session("s")
		f.case_("s", 1, 6, string(mode))
		f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, flags, tokens_source, prefix_cache_hit, in_stats, in_cold_stats, in_prefill_stats, ttft_ms, prompt_tps)
			select session_id, host, date, batch_id, batch_id, 'ok', [], 'server', if(batch_id %% 2 = 0, 'exact', 'none'), true, false, batch_id %% 2 = 1,
				if(batch_id %% 2 = 0, 10, 500), 100 from batches`)
		db := f.open(Options{})
		rows, err := db.Summaries(t.Context(), SummaryFilter{Points: true})
		if err != nil || len(rows) != 2 {
			t.Fatalf("%s: %d summaries, error %v", mode, len(rows), err)
		}
		for i, want := range []struct {
			hit  string
			ttft float64
		}{{"exact", 10}, {"none", 500}} {
			s := rows[i]
			ttft := s.Stats["ttft_ms"]
			if s.PrefixCacheHit != want.hit || !near(ttft.Median, &want.ttft) || ttft.N != 3 || s.NBatches != 3 || len(ttft.Points) != 3 || s.NCacheHit != 3 {
				t.Errorf("%s: %+v, ttft %+v", mode, s, ttft)
			}
		}
		for _, view := range []string{"summary_long", "batch_medians"} {
			mixed, err := db.Query(t.Context(), "select distinct prefix_cache_hit, median from "+view+" where metric = 'ttft_ms' order by all")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for row, err := range mixed.All() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.TrimSpace(fmt.Sprintln(row...)))
			}
			mixed.Close()
			if strings.Join(got, ", ") != "exact 10, none 500" {
				t.Errorf("%s of a %s case: %q", view, mode, got)
			}
		}
	}
}
