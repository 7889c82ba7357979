package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestArchiveRepairs: each run leaves the dataset as the store has it, and
// other hosts' files as they are.
func TestArchiveRepairs(t *testing.T) {
	db, to := fixture(t), filepath.Join(t.TempDir(), "archive")
	archive := func(want string) {
		t.Helper()
		if r := tokwatt(t, "", "archive", "--db", db, "--to", to); r.code != 0 || strings.TrimSpace(r.out) != want {
			t.Errorf("exit %d: %s%s, want %s", r.code, r.out, r.err, want)
		}
	}
	sound := func(code int, say string) {
		t.Helper()
		r := tokwatt(t, "", "check", to)
		if r.code != code || !strings.Contains(r.out, say) {
			t.Errorf("check: exit %d, want %d, with %q in: %s%s", r.code, code, say, r.out, r.err)
		}
	}
	archive("2 sessions written to " + to + ", 0 already there")
	archive("0 sessions written to " + to + ", 2 already there")
	sound(0, "nothing is damaged")
	files := parquetFiles(t, to)
	other := filepath.Join(filepath.Dir(files[0]), "other-host.parquet")
	copyFile(t, files[len(files)-1], other)

	for name, harm := range map[string]func(path string){
		"lost":      func(path string) { os.Remove(path) },
		"cut":       func(path string) { os.Truncate(path, 60) },
		"empty":     func(path string) { os.WriteFile(path, nil, 0o644) },
		"scrambled": func(path string) { scramble(t, path, 200); os.Chtimes(path, inAnHour(), inAnHour()) },
	} {
		for _, f := range []string{files[0], files[5], files[len(files)-2]} {
			harm(f)
			rel, _ := filepath.Rel(to, f)
			sound(exitStore, "damaged: "+rel)
			archive("0 sessions written to " + to + ", 1 already there, 1 repaired")
			if _, err := os.Stat(other); err != nil {
				t.Errorf("%s %s: the file of another host is gone", name, rel)
			}
		}
	}
	archive("0 sessions written to " + to + ", 2 already there")
	os.Remove(other)
	sound(0, "nothing is damaged")
	os.RemoveAll(filepath.Join(to, ".sessions"))
	sound(0, "other writers")
	archive("0 sessions written to " + to + ", 0 already there, 2 repaired")
}

// TestDamagedDatasetIsNamed: SQL over an archive has nothing to mend it with.
func TestDamagedDatasetIsNamed(t *testing.T) {
	needsSQL(t)
	db, to := fixture(t), filepath.Join(t.TempDir(), "archive")
	tokwatt(t, "", "archive", "--db", db, "--to", to)
	f := parquetFiles(t, to)[0]
	scramble(t, f, 300)
	rel, _ := filepath.Rel(to, f)
	r := tokwatt(t, "", "query", "--dataset", to, "select * from batches order by all")
	if r.code != exitStore || !strings.Contains(r.err, rel) || !strings.Contains(r.err, "tokwatt check") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := tokwatt(t, "", "check", to, "--json"); r.code != exitStore || !strings.Contains(r.out, rel) {
		t.Errorf("check: exit %d: %s%s", r.code, r.out, r.err)
	}
}

func TestWrongDatasetFolders(t *testing.T) {
	needsSQL(t)
	wrong := t.TempDir()
	for _, args := range [][]string{
		{"query", "--dataset", wrong, "select 1"}, {"summary", "--dataset", wrong}, {"check", wrong},
		{"query", "--dataset", wrong + "/none", "select 1"}, {"check", wrong + "/none"}, {"check", wrong, wrong},
		{"check", wrong, "--repair-to", "x"},
	} {
		r := tokwatt(t, "", args...)
		if r.code != exitUsage || !strings.HasPrefix(r.err, "tokwatt: ") || r.out != "" {
			t.Errorf("%q: exit %d: %s%s", args, r.code, r.out, r.err)
		}
	}
}

// TestAddressesAreNoFolders: nothing is made by the name of an address.
func TestAddressesAreNoFolders(t *testing.T) {
	db, dir := fixture(t), t.TempDir()
	t.Chdir(dir)
	const secret = "s3://me:geheim@bench/data?key=geheim"
	for _, args := range [][]string{
		{"archive", "--db", db, "--to", secret}, {"archive", "compact", secret}, {"check", secret},
		{"check", "--db", db, "--repair-to", secret}, {"list", "--db", secret}, {"archive", "--db", secret, "--to", "x"},
		{"export", "--db", db, "--format", "csv", "--out", secret},
	} {
		r := tokwatt(t, "", args...)
		if r.code != exitUsage || !strings.Contains(r.err, "s3://bench/data: ") || strings.Contains(r.err, "geheim") || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%q: exit %d: %s%s", args, r.code, r.out, r.err)
		}
	}
	if made, _ := os.ReadDir("."); len(made) > 0 {
		t.Errorf("made: %v", made)
	}
	if r := tokwatt(t, "", "archive", "--db", db, "--to", "./s3://x"); r.code != 0 {
		t.Errorf("a folder of such a name: exit %d: %s", r.code, r.err)
	}
}

// TestFolderThatCannotBeMade is said once, not once a table.
func TestFolderThatCannotBeMade(t *testing.T) {
	to := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := tokwatt(t, "", "archive", "--db", fixture(t), "--to", to+"/x")
	if r.code == 0 || strings.Count(r.err, "\n") != 1 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

// TestArchiveGoesOn: one session that can't be written does not keep the others
// from it; nor is it half there.
func TestArchiveGoesOn(t *testing.T) {
	needsSQL(t)
	g, root := growingStore(t, 3), filepath.Join(t.TempDir(), "d")
	inTheWay := filepath.Join(root, "table=batches", "host=mac", "date=2026-07-01", g.id(1)+".parquet")
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := tokwatt(t, "", "archive", "--db", g.path, "--to", root)
	if r.code == 0 || !strings.HasPrefix(r.out, "2 sessions written") || !strings.Contains(r.err, g.id(1)) || strings.Count(r.err, "\n") != 1 {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	if have := g.held("without one", root); len(have) != 2 || have[g.id(1)] != 0 {
		t.Errorf("%v", have)
	}
	tokwatt(t, "", "archive", "--db", g.path, "--to", root)
	g.whole("with it", root)
}

// TestMissingFilesAreSaid: what is left of a dataset can be asked, and what is
// not is said.
func TestMissingFilesAreSaid(t *testing.T) {
	needsSQL(t)
	g, root := growingStore(t, 3), filepath.Join(t.TempDir(), "d")
	tokwatt(t, "", "archive", "--db", g.path, "--to", root)
	if err := os.Remove(filepath.Join(root, "table=requests", "host=mac", "date=2026-07-01", g.id(1)+".parquet")); err != nil {
		t.Fatal(err)
	}
	r := tokwatt(t, "", "query", "--dataset", root, "--format", "csv", "select count(*) as n from requests")
	if r.code != 0 || r.out != "n\n6\n" || !strings.Contains(r.err, "lacks 1 file") || !strings.Contains(r.err, "tokwatt check "+root) {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	r = tokwatt(t, "", "summary", "--dataset", root, g.id(1))
	if r.code != exitStore || !strings.Contains(r.err, g.id(1)+".parquet: it is missing") {
		t.Errorf("of the session itself: exit %d: %s%s", r.code, r.out, r.err)
	}
}
