package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/analyze/duck"
	"tokwatt/collect"
)

// TestRepairTellsWhatIsLost: where it is done, and by the new store afterwards.
func TestRepairTellsWhatIsLost(t *testing.T) {
	recs := kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}, func(r *collect.Request) {
		if r.RequestID == 2 {
			r.Preview = "a mark to be found"
		}
	}, []float64{10, 11, 12})
	recs[1].(*collect.Segment).PlannedBatches = 3
	db, whole := storeOf(t, recs...), storeOf(t, recs...)
	file, err := os.ReadFile(db)
	if err != nil || !bytes.Contains(file, []byte("a mark")) {
		t.Fatal(err)
	}
	if err := os.WriteFile(db, bytes.ReplaceAll(file, []byte("a mark"), []byte("x mark")), 0o600); err != nil {
		t.Fatal(err)
	}
	const said = "2 of 3 batches are left, 1 lost"
	dir := t.TempDir()
	for _, args := range [][]string{{"check", "--db", db}, {"check", "--db", db, "--repair-to", filepath.Join(dir, "saved.db")}, {"show", "--db", filepath.Join(dir, "saved.db")}} {
		if r := tokwatt(t, "", args...); !strings.Contains(r.out, said) {
			t.Errorf("%q doesn't say %q: %s%s", args, said, r.out, r.err)
		}
	}
	if r := tokwatt(t, "", "list", "--db", filepath.Join(dir, "saved.db")); !strings.Contains(r.out, "interrupted") {
		t.Errorf("list: %s%s", r.out, r.err)
	}
	if duck.Available {
		const missing = "1 of 3 batches that were planned are not there"
		if r := tokwatt(t, "", "summary", "--db", filepath.Join(dir, "saved.db")); r.code != 0 || !strings.Contains(r.out, missing) {
			t.Errorf("summary: %s%s", r.out, r.err)
		}
		if r := tokwatt(t, "", "summary", "--db", whole); strings.Contains(r.out, "planned") {
			t.Errorf("summary of all: %s%s", r.out, r.err)
		}
	}
	r := tokwatt(t, "", "check", "--db", db, "--json", "--repair-to", filepath.Join(dir, "again.db"))
	var doc struct {
		Losses []struct {
			Batches int `json:"batches"`
			Lost    int `json:"lost_batches"`
		}
		Saved string `json:"saved_in"`
	}
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil || len(doc.Losses) != 1 || doc.Losses[0].Batches != 2 || doc.Losses[0].Lost != 1 || doc.Saved == "" {
		t.Errorf("%v: %s%s", err, r.out, r.err)
	}
}
