package main

import (
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze/duck"
)

// TestDemo is what a newcomer does first.
func TestDemo(t *testing.T) {
	needsSQL(t)
	dir := filepath.Join(t.TempDir(), "demo")
	begin := time.Now()
	r := tokwatt(t, "", "demo", "--out", dir)
	t.Logf("took %v", time.Since(begin))
	if r.code != 0 {
		t.Fatalf("exit %d: %s%s", r.code, r.out, r.err)
	}
	for _, name := range []string{"scaling.png", "latency.png"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c, err := png.DecodeConfig(f)
		if err != nil || c.Width < 1000 || c.Height < 400 {
			t.Errorf("%s is %d × %d, %v", name, c.Width, c.Height, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "dataset", "table=requests", "host=*", "date=*", "*.parquet")); len(files) != 1 {
		t.Errorf("dataset holds %v", files)
	}
	_, next, ok := strings.Cut(r.out, "To try next:")
	if lines := strings.Fields(strings.ReplaceAll(next, "tokwatt ", "\n")); !ok || strings.Count(next, "   tokwatt ") != 4 {
		t.Errorf("no four commands to try next: %v", lines)
	}
	if n := strings.Count(r.err, "\n"); n < 36 {
		t.Errorf("%d lines of progress for 36 batches", n)
	}
	if strings.Contains(r.out+r.err, "\x1b") {
		t.Error("escape sequences where there is no terminal")
	}
}

// TestWithoutSQL holds what a build without cgo says where SQL is needed, and
// that the rest works.
func TestWithoutSQL(t *testing.T) {
	if duck.Available {
		t.Skip("this build has an SQL engine; CGO_ENABLED=0 go test runs this")
	}
	db := fixture(t)
	for _, args := range [][]string{{"query", "select 1"}, {"summary"}, {"plot", "scaling"}, {"report"}, {"list", "--dataset", "d"}} {
		r := tokwatt(t, "", append(args, "--db", db)...)
		if r.code != exitUsage || !strings.Contains(r.err, "no SQL engine") {
			t.Errorf("%v: exit %d: %s", args, r.code, r.err)
		}
	}
	for _, args := range [][]string{{"list"}, {"show"}, {"check"}, {"version"}, {"metrics"}, {"archive", "--to", t.TempDir()},
		{"collect", "--engine", "reference", "--pp", "16", "--tg", "4", "--repeat", "2"}} {
		if r := tokwatt(t, "", append(args, "--db", db)...); r.code != 0 || r.out == "" {
			t.Errorf("%v: exit %d: %s", args, r.code, r.err)
		}
	}
}
