package exchange_test

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// TestDatasetSession: a dataset of what was made of a dataset has every cell of
// it.
func TestDatasetSession(t *testing.T) {
	for name, recs := range datasetSessions(t) {
		t.Run(name, func(t *testing.T) {
			first, second := t.TempDir(), t.TempDir()
			done := exported(t, recs, first)
			again := exported(t, exchange.DatasetSession(t.Context(), first, done.SessionID), second)
			if again.Host != done.Host || again.Date != done.Date || !reflect.DeepEqual(again.Rows, done.Rows) {
				t.Errorf("%+v, want %+v", again, done)
			}
			for _, d := range different(t, done.SessionID, first, second) {
				t.Error(d)
			}
		})
	}
}

func exported(t *testing.T, recs iter.Seq2[collect.Record, error], root string) analyze.Exported {
	t.Helper()
	done, err := analyze.Export(t.Context(), recs, root, analyze.ExportOptions{Dead: true})
	if err != nil || done.Damaged > 0 {
		t.Fatal(err, done.Errors)
	}
	return done
}

// different names each column that differs between two datasets, with the first
// cell that does.
func different(t *testing.T, id, a, b string) []string {
	t.Helper()
	var out []string
	for _, table := range analyze.Tables() {
		want, got := tableOf(t, a, id, table), tableOf(t, b, id, table)
		for _, c := range table.Columns {
			n, say := 0, ""
			for i := range want {
				if i < len(got) && !reflect.DeepEqual(want[i][c.Name], got[i][c.Name]) {
					if n++; n == 1 {
						say = fmt.Sprintf("row %d: %v, want %v", i, got[i][c.Name], want[i][c.Name])
					}
				}
			}
			if n > 0 {
				out = append(out, fmt.Sprintf("%s.%s: %d of %d cells differ, %s", table.Name, c.Name, n, len(want), say))
			}
		}
	}
	return out
}

// tableOf are the rows of a table, by column.
func tableOf(t *testing.T, root, id string, table analyze.Table) (rows []map[string]any) {
	t.Helper()
	files, _, err := analyze.DatasetFiles(root, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Table != table.Name {
			continue
		}
		for page, err := range analyze.SessionRows(root, f, id) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Len() {
				row := map[string]any{}
				for _, c := range table.Columns {
					row[c.Name] = cellOf(page.Column(c.Name), c.Type, i)
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func cellOf(c *analyze.Cells, t analyze.ColumnType, i int) any {
	var v any
	ok := true
	switch t {
	case analyze.Int64, analyze.Timestamp:
		v, ok = c.Int64(i)
	case analyze.Double:
		v, ok = c.Double(i)
	case analyze.Bool:
		v, ok = c.Bool(i)
	case analyze.Strings:
		v = c.List(i)
	default:
		v = c.Text(i)
	}
	if !ok {
		return nil
	}
	return v
}

// datasetSessions are sessions of all kinds: synthetic ones with faults, with
// and without sensors, and every file of another tool that tests have.
func datasetSessions(t *testing.T) map[string]iter.Seq2[collect.Record, error] {
	out := map[string]iter.Seq2[collect.Record, error]{
		"engines": analyzetest.Records(analyzetest.Options{Seed: 1, Targets: 4}),
		"sensors": analyzetest.Records(analyzetest.Options{Seed: 2, Power: true}),
		"dead":    analyzetest.Records(analyzetest.Options{Seed: 3, Unfinished: true, Host: "Mac Mini 50%/é"}),
		"many":    analyzetest.Records(analyzetest.Options{Seed: 4, Repeats: 12, Concurrency: []int64{1, 8}, Power: true}),
	}
	for seed := range uint64(8) {
		out[fmt.Sprint("mutated-", seed)] = mutated(seed)
	}
	files, _ := filepath.Glob("../../testdata/cases/import/*.json")
	own, _ := filepath.Glob("testdata/import/*")
	for _, path := range own {
		if filepath.Ext(path) != ".md" || strings.Contains(path, "llama") {
			perSession(out, filepath.Base(path), exchange.Read(t.Context(), fileInput(t, path)))
		}
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var c importCase
		unmarshal(t, text, &c)
		in := exchange.Input{Name: "f", Now: time.Unix(1.8e9, 0), R: strings.NewReader(c.File), Size: int64(len(c.File)), Host: "imported"}
		perSession(out, filepath.Base(path), exchange.Read(t.Context(), in))
	}
	return out
}

// perSession parts records by session; rows that can't be read are passed over.
func perSession(out map[string]iter.Seq2[collect.Record, error], name string, recs iter.Seq2[collect.Record, error]) {
	var session []collect.Record
	add := func() {
		if len(session) == 0 {
			return
		}
		all := slices.Clone(session)
		out[fmt.Sprintf("%s-%d", name, len(slices.Collect(maps.Keys(out))))] = func(yield func(collect.Record, error) bool) {
			for _, r := range all {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
	for rec, err := range recs {
		if err != nil {
			continue
		}
		if _, begins := rec.(*collect.Session); begins {
			add()
			session = nil
		}
		session = append(session, rec)
	}
	add()
}

func fileInput(t *testing.T, path string) exchange.Input {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return exchange.Input{Name: path, Now: time.Unix(1.8e9, 0), R: strings.NewReader(string(text)), Size: int64(len(text)), Host: "h"}
}
