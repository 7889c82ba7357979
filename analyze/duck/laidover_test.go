//go:build cgo

package duck

import (
	"os"
	"path/filepath"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

// TestLaidOver: of a merged file that has rows of a session whose manifest, since
// a dataset was laid over this one, names others, these rows are not taken.
func TestLaidOver(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	small := analyzetest.Options{Targets: 1, PP: []int64{64}, Concurrency: []int64{1}, Repeats: 1}
	var last analyzetest.Options
	for o := range analyzetest.Fleet(4, 1, small) { // one host, several sessions
		o.Host = "mac"
		export(t, root, o)
		last = o
	}
	const sql = "select (select count(*) from sessions) || ' ' || (select count(*) from requests) || ' ' || (select count(*) from chunks)"
	want := column(t, open(t, Options{Roots: []string{root}}), sql)[0]
	export(t, other, last)
	if done, err := analyze.Compact(t.Context(), root, analyze.CompactOptions{}); err != nil || done.Sessions == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := column(t, open(t, Options{Roots: []string{root}}), sql)[0]; got != want {
		t.Fatalf("merged: %s, want %s", got, want)
	}
	for _, name := range []string{".sessions", "table=*/*/*"} {
		found, err := filepath.Glob(filepath.Join(other, name, "*[0-9a-f].*"))
		if err != nil || len(found) == 0 {
			t.Fatal(name, err)
		}
		for _, from := range found {
			rel, err := filepath.Rel(other, from)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, rel), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := column(t, open(t, Options{Roots: []string{root}}), sql)[0]; got != want {
		t.Errorf("laid over: %s, want %s", got, want)
	}
	if got := column(t, open(t, Options{Roots: []string{root}, Sessions: []string{last.ID()}}), "select count(*) from sessions")[0]; got != "1" {
		t.Errorf("of the session alone: %s", got)
	}
}
