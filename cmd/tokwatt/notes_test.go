package main

import (
	"fmt"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// TestSeveralTokensInTheFirstChunk: 120 tokens in 12 chunks are 10 a chunk, so
// that gen is (119 − 110) / 110 = 8.18 % too high.
func TestSeveralTokensInTheFirstChunk(t *testing.T) {
	needsSQL(t)
	db := storeOf(t, kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}, func(r *collect.Request) {
		first, last := r.Chunks[0], r.Chunks[1]
		r.Chunks = nil
		for i := range int64(12) {
			c := first
			c.T += i * (last.T - first.T) / 11
			r.Chunks = append(r.Chunks, c)
		}
	}, []float64{10, 11})...)
	for _, args := range [][]string{{"show"}, {"summary"}} {
		r := tokwatt(t, "", append(args, "--db", db)...)
		if want := "2 requests with several tokens in the first chunk: gen is up to about 8.18 % too high"; strings.Count(flat(r.out), want) != 1 {
			t.Errorf("%v: want %q once:\n%s%s", args, want, r.out, r.err)
		}
	}
}

// TestFewerRequestsBehindAColumn: n counts requests, of which one has no rate.
func TestFewerRequestsBehindAColumn(t *testing.T) {
	needsSQL(t)
	seen := 0
	db := storeOf(t, kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}, func(r *collect.Request) {
		if seen++; seen == 1 {
			r.Report.CompletionTokens = nil
		}
	}, []float64{10, 11, 12})...)
	r := tokwatt(t, "", "summary", "--db", db)
	if want := "of the 3 of code tg 512 ×1, 2 have gen"; !strings.Contains(flat(r.out), want) {
		t.Errorf("want %q:\n%s%s", want, r.out, r.err)
	}
}

// TestFewerInSeveralRows: the other rows that this holds for are counted; a row
// whose requests have all figures is none of them.
func TestFewerInSeveralRows(t *testing.T) {
	row := func(caseID, n, rates int64) analyze.Summary {
		v := 1.0
		return analyze.Summary{CaseID: caseID, TG: 32, PromptKind: "own", Concurrency: 1, Keys: map[string]string{"prompt_hash": fmt.Sprint("text ", caseID)},
			Stats: map[string]analyze.Stat{"ttft_ms": {N: n, Median: &v}, "generation_tps": {N: rates, Median: &v}}}
	}
	metrics := shownMetrics()
	for want, rows := range map[string][]analyze.Summary{
		"": {row(1, 6, 6)},
		"not every request has every figure: of the 6 of own #2 tg 32 ×1, 2 have gen":                                                    {row(1, 6, 6), row(2, 6, 2)},
		"not every request has every figure: of the 6 of own #3 tg 32 ×1, 2 have gen; fewer than n have some figure in 2 other rows too": {row(1, 6, 5), row(2, 6, 4), row(3, 6, 2), row(4, 6, 6)},
	} {
		if got := strings.Join(fewerBehind(rows, metrics), "\n"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
