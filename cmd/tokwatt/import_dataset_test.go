package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/store"
)

// TestImportDataset: a store that was filled from an archive gives the same
// archive to the byte, and takes nothing of it twice. It needs no SQL.
func TestImportDataset(t *testing.T) {
	dir := t.TempDir()
	old, first, second := fixture(t), filepath.Join(dir, "first"), filepath.Join(dir, "second")
	empty := filepath.Join(dir, "t.db")
	say := func(want string, args ...string) {
		t.Helper()
		if got := tokwatt(t, "", args...); got.code != 0 || !strings.Contains(got.out, want) {
			t.Fatalf("%v: exit %d: %s%s, want %s", args, got.code, got.out, got.err, want)
		}
	}
	say("2 sessions written", "archive", "--db", old, "--to", first)
	files := filesOf(t, first)
	say("", "archive", "compact", first)
	say("dataset of tokwatt, ", "import", "--db", empty, first)
	say("2 sessions already there", "import", "--db", empty, first)
	say("2 sessions written", "archive", "--db", empty, "--to", second)
	say("first: 2 sessions already there", "import", "--db", old, first)
	again := filesOf(t, second)
	if len(files) != 2*len(analyze.Tables()) || len(again) != len(files) {
		t.Errorf("%d files, want %d", len(again), len(files))
	}
	for path, content := range files {
		if again[path] != content {
			t.Errorf("%s differs", path)
		}
	}
}

// filesOf are the files of a dataset's tables, by their paths.
func filesOf(t *testing.T, root string) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "table=*", "*", "*", "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, path := range found {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(root, path)
		out[rel] = string(content)
	}
	return out
}

// TestImportDamagedDataset: a session of which a file is damaged or missing is
// named and left out, and the other goes in.
func TestImportDamagedDataset(t *testing.T) {
	to := filepath.Join(t.TempDir(), "archive")
	tokwatt(t, "", "archive", "--db", fixture(t), "--to", to)
	for name, harm := range map[string]func(string) error{
		"missing": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 90) },
	} {
		for _, of := range []string{"chunks", "sessions"} {
			path, err := filepath.Glob(filepath.Join(to, "table="+of, "host=007", "*", "*.parquet"))
			if err != nil || len(path) != 1 {
				t.Fatal(path, err)
			}
			whole, _ := os.ReadFile(path[0])
			if err := harm(path[0]); err != nil {
				t.Fatal(err)
			}
			db := filepath.Join(t.TempDir(), "t.db")
			got := tokwatt(t, "", "import", "--json", "--db", db, to)
			var sum struct{ Files []importedFile }
			if err := json.Unmarshal([]byte(got.out), &sum); err != nil {
				t.Fatal(err, got.out)
			}
			f := sum.Files[0]
			bad := strings.TrimSuffix(filepath.Base(path[0]), ".parquet")
			if got.code != 1 || len(f.Sessions) != 1 || f.Sessions[0] == bad || f.Bad != 1 || !strings.Contains(f.BadRows[0].Where, shortID(bad)) {
				t.Errorf("%s %s: exit %d: %s", of, name, got.code, got.out)
			}
			if all, err := store.Open(db, store.Options{}).Sessions(t.Context()); err != nil || len(all) != 1 {
				t.Errorf("%v %v", all, err)
			}
			if err := os.WriteFile(path[0], whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestImportGrownDataset: a session that went on elsewhere is taken anew.
func TestImportGrownDataset(t *testing.T) {
	o := analyzetest.Options{Seed: 3, Unfinished: true}
	fill := func(most int) string {
		path := filepath.Join(t.TempDir(), "t.db")
		db := store.Open(path, store.Options{})
		for rec := range analyzetest.Records(o) {
			if most--; most < 0 {
				break
			}
			if err := db.Put(t.Context(), o.ID(), rec); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	to := filepath.Join(t.TempDir(), "archive")
	whole, part := fill(1000), fill(12)
	tokwatt(t, "", "archive", "--db", whole, "--to", to)
	for _, want := range []string{"dataset of tokwatt, ", "1 session already there"} {
		if got := tokwatt(t, "", "import", "--db", part, to); got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("exit %d: %s%s, want %s", got.code, got.out, got.err, want)
		}
	}
	a, _ := store.Open(whole, store.Options{}).Sessions(t.Context())
	b, _ := store.Open(part, store.Options{}).Sessions(t.Context())
	if len(b) != 1 || a[0].Requests != b[0].Requests || b[0].End != nil {
		t.Errorf("%+v, want %+v", b, a)
	}
}
