//go:build cgo

package duck

import (
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

// TestBatchRuns: batch_runs has each measured batch once, its figures as in
// batches and its keys as in runs.
func TestBatchRuns(t *testing.T) {
	root := t.TempDir()
	export(t, root, analyzetest.Options{Seed: 5, Power: true, Repeats: 3})
	db := open(t, Options{Roots: []string{root}})
	columns := func(view string) []string {
		return column(t, db, "select column_name from (describe "+view+")")
	}
	view := columns("batch_runs")
	count := func(sql string) string { return column(t, db, "select count(*) from ("+sql+")")[0] }
	if n := count("from batch_runs"); n == "0" || n != count("from batches where not warmup") {
		t.Errorf("batch_runs has %s rows, batches %s that are no warm-up", n, count("from batches where not warmup"))
	}
	for _, other := range []string{"batches where not warmup", "runs"} {
		name, _, _ := strings.Cut(other, " ")
		// These words stand for a figure of the batch here, of the target or request there.
		shared := slices.DeleteFunc(columns(name), func(c string) bool {
			own := name == "runs" && slices.Contains([]string{"power_scope", "segment", "start_ns", "end_ns", "flags"}, c)
			return own || !slices.Contains(view, c)
		})
		list := strings.Join(shared, ", ")
		if len(shared) < 30 {
			t.Errorf("%s shares %d columns with batch_runs: %s", name, len(shared), list)
		}
		if n := count("select distinct " + list + " from " + other + " except select " + list + " from batch_runs"); n != "0" {
			t.Errorf("%s rows of %s are not in batch_runs", n, other)
		}
	}
}

// TestRequestsRepeatTheirBatch holds the columns that requests repeat to those
// of batches.
func TestRequestsRepeatTheirBatch(t *testing.T) {
	root := t.TempDir()
	export(t, root, analyzetest.Options{Seed: 6, Power: true, Repeats: 20})
	db := open(t, Options{Roots: []string{root}})
	for repeated, of := range analyze.OfBatchColumns() {
		differ := column(t, db, "select count(*) filter (where r."+repeated+" is distinct from b."+of+") || ' of ' || count(r."+repeated+
			") from requests r join batches b using (host, date, session_id, batch_id)")[0]
		if !strings.HasPrefix(differ, "0 of ") || differ == "0 of 0" {
			t.Errorf("%s: %s values are not those of batches.%s", repeated, differ, of)
		}
	}
}
