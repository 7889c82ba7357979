package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze/duck"
	"tokwatt/collect"
	"tokwatt/store"
)

// TestSessionsInWhichNothingWasMeasured: the newest session is one; what asks
// for its figures says why there is none, and where there are some.
func TestSessionsInWhichNothingWasMeasured(t *testing.T) {
	recs := kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}, func(*collect.Request) {}, []float64{10, 11})
	path := storeOf(t, recs...)
	db := store.Open(path, store.Options{})
	const lost, cut = "019bc119-0000-7000-8000-000000000002", "019bc11a-0000-7000-8000-000000000003"
	for _, id := range []string{lost, cut} {
		s := *recs[0].(*collect.Session)
		s.ID = id
		end := &collect.End{At: s.StartedAt, Status: collect.StatusInterrupted}
		add := []collect.Record{&s, recs[1], recs[2], end}
		if id == lost {
			end.Status = collect.StatusFailed
			add = slices.Insert(add, 3, collect.Record(&collect.Lost{Segment: 1, Model: "m", Message: "no prompt of 32 tokens"}))
		}
		if err := db.PutAll(t.Context(), id, add); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(t.TempDir(), "archive")
	if r := tokwatt(t, "", "archive", "--db", path, "--to", archive); r.code != 0 {
		t.Fatal(r.err)
	}
	out := filepath.Join(t.TempDir(), "r.csv")
	commands := [][]string{{"export", "--format", "csv"}, {"export", "--out", out}}
	if duck.Available {
		commands = append(commands, []string{"summary"}, []string{"summary", "--json"}, []string{"summary", "--asiai"}, []string{"summary", "--goodput", "ttft=1s"})
	}
	for _, c := range commands {
		for _, s := range []struct{ id, why string }{
			{lost, "no prompt of 32 tokens"}, {cut, "interrupted before the first batch"}, {"last", "interrupted before the first batch"},
		} {
			r := tokwatt(t, "", append(slices.Clone(c), "--db", path, s.id)...)
			if r.code != exitNothing || r.out != "" || !strings.Contains(r.err, s.why) || !strings.Contains(r.err, "with figures is "+shortID(kindsID)) {
				t.Errorf("%q %s: exit %d: %s%s", c, s.id, r.code, r.out, r.err)
			}
			if c[0] == "export" {
				continue
			}
			if d := tokwatt(t, "", append(slices.Clone(c), "--dataset", archive, s.id)...); d != r {
				t.Errorf("%q %s: of an archive exit %d: %s%s, of the store %s", c, s.id, d.code, d.out, d.err, r.err)
			}
		}
		if r := tokwatt(t, "", append(slices.Clone(c), "--db", path, kindsID)...); r.code != 0 {
			t.Errorf("%q: exit %d: %s", c, r.code, r.err)
		}
		if c[0] == "summary" && len(c) == 1 {
			if r := tokwatt(t, "", "summary", "--db", path, kindsID, lost); r.code != 0 {
				t.Errorf("with one that has figures: exit %d: %s", r.code, r.err)
			}
		}
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}
