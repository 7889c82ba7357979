package analyze_test

import (
	"path/filepath"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

func TestDatasetKnowsItsSessions(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a[b]*") // characters that are patterns elsewhere
	if ids, err := analyze.SessionsIn(root); err != nil || len(ids) > 0 {
		t.Errorf("of no dataset: %q, %v", ids, err)
	}
	var want []string
	small := analyzetest.Options{Targets: 1, PP: []int64{64}, Concurrency: []int64{1}, Repeats: 1}
	for o := range analyzetest.Fleet(5, 2, small) {
		export(t, analyzetest.Records(o), root)
		want = append(want, o.ID())
	}
	same := func() {
		t.Helper()
		ids, err := analyze.SessionsIn(root)
		slices.Sort(ids)
		slices.Sort(want)
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("%d sessions, want %d (%v)", len(ids), len(want), err)
		}
	}
	same()
	if err := analyze.RemoveSession(t.Context(), root, want[3]); err != nil {
		t.Fatal(err)
	}
	want = slices.Delete(want, 3, 4)
	same()
	if got := files(t, root); len(got) != len(want)*len(analyze.Tables()) {
		t.Errorf("%d files for %d sessions", len(got), len(want))
	}
}
