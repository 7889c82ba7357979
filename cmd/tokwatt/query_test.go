package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze/duck"
)

// TestQueryFormats: each format says the same, to stdout and to a file, whose
// ending names it; a file is there whole or as it was.
func TestQueryFormats(t *testing.T) {
	needsSQL(t)
	t.Setenv("TOKWATT_DB", fixture(t))
	t.Chdir(t.TempDir())
	const sql = "select engine, count(*) as n, avg(pp) as pp from runs group by engine order by engine"
	head := map[string]string{
		"table": "engine ", "line": "─ 1 ─", "csv": "engine,n,pp\n", "json": `[{"engine":"llama.cpp","n":`, "jsonl": `{"engine":"llama.cpp","n":`,
		"markdown": "| engine | n | pp |\n", "parquet": "PAR1", "arrow": "\xff\xff\xff\xff",
	}
	for _, format := range queryFormats {
		r := tokwatt(t, "", "query", "--format", format, sql)
		if r.code != 0 || r.err != "" || !strings.HasPrefix(r.out, head[format]) {
			t.Errorf("%s: exit %d, %.40q, %s", format, r.code, r.out, r.err)
		}
		f := "x." + format
		if w := tokwatt(t, "", "query", "--out", f, sql); w.code != 0 || w.out != f+"\n" {
			t.Errorf("--out %s: exit %d: %s%s", f, w.code, w.out, w.err)
		}
		got, _ := os.ReadFile(f)
		if format != "parquet" && format != "arrow" && string(got) != r.out {
			t.Errorf("--out %s has %q, stdout %q", f, got, r.out)
		}
		if w := tokwatt(t, "", "query", "--out", f, "select no_such from runs"); w.code != exitUsage {
			t.Errorf("--out %s of a fault: exit %d: %s", f, w.code, w.err)
		}
		if after, _ := os.ReadFile(f); !bytes.Equal(got, after) {
			t.Errorf("--out %s was changed by a query that failed", f)
		}
	}
	if b, _ := os.ReadFile("x.arrow"); !bytes.HasPrefix(b, []byte("ARROW1")) || !bytes.HasSuffix(b, []byte("ARROW1")) {
		t.Error("x.arrow is no Arrow file")
	}
	tokwatt(t, "", "query", "--out", "x.arrows", sql)
	if b, _ := os.ReadFile("x.arrows"); !bytes.HasPrefix(b, []byte("\xff\xff\xff\xff")) {
		t.Error("x.arrows is no stream")
	}
	if left, _ := filepath.Glob(".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSQLMayBeginWithAComment: what begins with two dashes and a space is no flag.
func TestSQLMayBeginWithAComment(t *testing.T) {
	needsSQL(t)
	t.Setenv("TOKWATT_DB", fixture(t))
	for _, args := range [][]string{
		{"-- how many?\nselect 7 as n"}, {"--\nselect 7 as n"}, {"-- a\n-- b\nselect 7 as n", "--format", "csv"}, {"--", "-- a\nselect 7 as n"},
	} {
		if r := tokwatt(t, "", append([]string{"query"}, args...)...); r.code != 0 || !strings.HasPrefix(r.out, "n\n") {
			t.Errorf("%q: exit %d: %s%s", args, r.code, r.out, r.err)
		}
	}
	if r := tokwatt(t, "", "query", "-- only a comment"); r.code != exitUsage || !strings.Contains(r.err, "the SQL is empty") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// TestPlanKeepsItsLines: EXPLAIN answers with a drawing.
func TestPlanKeepsItsLines(t *testing.T) {
	needsSQL(t)
	for _, sql := range []string{"explain select count(*) from cases", "explain analyze select count(*) from cases"} {
		r := tokwatt(t, "", "query", "--db", fixture(t), sql)
		if r.code != 0 || !strings.HasPrefix(r.out, "┌──") || strings.Count(r.out, "\n") < 8 {
			t.Errorf("%s: exit %d:\n%s%s", sql, r.code, r.out, r.err)
		}
	}
}

func TestQueryRefusals(t *testing.T) {
	needsSQL(t)
	t.Setenv("TOKWATT_DB", fixture(t))
	for sql, say := range map[string]string{
		"select ttft from runs":       "there is no column ttft: did you mean ttft_ms?",
		"select * from run":           "there is no table run: did you mean runs?",
		"select meidan(pp) from runs": "there is no function meidan: did you mean median?",
		"select 1; select 2":          "only SELECT",
	} {
		if r := tokwatt(t, "", "query", sql); r.code != exitUsage || !strings.Contains(r.err, say) || strings.Count(r.err, "\n") != 1 || r.out != "" {
			t.Errorf("%s: exit %d: %s%s", sql, r.code, r.out, r.err)
		}
	}
	for _, args := range [][]string{{"--format", "xls", "select 1"}, {"--out", "x.xls", "select 1"}, {"select", "1"}, {}, {"--json", "--format", "csv", "select 1"}, {"--out", "-", "--format", "csv", "select 1"}} {
		if r := tokwatt(t, "", append([]string{"query"}, args...)...); r.code != exitUsage || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%q: exit %d: %s", args, r.code, r.err)
		}
	}
}

// TestBinaryIsNotForTerminals asks as if stdout were one.
func TestBinaryIsNotForTerminals(t *testing.T) {
	if !duck.Available {
		t.Skip("this build has no SQL engine")
	}
	for _, format := range queryFormats {
		var out, errs bytes.Buffer
		a := &app{out: &checkedWriter{w: &out, plain: true}, err: &errs}
		err := a.root().Run(t.Context(), []string{"tokwatt", "query", "--db", fixture(t), "--format", format, "select 1 as x"})
		if refused := slices.Contains(binaryFormats, format); (err != nil) != refused || refused && out.Len() > 0 {
			t.Errorf("%s: error %v, %q", format, err, out.String())
		}
	}
}

// TestJSONOfQueryIsTyped: numbers are numbers, also sums.
func TestJSONOfQueryIsTyped(t *testing.T) {
	needsSQL(t)
	r := tokwatt(t, "", "query", "--db", fixture(t), "--json", "select sum(pp) as s, count(*) as n, null as x, [1, 2] as l from runs")
	var rows []struct {
		S, N int64
		X    *int
		L    []int
	}
	if err := json.Unmarshal([]byte(r.out), &rows); err != nil || len(rows) != 1 || rows[0].N == 0 || rows[0].S == 0 || len(rows[0].L) != 2 {
		t.Errorf("%s: %v", r.out, err)
	}
}

// TestRemoteDatasets are refused in one sentence that keeps the keys, and
// nothing is downloaded for them.
func TestRemoteDatasets(t *testing.T) {
	needsSQL(t)
	for _, root := range []string{"s3://bench/dataset", "gs://bench/dataset", "https://me:geheim@127.0.0.1:9/dataset?X-Amz-Signature=geheim"} {
		for _, command := range [][]string{{"query", "select 1"}, {"summary", "last"}} {
			r := tokwatt(t, "", append(command, "--dataset", root)...)
			if r.code != exitUsage || !strings.Contains(r.err, "httpfs") || strings.Count(r.err, "\n") != 1 || strings.Contains(r.err, "geheim") {
				t.Errorf("%q %s: exit %d: %s", command, root, r.code, r.err)
			}
		}
	}
}
