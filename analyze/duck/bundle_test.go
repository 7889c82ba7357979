//go:build cgo

package duck

import (
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

// TestBundled: of a dataset with bundles every answer is that of the same
// dataset without, also where some sessions came later, hosts are numbers and
// names with spaces.
func TestBundled(t *testing.T) {
	fleet := slices.Collect(analyzetest.Fleet(12, 4, small))
	fleet[7].Host = "Mac Mini, 2nd"
	plain, with := t.TempDir(), t.TempDir()
	export(t, plain, fleet...)
	export(t, with, fleet[:40]...)
	if err := analyze.Bundle(t.Context(), with, false); err != nil {
		t.Fatal(err)
	}
	export(t, with, fleet[40:]...)
	files, _, err := analyze.DatasetFiles(with)
	if err != nil || !slices.ContainsFunc(files, func(f analyze.DatasetFile) bool { return f.Bundled }) {
		t.Fatalf("no bundle among %d files, %v", len(files), err)
	}
	a, b := open(t, Options{Roots: []string{plain}, Threads: 1}), open(t, Options{Roots: []string{with}, Threads: 1})
	for _, relation := range []string{"sessions", "segments", "targets", "cases", "runs", "batch_runs", "summary_cases",
		"runs where host = '007'", "runs where host > 'M' and date = '2026-01-16'"} {
		sql := "select * from " + relation + " order by all"
		if x, y := asCSV(t, a, sql), asCSV(t, b, sql); len(x) < 2 || !slices.EqualFunc(x, y, slices.Equal[[]string]) {
			t.Errorf("%s: %d rows with bundles, %d without, or others", relation, len(y)-1, len(x)-1)
		}
	}
	describe := func(db *DB) string {
		return strings.Join(column(t, db, "select column_name || ' ' || column_type from (describe cases)"), "\n")
	}
	if describe(a) != describe(b) {
		t.Errorf("columns with bundles:\n%s\nwithout:\n%s", describe(b), describe(a))
	}
}
