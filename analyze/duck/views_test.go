//go:build cgo

package duck

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/duck/rowio"
)

// TestMedianInterval compares ranks and coverage for many numbers of batches
// with whole-number arithmetic.
func TestMedianInterval(t *testing.T) {
	f := newFixture(t)
	f.session("s")
	sizes := []int{200, 499, 500, 501, 502, 503, 505, 551, 1000, 1100, 3000}
	for n := 1; n <= 130; n++ {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		f.case_("s", n, n, "cold")
	}
	// In a shuffled order the b-th smallest value of a case is b.
	f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, tokens_source, in_stats, in_cold_stats, ttft_ms)
		select session_id, host, date, batch_id, batch_id, 'ok', 'server', true, true, cast(batch_id %% 100000 as double) from batches order by hash(batch_id)`)
	db := f.open(Options{})
	summaries, err := db.Summaries(t.Context(), SummaryFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(summaries) != len(sizes) {
		t.Fatalf("%d summaries, want %d", len(summaries), len(sizes))
	}
	for _, s := range summaries {
		n, got := int(s.CaseID), s.Stats["ttft_ms"]
		k, coverage, ok := exactRank(n)
		if !ok {
			if got.Lo != nil || got.Hi != nil || got.Coverage != nil {
				t.Errorf("n = %d has an interval", n)
			}
			continue
		}
		if got.Lo == nil || *got.Lo != float64(k) || got.Hi == nil || *got.Hi != float64(n+1-k) {
			t.Errorf("n = %d: [%s, %s], want [%d, %d]", n, show(got.Lo), show(got.Hi), k, n+1-k)
		}
		if n > lastRank {
			if got.Coverage != nil {
				t.Errorf("n = %d: coverage %v, want NULL", n, *got.Coverage)
			}
			continue
		}
		if got.Coverage == nil || math.Abs(*got.Coverage-coverage) > 1e-9 {
			t.Errorf("n = %d: coverage %s, want %v", n, show(got.Coverage), coverage)
		}
	}
}

// coldCase adds a session with one cold case whose batches have a request each,
// with the given columns of table requests.
func (f *fixture) coldCase(session, columns string, rows ...string) {
	f.session(session)
	f.case_(session, 1, len(rows), "cold")
	var values []string
	for i, row := range rows {
		values = append(values, fmt.Sprintf("('%s', 'h', '2026-01-02', %d, %d, [], %s)", session, 100001+i, i+1, row))
	}
	f.exec("insert into requests (session_id, host, date, batch_id, request_id, flags, %s) values %s", columns, strings.Join(values, ", "))
}

const good = "'ok', true, true, 'server'"

// TestWorkedCases has cases whose answers are worked out by hand. A case that
// wants NULL has nil.
func TestWorkedCases(t *testing.T) {
	f, null := newFixture(t), (*float64)(nil)
	is := func(x float64) *float64 { return &x }
	hundred := make([]string, 100)
	for i := range hundred {
		hundred[i] = fmt.Sprint((i*37)%100 + 1)
	}
	cases := []struct {
		name      string
		rates     []string
		stability string
		want      map[string]*float64
	}{
		{"cv of five is not under five", []string{"95", "105"}, "variable", map[string]*float64{"cv": is(5), "median": is(100)}},
		{"cv of ten is not under ten", []string{"90", "110"}, "unstable", map[string]*float64{"cv": is(10)}},
		{"cv below five", []string{"95.1", "104.9"}, "stable", map[string]*float64{"cv": is(4.9)}},
		{"one value", []string{"42"}, "", map[string]*float64{"n": is(1), "median": is(42), "mean": is(42), "sd": null, "cv": null, "lo": null, "hi": null, "p90": null, "p99": null}},
		{"large offset", []string{"12000000001", "12000000003", "12000000005"}, "stable", map[string]*float64{"mean": is(12000000003), "sd": is(2)}},
		{"five batches", []string{"50", "51", "52", "53", "60"}, "variable", map[string]*float64{"median": is(52), "lo": null, "hi": null, "coverage": null}},
		{"six batches", []string{"50", "51", "52", "53", "60", "49"}, "variable", map[string]*float64{"median": is(51.5), "lo": is(49), "hi": is(60), "coverage": is(0.96875)}},
		{"nine values", []string{"11", "12", "13", "14", "15", "16", "17", "18", "99"}, "unstable", map[string]*float64{"n": is(9), "median": is(15), "p90": null}},
		{"99 values", hundred[:99], "unstable", map[string]*float64{"n": is(99), "p99": null}},
		{"100 values", hundred, "unstable", map[string]*float64{"n": is(100), "median": is(50.5), "mean": is(50.5), "p90": is(90.1), "p99": is(99.01)}},
		{"beside NULL", []string{"50", "null", "54"}, "stable", map[string]*float64{"n": is(2), "median": is(52), "mean": is(52)}},
		{"nothing but NULL", []string{"null", "null"}, "", map[string]*float64{"n": is(0), "median": null, "mean": null, "cv": null}},
	}
	for _, c := range cases {
		var rows []string
		for _, rate := range c.rates {
			rows = append(rows, good+", "+rate)
		}
		f.coldCase(c.name, "status, in_stats, in_cold_stats, tokens_source, generation_tps", rows...)
	}
	summaries, err := f.open(Options{}).Summaries(t.Context(), SummaryFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		i := slices.IndexFunc(summaries, func(s analyze.Summary) bool { return s.SessionID == c.name })
		if i < 0 {
			t.Errorf("%s has no summary", c.name)
			continue
		}
		s, g := summaries[i], summaries[i].Stats["generation_tps"]
		got := map[string]*float64{"n": is(float64(g.N)), "median": g.Median, "mean": g.Mean, "sd": g.SD, "lo": g.Lo, "hi": g.Hi,
			"coverage": g.Coverage, "p90": g.P90, "p99": g.P99, "cv": s.CV}
		for figure, want := range c.want {
			if !near(got[figure], want) {
				t.Errorf("%s: %s is %s, want %s", c.name, figure, show(got[figure]), show(want))
			}
		}
		if s.Stability != c.stability {
			t.Errorf("%s: %q, want %q", c.name, s.Stability, c.stability)
		}
	}
}

func TestMixedRows(t *testing.T) {
	f := newFixture(t)
	f.coldCase("s", "status, in_stats, in_cold_stats, tokens_source, ttft_ms, generation_tps, tok_per_sec",
		good+", 100, 10, 10", good+", 104, 20, 0.0", good+", 108, 30, 30",
		"'failed', false, false, null, 300, 1000, 1000",
		"'invalid', false, false, 'server', 120, 1000, 1000",
		"'ok', true, false, 'server', 12, 1000, 1000", // from the cache
		"'ok', true, true, 'estimate', 101, 1000, 1000")
	summaries, err := f.open(Options{}).Summaries(t.Context(), SummaryFilter{})
	if err != nil || len(summaries) != 1 {
		t.Fatalf("%d summaries, error %v; want one", len(summaries), err)
	}
	s := summaries[0]
	for metric, want := range map[string]struct {
		n      int64
		median float64
	}{"ttft_ms": {4, 102.5}, "generation_tps": {3, 20}, "tok_per_sec": {2, 20}} {
		if got := s.Stats[metric]; got.N != want.n || !near(got.Median, &want.median) {
			t.Errorf("%s: n %d median %s, want %v", metric, got.N, show(got.Median), want)
		}
	}
	if s.NOK != 5 || s.NFailed != 1 || s.NInvalid != 1 || s.NEstimated != 1 || s.NBatches != 4 {
		t.Errorf("counts: %+v", s)
	}
}

// TestNothingMeasured: a case where all failed has a row of counts, and NULLs.
func TestNothingMeasured(t *testing.T) {
	for _, mode := range []string{"cold", "prefix"} {
		f := newFixture(t)
		f.session("s")
		f.case_("s", 1, 5, mode)
		f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, error_kind, flags, in_stats, in_cold_stats, in_prefill_stats)
			select session_id, host, date, batch_id, batch_id, 'failed', 'truncated', [], false, false, false from batches`)
		got, err := f.open(Options{}).Summaries(t.Context(), SummaryFilter{Points: true})
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %d summaries, error %v; want one", mode, len(got), err)
		}
		s := got[0]
		if s.NFailed != 5 || s.NOK != 0 || s.NBatches != 0 || s.CV != nil || s.Stability != "" || s.PrefixCacheHit != "" {
			t.Errorf("%s: %+v", mode, s)
		}
		for metric, stat := range s.Stats {
			if fmt.Sprint(stat) != fmt.Sprint(analyze.Stat{}) {
				t.Errorf("%s: %s has figures: %+v", mode, metric, stat)
			}
		}
	}
}

