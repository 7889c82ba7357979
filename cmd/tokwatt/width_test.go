package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// TestWideSummariesFitAScreen: long names of prompts and caches, percentiles,
// and rates of five digits; what has no room is named.
func TestWideSummariesFitAScreen(t *testing.T) {
	is := func(x float64) *float64 { return &x }
	stat := analyze.Stat{N: 20, Median: is(12345.6), Mean: is(12345.6), SD: is(1234.5), P90: is(23456), P99: is(34567)}
	row := analyze.Summary{ModelID: strings.Repeat("long-name-", 6), Engine: "reference", CacheMode: "server", PromptKind: "context_fill", PrefixCacheHit: "unknown",
		TG: 1024, Concurrency: 1, NBatches: 6, CV: is(12.3456), Stability: "unstable", Stats: map[string]analyze.Stat{}}
	for _, m := range shownMetrics() {
		if m.name != "mixed_tps" { // the files that have it have no times
			row.Stats[m.name] = stat
		}
	}
	foreign := row
	foreign.Stats = map[string]analyze.Stat{"prompt_tps": stat, "generation_tps": stat, "mixed_tps": stat}
	for _, percentiles := range [][]int{nil, {90}, {90, 99}, {50, 90, 99}} {
		for _, streams := range []int64{1, 16} {
			for _, row := range []analyze.Summary{row, foreign} {
				row.Concurrency = streams
				var b bytes.Buffer
				writeSummary(&b, []analyze.Summary{row, row}, "table", percentiles, nil)
				if n := widest(b.String()); n > screenColumns {
					t.Errorf("%v, %d streams: %d columns:\n%s", percentiles, streams, n, b.String())
				}
			}
		}
	}
}

// TestPercentilesThatAreMissing: the note says how many requests they need.
func TestPercentilesThatAreMissing(t *testing.T) {
	x := 1.0
	row := analyze.Summary{PromptKind: "own", Stats: map[string]analyze.Stat{"ttft_ms": {N: 6, Median: &x}}}
	var b bytes.Buffer
	writeSummary(&b, []analyze.Summary{row}, "table", []int{50, 99}, nil)
	if out := b.String(); !strings.Contains(out, "p99 needs 100 requests") || !strings.Contains(out, "p50 is the median") || strings.Contains(out, "p50 needs") {
		t.Error(out)
	}
}

// TestListFitsAScreen: with a session that was interrupted, too; and a tag that
// nobody has is named.
func TestListFitsAScreen(t *testing.T) {
	recs := kindsOf(collect.TargetInfo{Engine: "e", ModelID: strings.Repeat("long-name", 5)}, func(*collect.Request) {}, []float64{10})
	recs[len(recs)-1].(*collect.End).Status = collect.StatusInterrupted
	db := storeOf(t, recs...)
	if r := tokwatt(t, "", "list", "--db", db); widest(r.out) > screenColumns || !strings.Contains(r.out, "interrupted") {
		t.Errorf("%d columns:\n%s%s", widest(r.out), r.out, r.err)
	}
	if r := tokwatt(t, "", "list", "--tag", "zz", "--db", db); r.code != 0 || !strings.Contains(r.err, "no session has the tag zz") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// TestListTakesTheRoomThereIs: of a wide screen all, of a narrow one no more.
func TestListTakesTheRoomThereIs(t *testing.T) {
	model := strings.Repeat("long-name", 8)
	db := storeOf(t, kindsOf(collect.TargetInfo{Engine: "e", ModelID: model}, func(*collect.Request) {}, []float64{10})...)
	for columns, whole := range map[string]bool{"160": true, "76": false, "none": false, "-3": false} {
		t.Setenv("COLUMNS", columns)
		r := tokwatt(t, "", "list", "--db", db)
		if most, err := strconv.Atoi(columns); strings.Contains(r.out, model) != whole || err == nil && most > 0 && widest(r.out) > most {
			t.Errorf("COLUMNS=%s: %d columns:\n%s%s", columns, widest(r.out), r.out, r.err)
		}
	}
}

// TestQuerySaysWhereItWrote: as plot does.
func TestQuerySaysWhereItWrote(t *testing.T) {
	needsSQL(t)
	t.Chdir(t.TempDir())
	db := fixture(t)
	for _, out := range []string{"r.csv", "r.parquet"} {
		if r := tokwatt(t, "", "query", "--db", db, "--out", out, "select 1 as one"); r.code != 0 || r.out != out+"\n" {
			t.Errorf("%s: exit %d: %s%s", out, r.code, r.out, r.err)
		}
	}
}
