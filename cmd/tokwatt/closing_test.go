package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
	"tokwatt/store"
)

// generated is a store with the session that the options make.
func generated(t *testing.T, o analyzetest.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	db := store.Open(path, store.Options{})
	for rec, err := range analyzetest.Records(o) {
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Put(t.Context(), o.ID(), rec); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// sharedFigures are the names that show --json and summary both have of a case.
var sharedFigures = []string{"model_id", "pp", "depth", "tg", "concurrency", "prompt_kind", "prefix_cache_hit", "n_batches",
	"prompt_tps_median", "generation_tps_median", "tok_per_sec_median", "mixed_tps_median", "agg_wall_tps_median", "ttft_ms_median", "itl_p50_ms_median", "j_per_output_token_median"}

// sameFigures fails where show says something else of a case than summary, and
// returns the rows of both.
func sameFigures(t *testing.T, db string) (shown, summary []map[string]any) {
	t.Helper()
	var doc struct {
		Cases []map[string]any `json:"cases"`
	}
	if out := tokwatt(t, "", "show", "--json", "--db", db); json.Unmarshal([]byte(out.out), &doc) != nil {
		t.Fatal(out)
	}
	if out := tokwatt(t, "", "summary", "--json", "--db", db); json.Unmarshal([]byte(out.out), &summary) != nil {
		t.Fatal(out)
	}
	if len(doc.Cases) != len(summary) {
		t.Fatalf("show has %d rows, summary %d", len(doc.Cases), len(summary))
	}
	for i, k := range doc.Cases {
		for _, name := range sharedFigures {
			if got, want := fmt.Sprint(k[name]), fmt.Sprint(summary[i][name]); got != want {
				t.Errorf("row %d (pp %v, ×%v, %v): %s is %s in show and %s in summary", i, k["pp"], k["concurrency"], k["prefix_cache_hit"], name, got, want)
			}
		}
	}
	return doc.Cases, summary
}

// TestShowIsSummary: the two compute the same figures, one without a database.
// The sessions have cold and prefix cases, hits of several kinds within a batch
// and across batches, streams beside each other, faults and energy.
func TestShowIsSummary(t *testing.T) {
	needsSQL(t)
	kinds, several := map[string]bool{}, 0
	for seed := range uint64(6) {
		o := analyzetest.Options{Seed: seed, Power: seed%2 == 0, Unfinished: seed == 5, Repeats: 1 + int(seed), Concurrency: []int64{1, 2, 4}}
		shown, summary := sameFigures(t, generated(t, o))
		for i, k := range shown {
			kinds[fmt.Sprint(k["prefix_cache_hit"])] = true
			if i > 0 && summary[i]["case_id"] == summary[i-1]["case_id"] && k["agg_wall_tps_median"] != shown[i-1]["agg_wall_tps_median"] {
				several++
			}
		}
	}
	if len(kinds) < 4 || several < 5 {
		t.Errorf("the sessions have the hits %v alone, and %d pairs with figures of their own: the test says nothing", kinds, several)
	}
}

// TestShowIsSummaryOfRareSessions: no count of tokens, a cache that nobody
// knows of, an import, and nothing but failures.
func TestShowIsSummaryOfRareSessions(t *testing.T) {
	needsSQL(t)
	target := collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}
	run := 0
	for name, change := range map[string]func(*collect.Request){
		"unknown cache": func(*collect.Request) {},
		"one estimate": func(r *collect.Request) {
			if run++; run == 2 {
				r.Report.CompletionTokens = nil
			}
		},
		"some hits, some unknown": func(r *collect.Request) {
			if run++; run%2 == 0 {
				r.Report.CachedTokens = r.Report.PromptTokens
			}
		},
		"nothing but failures": func(r *collect.Request) { r.Failure = collect.Failf(collect.ErrReset, "gone") },
	} {
		t.Run(name, func(t *testing.T) {
			run = 0
			sameFigures(t, storeOf(t, kindsOf(target, change, []float64{10, 11, 12}, []float64{20, 22})...))
		})
	}
	t.Run("import", func(t *testing.T) {
		t.Chdir(t.TempDir())
		importable(t)
		db := filepath.Join(t.TempDir(), "t.db")
		if r := tokwatt(t, "", "import", "--db", db, "bench.txt"); r.code != 0 {
			t.Fatal(r.err)
		}
		sameFigures(t, db)
	})
}

// TestClosingHasTheColumnsOfSummary: the same figures in the same order, named
// alike, of streams alone and beside each other; n and what each has of its own
// stand behind them.
func TestClosingHasTheColumnsOfSummary(t *testing.T) {
	needsSQL(t)
	for _, streams := range [][]int64{{1}, {1, 4}, {4}} {
		db := generated(t, analyzetest.Options{Seed: 4, Targets: 1, Repeats: 2, PP: []int64{128}, Concurrency: streams, Clean: true})
		show, summary := heads(t, db, "show"), heads(t, db, "summary")
		if want := strings.TrimSuffix(summary, " CV") + " failed"; show != want {
			t.Errorf("×%v: show has %q, summary %q", streams, show, summary)
		}
		if beside := slices.Contains(streams, 4); strings.Contains(show, "all") != beside || strings.Contains(show, "ITL") == beside {
			t.Errorf("×%v: %q", streams, show)
		}
	}
}

// heads is the first line of the only table that a command prints.
func heads(t *testing.T, db, command string) string {
	t.Helper()
	r := tokwatt(t, "", command, "--db", db)
	for line := range strings.SplitSeq(r.out, "\n") {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "pp" {
			return strings.Join(words, " ")
		}
	}
	t.Fatalf("no table:\n%s%s", r.out, r.err)
	return ""
}
