package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportRows holds the rows that are made without SQL to those of the view
// runs, cell by cell.
func TestExportRows(t *testing.T) {
	t.Setenv("TOKWATT_DB", fixture(t))
	for _, format := range []string{"csv", "jsonl"} {
		got := tokwatt(t, "", "export", "last", "--format", format)
		if got.code != 0 || strings.Count(got.out, "\n") < 100 {
			t.Fatalf("%s: exit %d: %d bytes, %s", format, got.code, len(got.out), got.err)
		}
		needsSQL(t)
		names, _, _ := strings.Cut(tokwatt(t, "", "export", "last", "--format", "csv").out, "\n")
		sql := "select " + names + " from runs where session_id = (select max(session_id) from runs) order by batch_id, request_id"
		want := tokwatt(t, "", "query", "--format", format, sql)
		if want.code != 0 {
			t.Fatal(want.err)
		}
		ours, theirs := strings.Split(got.out, "\n"), strings.Split(want.out, "\n")
		if len(ours) != len(theirs) {
			t.Fatalf("%s: %d lines, the view has %d", format, len(ours), len(theirs))
		}
		for i := range ours {
			if ours[i] != theirs[i] {
				t.Fatalf("%s, line %d:\n%s\nthe view has\n%s", format, i+1, ours[i], theirs[i])
			}
		}
	}
}

// TestExportFiles: the ending names the format, and a refusal writes nothing.
func TestExportFiles(t *testing.T) {
	t.Setenv("TOKWATT_DB", fixture(t))
	t.Chdir(t.TempDir())
	for file, head := range map[string]string{"x.json": "{\n  \"runs\": [", "x.txt": "# tokwatt session", "x.csv": "session_id,host,", "x.jsonl": `{"session_id":`} {
		r := tokwatt(t, "", "export", "--out", file)
		got, _ := os.ReadFile(file)
		if r.code != 0 || r.out != file+"\n" || !strings.HasPrefix(string(got), head) {
			t.Errorf("%s: exit %d, %s%s: %.40q", file, r.code, r.out, r.err, got)
		}
	}
	for _, args := range [][]string{
		{}, {"last"}, {"--format", "xml"}, {"--out", "y.xml"}, {"--format", "csv", "no-such-id"}, {"--format", "csv", "last", "last"},
		{"--format", "csv", "--out", "no/such/folder.csv"},
	} {
		if r := tokwatt(t, "", append([]string{"export"}, args...)...); r.code != exitUsage || strings.Count(r.err, "\n") != 1 || r.out != "" {
			t.Errorf("%q: exit %d: %s%s", args, r.code, r.out, r.err)
		}
	}
	if r := tokwatt(t, "", "export", "no-such-id"); !strings.Contains(r.err, "no-such-id") {
		t.Errorf("of a session that is not there is said: %s", r.err)
	}
	if files, _ := filepath.Glob("*"); len(files) != 4 {
		t.Errorf("the folder holds %v", files)
	}
}
