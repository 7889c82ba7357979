package analyze_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

func check(t *testing.T, root string) analyze.DatasetReport {
	t.Helper()
	r, err := analyze.CheckDataset(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheckFindsDamage(t *testing.T) {
	for name, harm := range damages {
		root := t.TempDir()
		var done analyze.Exported
		for o := range analyzetest.Fleet(2, 1, small) {
			done = export(t, analyzetest.Records(o), root)
		}
		if r := check(t, root); !r.OK() || r.Sessions != 2 || r.Files != 2*len(analyze.Tables()) || r.Foreign != 0 || r.Rows == 0 {
			t.Fatalf("of a good dataset: %+v", r)
		}
		if err := harm(filepath.Join(root, done.Files[3])); err != nil {
			t.Fatal(err)
		}
		r := check(t, root)
		if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Error(), done.Files[3]) || len(r.Damaged) != 1 || r.Damaged[0] != done.SessionID {
			t.Errorf("%s: %v, %q", name, r.Problems, r.Damaged)
		}
	}
}

// TestCheckOfOtherWriters: without a manifest, what can be read is good.
func TestCheckOfOtherWriters(t *testing.T) {
	for name, harm := range damages {
		root := t.TempDir()
		done := export(t, analyzetest.Records(small), root)
		if err := os.RemoveAll(filepath.Join(root, ".sessions")); err != nil {
			t.Fatal(err)
		}
		if r := check(t, root); !r.OK() || r.Foreign != len(analyze.Tables()) {
			t.Fatalf("of a good dataset: %+v", r)
		}
		if name == "removed" || name == "a folder" || name == "a link" {
			continue // nobody can know, or it is good
		}
		if err := harm(filepath.Join(root, done.Files[5])); err != nil {
			t.Fatal(err)
		}
		if r := check(t, root); len(r.Problems) != 1 && name != "flipped" {
			t.Errorf("%s: %v", name, r.Problems)
		}
	}
}

func TestCheckFindsCopies(t *testing.T) {
	root := t.TempDir()
	done := export(t, analyzetest.Records(small), root)
	from := filepath.Join(root, done.Files[2])
	for _, name := range []string{"0-before.parquet", "zz-behind.parquet"} {
		b, err := os.ReadFile(from)
		to := filepath.Join(filepath.Dir(from), name)
		if err := errors.Join(err, os.WriteFile(to, b, 0o644)); err != nil {
			t.Fatal(err)
		}
		r := check(t, root)
		if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Error(), name+": it has the session of "+done.Files[2]) {
			t.Errorf("%s: %v", name, r.Problems)
		}
		if err := os.Remove(to); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckNeverPanics flips bytes all over a file, with nothing but the
// reader to find it.
func TestCheckNeverPanics(t *testing.T) {
	root := t.TempDir()
	done := export(t, records(session("h")), root)
	if err := os.RemoveAll(filepath.Join(root, ".sessions")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, done.Files[0])
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := 0; i < len(whole); i += 41 {
		b := append([]byte(nil), whole...)
		b[i] ^= 0xff
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if !check(t, root).OK() {
			found++
		}
	}
	if found < len(whole)/410 {
		t.Errorf("only %d flips of %d were seen", found, len(whole)/41)
	}
}

func TestIsDataset(t *testing.T) {
	root := t.TempDir()
	if err := analyze.IsDataset(root); err == nil || !strings.Contains(err.Error(), "table=") {
		t.Errorf("an empty folder: %v", err)
	}
	export(t, analyzetest.Records(small), root)
	if err := analyze.IsDataset(root); err != nil {
		t.Error(err)
	}
}