// TestKindsOfHit: a prefix case has a summary a kind of hit; its counts are the
// whole case's, and exact hits have no prompt_tps.
func TestKindsOfHit(t *testing.T) {
	f := newFixture(t)
	f.session("s")
	f.case_("s", 1, 7, "prefix")
	f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, flags, tokens_source, prefix_cache_hit, in_stats, in_cold_stats, in_prefill_stats, prompt_tps, ttft_ms)
		select session_id, host, date, batch_id, batch_id, 'ok', [], 'server', hit, true, false, hit <> 'exact', 100, 10
		from (select *, ['none', 'partial', 'exact', 'exact', 'unknown', 'partial', 'exact'][batch_id - 100000] as hit from batches)`)
	got, err := f.open(Options{}).Summaries(t.Context(), SummaryFilter{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"exact 3 0", "none 1 1", "partial 2 2", "unknown 1 1"}
	var have []string
	for _, s := range got {
		have = append(have, fmt.Sprint(s.PrefixCacheHit, " ", s.Stats["ttft_ms"].N, " ", s.Stats["prompt_tps"].N))
		if s.NOK != 7 || s.NCacheHit != 5 {
			t.Errorf("%s: n_ok %d n_cache_hit %d, want 7 and 5", s.PrefixCacheHit, s.NOK, s.NCacheHit)
		}
	}
	if !slices.Equal(have, want) {
		t.Errorf("kinds are %q, want %q", have, want)
	}
}

// TestOrderOfRows: the order in which rows were written changes nothing.
func TestOrderOfRows(t *testing.T) {
	var seen []analyze.Summary
	for _, order := range []string{"x", "-x", "hash(x)"} {
		f := newFixture(t)
		f.session("s")
		f.case_("s", 1, 20, "cold")
		f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, flags, tokens_source, in_stats, in_cold_stats, in_prefill_stats, ttft_ms, generation_tps)
			select 's', 'h', '2026-01-02', 100001 + x %% 20, x, 'ok', [], 'server', true, true, true, hash(x) %% 9973, 20 + hash(x) %% 31
			from range(400) r(x) order by %s`, order)
		got, err := f.open(Options{}).Summaries(t.Context(), SummaryFilter{Points: true})
		if err != nil || len(got) != 1 {
			t.Fatalf("%d summaries, error %v", len(got), err)
		}
		seen = append(seen, got[0])
	}
	for _, other := range seen[1:] {
		compareSummaries(t, []analyze.Summary{other}, seen[:1])
	}
}

