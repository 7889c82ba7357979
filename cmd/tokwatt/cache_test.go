package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
	"tokwatt/store"
)

// parquetFiles are the files of a dataset, sorted by table.
func parquetFiles(t *testing.T, root string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "table=*", "*", "*", "*.parquet"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no files in %s (%v)", root, err)
	}
	return found
}

func cacheOf(t *testing.T, db string) string {
	t.Helper()
	found, err := filepath.Glob(db + ".dataset/*")
	if err != nil || len(found) != 1 {
		t.Fatalf("caches %q, %v", found, err)
	}
	return found[0]
}

// countAll reads every column of every table.
const countAll = `select (select count(*) from (select * from sessions order by all)) as a, (select count(*) from (select * from segments order by all)) as b,
	(select count(*) from (select * from targets order by all)) as c, (select count(*) from (select * from cases order by all)) as d,
	(select count(*) from (select * from batches order by all)) as e, (select count(*) from (select * from requests order by all)) as f,
	(select count(*) from (select * from chunks order by all)) as g, (select sum(hash(r)) from requests r) as h, (select sum(hash(r)) from chunks r) as i`

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err := errors.Join(err, os.WriteFile(to, b, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// scramble changes n bytes before the last few, and leaves size and time.
func scramble(t *testing.T, path string, n int) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) - 10 - n; i < len(b)-10; i++ {
		b[i] ^= 0x55
	}
	if err := errors.Join(os.WriteFile(path, b, 0o644), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
}

// TestCacheIsAsTheStore: whatever happens to the folder beside a store, the
// answers are those of the store.
func TestCacheIsAsTheStore(t *testing.T) {
	needsSQL(t)
	db := fixture(t)
	want := fmt.Sprint(rows(t, db, countAll))
	root := cacheOf(t, db)
	foreign := fixtureOf(t, analyzetest.Options{Seed: 99})
	rows(t, foreign, "select 1 as x")
	stray := parquetFiles(t, cacheOf(t, foreign))

	files := parquetFiles(t, root)
	table := func(name string) string {
		for _, f := range files {
			if strings.Contains(f, "table="+name+"/") {
				return f
			}
		}
		t.Fatalf("no table %s", name)
		return ""
	}
	for name, harm := range map[string]func(){
		"requests lost":      func() { os.Remove(table("requests")) },
		"sessions lost":      func() { os.Remove(table("sessions")) },
		"chunks empty":       func() { os.WriteFile(table("chunks"), nil, 0o644) },
		"batches cut":        func() { os.Truncate(table("batches"), 100) },
		"targets garbage":    func() { os.WriteFile(table("targets"), []byte("garbage"), 0o644) },
		"requests scrambled": func() { scramble(t, table("requests"), 300) },
		"sessions scrambled": func() { scramble(t, table("sessions"), 300) },
		"a copy":             func() { copyFile(t, table("requests"), filepath.Join(filepath.Dir(table("requests")), "copy.parquet")) },
		"a foreign session":  func() { copyFile(t, stray[0], filepath.Join(filepath.Dir(table("batches")), filepath.Base(stray[0]))) },
		"manifests lost":     func() { os.RemoveAll(filepath.Join(root, ".sessions")) },
		"all lost":           func() { os.RemoveAll(root) },
	} {
		harm()
		r := tokwatt(t, "", "query", "--db", db, "--json", countAll)
		if r.code != 0 {
			t.Errorf("%s: exit %d: %s", name, r.code, r.err)
		} else if got := fmt.Sprint(rows(t, db, countAll)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if n := len(parquetFiles(t, root)); n != len(files) {
			t.Errorf("%s: %d files, want %d", name, n, len(files))
		}
	}
	scramble(t, table("requests"), 300)
	if r := tokwatt(t, "", "summary", "--db", db); r.code != 0 || !strings.Contains(r.err, "exported again") {
		t.Errorf("summary: exit %d: %s", r.code, r.err)
	}
}

// fixtureOf is a store with one session.
func fixtureOf(t *testing.T, o analyzetest.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "one.db")
	db := store.Open(path, store.Options{})
	for rec, err := range analyzetest.Records(o) {
		if err := errors.Join(err, db.Put(t.Context(), o.ID(), rec)); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestDeadSessionsAreCached: exported once, as interrupted, until they go on.
func TestDeadSessionsAreCached(t *testing.T) {
	needsSQL(t)
	path := filepath.Join(t.TempDir(), "t.db")
	db := store.Open(path, store.Options{})
	o := analyzetest.Options{Repeats: 1}
	var end *collect.End
	var segment *collect.Segment
	for rec, err := range analyzetest.Records(o) {
		if err != nil {
			t.Fatal(err)
		}
		switch r := rec.(type) {
		case *collect.End:
			end = r
			continue
		case *collect.Segment:
			r.BootID, segment = "an earlier boot", r
		}
		if err := db.Put(t.Context(), o.ID(), rec); err != nil {
			t.Fatal(err)
		}
	}
	const sql = "select status, ended_at is null as open, (select count(*) from segments) as n from sessions"
	is := func(want string) {
		t.Helper()
		if got := fmt.Sprint(rows(t, path, sql)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	is("[map[n:1 open:true status:interrupted]]")
	first := stamps(t, path)
	is("[map[n:1 open:true status:interrupted]]")
	if again := stamps(t, path); again != first {
		t.Errorf("exported again: %s, then %s", first, again)
	}
	to := filepath.Join(t.TempDir(), "archive")
	archive := func(want string) {
		t.Helper()
		if r := tokwatt(t, "", "archive", "--db", path, "--to", to); r.code != 0 || !strings.HasPrefix(r.out, want) {
			t.Errorf("archive: exit %d: %s%s, want %s", r.code, r.out, r.err, want)
		}
	}
	archive("1 session written")
	archive("0 sessions written")

	next := *segment
	next.Segment = 2
	if err := db.Put(t.Context(), o.ID(), &next); err != nil {
		t.Fatal(err)
	}
	is("[map[n:2 open:true status:interrupted]]")
	archive("1 session written")
	if err := db.Put(t.Context(), o.ID(), end); err != nil {
		t.Fatal(err)
	}
	is(fmt.Sprintf("[map[n:2 open:false status:%s]]", end.Status))
	next.Segment = 3
	if err := db.Put(t.Context(), o.ID(), &next); err != nil {
		t.Fatal(err)
	}
	is("[map[n:3 open:true status:interrupted]]")
}

// stamps are the times of the cache's files.
func stamps(t *testing.T, db string) string {
	t.Helper()
	var b strings.Builder
	for _, f := range parquetFiles(t, cacheOf(t, db)) {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, f, info.ModTime())
	}
	return b.String()
}

// TestDeletedWhileExported: a session that is gone is no failure.
func TestDeletedWhileExported(t *testing.T) {
	path := fixture(t)
	db := store.Open(path, store.Options{})
	sessions, err := db.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Delete(t.Context(), sessions[0].ID); err != nil {
		t.Fatal(err)
	}
	a := &app{out: io.Discard, err: io.Discard}
	root := t.TempDir()
	for i, s := range sessions {
		ok, err := a.export(t.Context(), db, s, root, false)
		if err != nil || ok != (i != 0) {
			t.Errorf("session %d: exported %v, %v", i, ok, err)
		}
	}
	if n := len(parquetFiles(t, root)); n != len(analyze.Tables())*(len(sessions)-1) {
		t.Errorf("%d files", n)
	}
}

// TestStoreInAFolderOfOthers: the cache can't be written, and SQL answers.
func TestStoreInAFolderOfOthers(t *testing.T) {
	needsSQL(t)
	db := fixture(t)
	want := fmt.Sprint(rows(t, db, countAll))
	// A file in the folder's place stops every user, root too.
	if err := errors.Join(os.RemoveAll(db+".dataset"), os.WriteFile(db+".dataset", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	r := tokwatt(t, "", "query", "--db", db, "select count(*) from sessions")
	if r.code != 0 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "can't be written") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if got := fmt.Sprint(rows(t, db, countAll)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestCommandsShareACache: several that find it empty or damaged at once all
// answer right.
func TestCommandsShareACache(t *testing.T) {
	needsSQL(t)
	db := fixture(t)
	want := fmt.Sprint(rows(t, db, countAll))
	for range 3 {
		if err := os.RemoveAll(filepath.Join(cacheOf(t, db), "table=chunks")); err != nil {
			t.Fatal(err)
		}
		var all []*started
		for range 4 {
			all = append(all, start(t, "query", "--db", db, "--format", "jsonl", countAll))
		}
		for _, s := range all {
			if err := <-s.done; err != nil {
				t.Errorf("%v: %s", err, &s.err)
			}
			if s.out.String() != all[0].out.String() {
				t.Errorf("answers differ: %s%s", &s.out, &all[0].out)
			}
		}
	}
	if got := fmt.Sprint(rows(t, db, countAll)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func BenchmarkOpenCache(b *testing.B) {
	path := filepath.Join(b.TempDir(), "t.db")
	db := store.Open(path, store.Options{})
	o := analyzetest.Options{Targets: 1, PP: []int64{64}, Concurrency: []int64{1}, Repeats: 1}
	for o := range analyzetest.Fleet(1, 1000, o) {
		for rec, err := range analyzetest.Records(o) {
			if err := errors.Join(err, db.Put(b.Context(), o.ID(), rec)); err != nil {
				b.Fatal(err)
			}
		}
	}
	a := &app{out: io.Discard, err: io.Discard}
	open := func() {
		c, err := a.openCache(b.Context(), db)
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
	open()
	time.Sleep(10 * time.Millisecond)
	for b.Loop() {
		open()
	}
}
