//go:build cgo

package duck

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

var small = analyzetest.Options{Targets: 1, PP: []int64{8, 16}, Repeats: 3, Tokens: 2, Concurrency: []int64{1}}

// TestNamed: a statement makes what it reads, and what that is made of.
func TestNamed(t *testing.T) {
	runs := []string{"sessions", "targets", "cases", "requests", "runs"}
	for sql, want := range map[string][]string{
		"select 1":                             nil,
		"select * from RUNS":                   runs,
		`select * from "runs" r join "runs" q`: runs,
		"with a as (from batch_runs) from a":   {"sessions", "targets", "cases", "batches", "batch_runs"},
		"from goodput":                         {"sessions", "targets", "cases", "batches", "requests", "runs", "goodput"},
		"select 'from energy'":                 {"energy"},
		"select * from summary":                append(slices.DeleteFunc(tableNames(), unread), "runs", "stat_rows", "batch_figures", "batch_medians", "median_interval", "batch_intervals", "row_figures", "summary_cases", "summary"),
		"show tables":                          slices.Concat(tableNames(), viewNames()),
		"from duckdb_columns()":                slices.Concat(tableNames(), viewNames()),
	} {
		if got := named(sql); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// unread are the tables that summary is not made of.
func unread(table string) bool {
	return slices.Contains([]string{"segments", "chunks", "samples", "energy"}, table)
}

// TestNarrowed: stat_rows has the wanted sessions alone while they are read, and
// all of them afterwards, also where reading failed.
func TestNarrowed(t *testing.T) {
	root := t.TempDir()
	export(t, root, slices.Collect(analyzetest.Fleet(3, 1, small))...)
	db := open(t, Options{Roots: []string{root}})
	ids := column(t, db, "select session_id from sessions order by 1")
	const count = "select count(distinct session_id) from stat_rows"
	for _, fail := range []error{nil, errors.New("stopped")} {
		err := db.narrowed(t.Context(), SummaryFilter{Sessions: ids[:2]}, func(string) error {
			if got := column(t, db, count)[0]; got != "2" {
				t.Errorf("%s sessions in stat_rows, want 2", got)
			}
			return fail
		})
		if err != fail {
			t.Errorf("error %v, want %v", err, fail)
		}
		if got := column(t, db, count)[0]; got != "3" {
			t.Errorf("%s sessions in stat_rows afterwards, want 3", got)
		}
	}
}

// TestSummariesAreTheView: Summaries has the rows of the view summary, in its
// order and with its figures, of more sessions than are read at once.
func TestSummariesAreTheView(t *testing.T) {
	root := t.TempDir()
	export(t, root, slices.Collect(analyzetest.Fleet(narrowAtOnce+2, 1, small))...)
	db := open(t, Options{Roots: []string{root}, Threads: 1})
	got, err := db.Summaries(t.Context(), SummaryFilter{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(t.Context(), "select * from summary order by session_id, host, target_id, case_id, prefix_cache_hit nulls first")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names := columnsByName(rows.Names())
	i := 0
	for row, err := range rows.All() {
		if err != nil || i >= len(got) {
			t.Fatalf("row %d of %d: %v", i, len(got), err)
		}
		want := newSummary(names, row)
		r := record{names: names, row: row}
		want.CV, want.Stability = r.at("cv").double(), r.at("stability").text()
		for _, m := range analyze.Metrics() {
			figure := func(name string) *float64 { return r.at(m.Name + "_" + name).double() }
			want.Stats[m.Name] = analyze.Stat{N: r.at(m.Name + "_n").integer(), Median: figure("median"), Lo: figure("lo"), Hi: figure("hi"),
				Coverage: figure("coverage"), Mean: figure("mean"), SD: figure("sd"), P90: figure("p90"), P99: figure("p99")}
		}
		want.Keys["tool_version"], want.Keys["formula_version"] = got[i].Keys["tool_version"], got[i].Keys["formula_version"]
		if !reflect.DeepEqual(got[i], want) {
			t.Fatalf("row %d: %+v, want %+v", i, got[i], want)
		}
		i++
	}
	if i != len(got) || i < 2*narrowAtOnce {
		t.Errorf("%d summaries of %d rows", len(got), i)
	}
	some, err := db.Summaries(t.Context(), SummaryFilter{Cases: []int64{2}})
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.DeleteFunc(got, func(s analyze.Summary) bool { return s.CaseID != 2 }); len(want) == 0 || !reflect.DeepEqual(some, want) {
		t.Errorf("of case 2 alone: %d summaries, want %d", len(some), len(want))
	}
}

// TestAllFilesGone: where the last sessions went, the files that were listed are
// not there any more, whichever tables had some.
func TestAllFilesGone(t *testing.T) {
	root := t.TempDir()
	export(t, root, small)
	db := open(t, Options{Roots: []string{root}})
	if !db.stillThere() {
		t.Error("nothing changed")
	}
	if err := analyze.RemoveSession(t.Context(), root, small.ID()); err != nil {
		t.Fatal(err)
	}
	if db.stillThere() {
		t.Error("all are there, and there is none")
	}
	if got := column(t, db, "select count(*) from requests"); got[0] != "0" {
		t.Errorf("%s requests", got[0])
	}
}