// TestColumns pins names and types: scripts hang on them. Adding is free.
func TestColumns(t *testing.T) {
	db := open(t, Options{Roots: []string{t.TempDir()}})
	var b strings.Builder
	for _, view := range []string{"sessions", "segments", "targets", "cases", "batches", "requests", "chunks", "samples", "energy", "runs", "batch_runs", "summary_long", "summary", "asiai", "phases"} {
		rows, err := db.Query(t.Context(), "from "+view)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range rows.Columns() {
			fmt.Fprintf(&b, "%s.%s %s\n", view, c.Name, c.Type)
		}
		rows.Close()
	}
	for _, m := range analyze.Metrics() {
		for _, figure := range []string{"median", "lo", "hi", "coverage", "mean", "sd", "n", "p90", "p99"} {
			if !strings.Contains(b.String(), "summary."+m.Name+"_"+figure+" ") {
				t.Errorf("summary has no %s_%s", m.Name, figure)
			}
		}
	}
	golden(t, "columns.txt", b.String())
}

// TestSmallDataset pins what a reader sees of a small session.
func TestSmallDataset(t *testing.T) {
	f := newFixture(t)
	f.session("s")
	f.case_("s", 1, 6, "cold")
	f.case_("s", 2, 3, "prefix")
	f.case_("s", 3, 2, "cold")
	f.exec("update batches set batch_wall_s = 1 + repeat_index, agg_wall_tps = 40, warmup = (batch_id = 300001)")
	f.exec(`insert into requests (session_id, host, date, batch_id, request_id, status, error_kind, flags, tokens_source, prefix_cache_hit,
			in_stats, in_cold_stats, in_prefill_stats, ttft_ms, prompt_tps, generation_tps, tok_per_sec)
		values ('s', 'h', '2026-01-02', 100001, 1, 'ok', null, [], 'server', 'none', true, true, true, 100, 1280, 20, 20),
			('s', 'h', '2026-01-02', 100001, 2, 'ok', null, [], 'server', 'none', true, true, true, 110, 1180, 21, 0),
			('s', 'h', '2026-01-02', 100002, 3, 'ok', null, [], 'server', 'none', true, true, true, 102, 1270, 22, 22),
			('s', 'h', '2026-01-02', 100003, 4, 'ok', null, ['estimated_tokens'], 'estimate', 'none', true, true, true, 104, 1260, 23, 23),
			('s', 'h', '2026-01-02', 100004, 5, 'ok', null, ['cache_hit_in_cold'], 'server', 'exact', true, false, false, 5, 9999, 24, 24),
			('s', 'h', '2026-01-02', 100005, 6, 'invalid', null, ['bad_figure'], 'server', 'none', false, false, false, 1, 1, 1, 1),
			('s', 'h', '2026-01-02', 100006, 7, 'failed', 'reset', [], null, null, false, false, false, 2, null, null, null),
			('s', 'h', '2026-01-02', 200001, 8, 'ok', null, [], 'server', 'none', true, false, true, 90, 1400, 30, 30),
			('s', 'h', '2026-01-02', 200002, 9, 'ok', null, [], 'server', 'exact', true, false, false, 9, 14000, 31, 31),
			('s', 'h', '2026-01-02', 200003, 10, 'ok', null, [], 'server', 'exact', true, false, false, 8, 14000, 32, 32),
			('s', 'h', '2026-01-02', 300001, 11, 'ok', null, [], 'server', 'none', false, false, false, 50, 50, 50, 50),
			('s', 'h', '2026-01-02', 300002, 12, 'ok', null, ['implausible'], 'server', 'none', false, false, false, 50, 50, 5e7, 50)`)
	db := f.open(Options{Threads: 1})
	var b strings.Builder
	for _, sql := range []string{
		"select case_id, batch_id, request_id, status, in_stats, ttft_ms, generation_tps, flags from runs order by request_id",
		`select case_id, prefix_cache_hit, n_batches, n_ok, n_failed, n_invalid, n_cache_hit, n_estimated, n_implausible, cv, stability,
		ttft_ms_n, ttft_ms_median, generation_tps_n, generation_tps_median from summary order by all`,
		"select case_id, prefix_cache_hit, metric, batch_id, median from batch_medians order by all",
		"select case_id, prefix_cache_hit, metric, n, n_batches, median, lo, hi, coverage, mean, sd, p90, cv from summary_long order by all",
	} {
		rows, err := db.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		if err := rowio.WriteCSV(&b, rows.Names(), rows.All()); err != nil {
			t.Fatal(err)
		}
		rows.Close()
		b.WriteString("\n")
	}
	golden(t, "small.csv", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test with -update and read the change. Got:\n%s", path, got)
	}
}
