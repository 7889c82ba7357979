//go:build cgo

package duck

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

// TestSummaryAgainstGo computes every summary of a small fleet from the rows
// that analyze.Derive makes, in Go and in memory, and compares it with what
// came through Parquet and SQL.
func TestSummaryAgainstGo(t *testing.T) {
	root := t.TempDir()
	var want []analyze.Summary
	o := analyzetest.Options{Targets: 4, PP: []int64{128, 512}, Repeats: 7, Tokens: 6}
	for s := range analyzetest.Fleet(5, 2, o) {
		export(t, root, s)
		want = append(want, summarize(t, s)...)
	}
	slices.SortFunc(want, func(a, b analyze.Summary) int {
		return cmp.Or(cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.TargetID, b.TargetID),
			cmp.Compare(a.CaseID, b.CaseID), cmp.Compare(a.PrefixCacheHit, b.PrefixCacheHit))
	})
	db := open(t, Options{Roots: []string{root}})
	got, err := db.Summaries(t.Context(), SummaryFilter{Points: true})
	if err != nil {
		t.Fatal(err)
	}
	compareSummaries(t, got, want)
	if n := slices.IndexFunc(want, func(s analyze.Summary) bool { return s.PrefixCacheHit == "partial" }); n < 0 {
		t.Error("no prefix case among the data: the test shows less than it should")
	}
	one, err := db.Summaries(t.Context(), SummaryFilter{Sessions: []string{want[0].SessionID, "no-such-id"}, Points: true})
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(want, func(s analyze.Summary) bool { return s.SessionID != want[0].SessionID })
	compareSummaries(t, one, want[:n])
}

func compareSummaries(t *testing.T, got, want []analyze.Summary) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d summaries, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		id := fmt.Sprintf("session %s target %d case %d hit %q", w.SessionID, w.TargetID, w.CaseID, w.PrefixCacheHit)
		for _, m := range analyze.Metrics() {
			compareStats(t, id+" "+m.Name, g.Stats[m.Name], w.Stats[m.Name])
		}
		if !near(g.CV, w.CV) {
			t.Errorf("%s: cv %s, want %s", id, show(g.CV), show(w.CV))
		}
		if !nearInt(g.PP, w.PP) {
			t.Errorf("%s: pp %v, want %v", id, g.PP, w.PP)
		}
		g.Stats, g.CV, g.PP, w.Stats, w.CV, w.PP = nil, nil, nil, nil, nil, nil
		g.Keys, w.Keys = nil, nil // see TestKeys
		if fmt.Sprint(g) != fmt.Sprint(w) {
			t.Errorf("%s:\n got %+v\nwant %+v", id, g, w)
		}
		if t.Failed() {
			return
		}
	}
}

func compareStats(t *testing.T, id string, got, want analyze.Stat) {
	t.Helper()
	if got.N != want.N {
		t.Errorf("%s: n %d, want %d", id, got.N, want.N)
	}
	for _, f := range []struct {
		name      string
		got, want *float64
	}{
		{"median", got.Median, want.Median}, {"lo", got.Lo, want.Lo}, {"hi", got.Hi, want.Hi}, {"coverage", got.Coverage, want.Coverage},
		{"mean", got.Mean, want.Mean}, {"sd", got.SD, want.SD}, {"p90", got.P90, want.P90}, {"p99", got.P99, want.P99},
	} {
		if !near(f.got, f.want) {
			t.Errorf("%s: %s %s, want %s", id, f.name, show(f.got), show(f.want))
		}
	}
	if !slices.EqualFunc(got.Points, want.Points, func(a, b float64) bool { return near(&a, &b) }) {
		t.Errorf("%s: points %v, want %v", id, got.Points, want.Points)
	}
}

// near allows for the order in which threads add up.
func near(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) <= 1e-9*max(1e-3, math.Abs(*b))
}

func nearInt(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

func show(x *float64) string {
	if x == nil {
		return "NULL"
	}
	return fmt.Sprint(*x)
}
