package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestArchiveSQL: the text and --json have the same statements, tables before
// views; a path is made whole, a URL left as it is.
func TestArchiveSQL(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := filepath.Abs("dataset")
	if err != nil {
		t.Fatal(err)
	}
	for dialect, views := range map[string]bool{"duckdb": true, "spark": true, "trino": false, "clickhouse": false} {
		text := tokwatt(t, "", "archive", "sql", "--dialect", dialect, "dataset")
		doc := tokwatt(t, "", "archive", "sql", "--dialect", dialect, "--json", "dataset")
		var got struct{ Statements []string }
		if err := json.Unmarshal([]byte(doc.out), &got); err != nil || text.code != 0 {
			t.Fatalf("%s: %v, exit %d: %s", dialect, err, text.code, text.err)
		}
		if _, body, _ := strings.Cut(text.out, "\n"); body != strings.Join(got.Statements, ";\n\n")+";\n" {
			t.Errorf("%s: the text is not the statements of --json", dialect)
		}
		if !strings.Contains(text.out, "'"+here+"/table=requests") {
			t.Errorf("%s: %s is not in %s", dialect, here, text.out)
		}
		if has := strings.Contains(text.out, "view summary as"); has != views {
			t.Errorf("%s: views %v, want %v", dialect, has, views)
		}
	}
	if r := tokwatt(t, "", "archive", "sql", "s3://bench/dataset"); !strings.Contains(r.out, "'s3://bench/dataset/table=requests") {
		t.Error("a URL does not stay as it is")
	}
	for _, wrong := range [][]string{{}, {"a", "b"}, {"it's"}, {"--dialect", "mysql", "a"}} {
		if r := tokwatt(t, "", append([]string{"archive", "sql"}, wrong...)...); r.code != exitUsage || r.out != "" {
			t.Errorf("%v: exit %d, %s", wrong, r.code, r.out)
		}
	}
}
