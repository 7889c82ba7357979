package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
	"tokwatt/store"
)

// archivedFixture is a store with sessions of two hosts, one of a process that
// died, one that was resumed in vain and an imported one that is the newest though its
// start is not known; and its dataset.
func archivedFixture(t *testing.T) (db, dataset string) {
	t.Helper()
	db, dataset = copied(t, fixture(t)), filepath.Join(t.TempDir(), "d")
	s := store.Open(db, store.Options{})
	add := func(id string, recs ...collect.Record) {
		for _, rec := range recs {
			if err := s.Put(t.Context(), id, rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	dead := analyzetest.Options{Seed: 3, Unfinished: true, Host: "mac-2", Targets: 2}
	for rec, err := range analyzetest.Records(dead) {
		if segment, ok := rec.(*collect.Segment); ok {
			segment.BootID = "an earlier boot"
		}
		if err != nil {
			t.Fatal(err)
		}
		add(dead.ID(), rec)
	}
	recs := kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}, func(*collect.Request) {}, []float64{10, 11})
	recs[1].(*collect.Segment).PlannedBatches = 4
	recs[0].(*collect.Session).Note, recs[0].(*collect.Session).Tags = "a note", []string{"x", "y"}
	recs[len(recs)-1].(*collect.End).NotRun = 2
	add(kindsID, recs...)
	at := recs[0].(*collect.Session).StartedAt
	add(kindsID, &collect.Segment{Segment: 2, StartedAt: at, PlannedBatches: 2}, &collect.End{At: at, Status: collect.StatusInterrupted, NotRun: 2})
	importable(t)
	for _, args := range [][]string{{"import", "--host", "mini", "bench.txt"}, {"archive", "--to", dataset}} {
		if got := tokwatt(t, "", append(args, "--db", db)...); got.code != 0 {
			t.Fatal(got.err)
		}
	}
	return db, dataset
}

// TestListDataset: an archive's list is the store's.
func TestListDataset(t *testing.T) {
	needsSQL(t)
	t.Chdir(t.TempDir())
	db, dataset := archivedFixture(t)
	for _, args := range []string{"list", "list --last 2", "list --tag y", "list --tag nobody"} {
		want := tokwatt(t, "", append(strings.Fields(args), "--db", db)...)
		got := tokwatt(t, "", append(strings.Fields(args), "--dataset", dataset)...)
		if got != want || want.code != 0 {
			t.Errorf("%s: exit %d\n%s%s\nwant %d\n%s%s", args, got.code, got.out, got.err, want.code, want.out, want.err)
		}
	}
	t.Setenv("COLUMNS", "120")
	list := tokwatt(t, "", "list", "--dataset", dataset).out
	for _, want := range []string{"unfinished", "2/4", "host", "mini", "demo-1b +1", "#x #y a note", "llama-bench"} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is missing:\n%s", want, list)
		}
	}
	if got := tokwatt(t, "", "list", "--dataset", "none"); got.code != exitUsage || !strings.Contains(got.err, "--dataset none: there is no such folder") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

// TestListDatasetJSON: of every field, times to the microsecond.
func TestListDatasetJSON(t *testing.T) {
	needsSQL(t)
	t.Chdir(t.TempDir())
	db, dataset := archivedFixture(t)
	want, got := tokwatt(t, "", "list", "--json", "--db", db), tokwatt(t, "", "list", "--json", "--dataset", dataset)
	digits := regexp.MustCompile(`(\.\d{6})\d*Z"`)
	if stored := digits.ReplaceAllString(want.out, `${1}Z"`); got.out != stored || len(stored) < 1000 {
		t.Errorf("%s%s\nwant %s", got.out, got.err, stored)
	}
}

// TestShowDataset: an archive's session is the store's, in so far as tables
// have it, and last is the same.
func TestShowDataset(t *testing.T) {
	t.Chdir(t.TempDir())
	db, dataset := archivedFixture(t)
	for _, id := range []string{"last", "last~1", "last~2", "last~3", "last~4", strings.ToUpper(kindsID[:13]), strings.ReplaceAll(kindsID, "-", "")} {
		var a, b shown
		for flag, s := range map[string]*shown{"--db=" + db: &a, "--dataset=" + dataset: &b} {
			got := tokwatt(t, "", "show", "--json", flag, id)
			if err := json.Unmarshal([]byte(got.out), s); err != nil || got.code != 0 {
				t.Fatalf("%s %s: exit %d, %v: %s", flag, id, got.code, err, got.err)
			}
		}
		for name, of := range map[string]func(*shown) any{
			"id": func(s *shown) any { return s.Session.ID }, "cases": func(s *shown) any { return s.Cases }, "flags": func(s *shown) any { return s.Flags },
			"failures": func(s *shown) any { return s.Failures }, "end": func(s *shown) any { return s.End == nil || s.End.NotRun == 0 },
			"targets": func(s *shown) any { return len(s.Targets) }, "damaged": func(s *shown) any { return s.Damaged },
		} {
			want, _ := json.Marshal(of(&a))
			if got, _ := json.Marshal(of(&b)); string(got) != string(want) {
				t.Errorf("%s of %s: %s, want %s", name, id, got, want)
			}
		}
		if len(b.Lost) > 0 {
			t.Error("nothing was lost")
		}
	}
	want, got := tokwatt(t, "", "show", kindsID, "--db", db).out, tokwatt(t, "", "show", kindsID, "--dataset", dataset).out
	if got != want || !strings.Contains(got, "not run   2 batches") {
		t.Errorf("%s\nwant %s", got, want)
	}
	for args, want := range map[string]string{
		"show --dataset d last~9": "there is no last~9 among 5 sessions", "show --dataset none": "no such folder", "show --dataset d a b": "takes one session",
	} {
		r := tokwatt(t, "", strings.Fields(strings.ReplaceAll(args, " d ", " "+dataset+" "))...)
		if r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit %d: %s", args, r.code, r.err)
		}
	}
}
