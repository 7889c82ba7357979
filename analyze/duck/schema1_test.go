//go:build cgo

package duck

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/duck/rowio"
)

// schema1 is a dataset that was written when the schema had version 1, and what
// was answered of it then: the first rows of each table and view. Neither is
// ever written again.
const schema1 = "testdata/schema1"

// TestSchema1 holds that a dataset of schema version 1 gives the answers that
// it gave, whatever columns have come since.
func TestSchema1(t *testing.T) {
	root := filepath.Join(schema1, "dataset")
	db := open(t, Options{Roots: []string{root}, Threads: 1})
	sameAnswers(t, db)
	nullBeyond(t, db)
	r, err := analyze.CheckDataset(t.Context(), root)
	if err != nil || !r.OK() || r.Sessions != 2 || r.Foreign != 0 || r.Rows != 1833 {
		t.Errorf("check: %+v, %v", r, err)
	}
}

// sameAnswers compares every cell of the answers.
func sameAnswers(t *testing.T, db *DB) {
	t.Helper()
	for relation, want := range answers(t) {
		sql := counts
		if relation != "counts" {
			sql = fmt.Sprintf("select %s from %s order by all limit 60", strings.Join(want[0], ", "), relation)
		}
		got := asCSV(t, db, sql)
		if len(got) != len(want) {
			t.Errorf("%s: %d rows, want %d", relation, len(got)-1, len(want)-1)
			continue
		}
		for i := range want {
			for j := range want[i] {
				if !sameCell(got[i][j], want[i][j]) {
					t.Errorf("%s, row %d, %s: %s, want %s", relation, i, want[0][j], got[i][j], want[i][j])
				}
			}
		}
	}
}

// nullBeyond holds that what version 1 did not have is NULL in its tables.
func nullBeyond(t *testing.T, db *DB) {
	t.Helper()
	had := answers(t)
	for _, table := range analyze.Tables() {
		var since []string
		for _, c := range table.Columns {
			if of := had[table.Name]; of != nil && !strings.Contains(","+strings.Join(of[0], ",")+",", ","+c.Name+",") {
				since = append(since, c.Name)
			}
		}
		for _, name := range since {
			if _, filled := analyze.OfBatchColumns()[name]; filled && table.Name == "requests" {
				continue // the answers of runs hold these
			}
			if got := column(t, db, "select count("+name+") from "+table.Name); got[0] != "0" {
				t.Errorf("%s.%s has %s values in files that do not have it", table.Name, name, got[0])
			}
		}
	}
}

const counts = `select 'batches' as relation, count(*) as n from batches
	union all select 'cases', count(*) from cases union all select 'chunks', count(*) from chunks
	union all select 'energy', count(*) from energy union all select 'phases', count(*) from phases
	union all select 'requests', count(*) from requests union all select 'runs', count(*) from runs
	union all select 'samples', count(*) from samples union all select 'segments', count(*) from segments
	union all select 'sessions', count(*) from sessions union all select 'summary', count(*) from summary
	union all select 'targets', count(*) from targets order by all`

// answers are the relations' rows by name; the first names the columns.
func answers(t *testing.T) map[string][][]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(schema1, "answers", "*.csv"))
	if err != nil || len(found) != 14 {
		t.Fatalf("%d answers, %v", len(found), err)
	}
	out := map[string][][]string{}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(path), ".csv")] = parseCSV(t, text)
	}
	return out
}

func asCSV(t *testing.T, db *DB, sql string) [][]string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	var b bytes.Buffer
	if err := rowio.WriteCSV(&b, rows.Names(), rows.All()); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return parseCSV(t, b.Bytes())
}

func parseCSV(t *testing.T, text []byte) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// sameCell compares numbers to 1e-12: sums hang on their order.
func sameCell(got, want string) bool {
	if got == want {
		return true
	}
	x, errX := strconv.ParseFloat(got, 64)
	y, errY := strconv.ParseFloat(want, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= 1e-12*math.Max(math.Abs(x), math.Abs(y))
}

// TestNewerSchema reads what a later program may write: files with columns
// that this one does not know, in another order, some that it knows missing,
// beside files of its own.
func TestNewerSchema(t *testing.T) {
	root := newer(t)
	db := open(t, Options{Roots: []string{root}, Threads: 1})
	sameAnswers(t, db)
	if _, err := db.Query(t.Context(), "select invented from requests"); err == nil {
		t.Error("a column that the schema does not have is in a table")
	}
	if got := db.Newer(); got != 99 {
		t.Errorf("the newest schema is %d, want 99", got)
	}
	if got := open(t, Options{Roots: []string{filepath.Join(schema1, "dataset")}}).Newer(); got != 0 {
		t.Errorf("schema 1 has a newer version %d", got)
	}
}

// newer is the dataset of schema 1 with one of its sessions as of version 99.
func newer(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join(schema1, "dataset"))); err != nil {
		t.Fatal(err)
	}
	conn, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.close()
	found, err := filepath.Glob(filepath.Join(root, "table=*", "host=mac-0", "*", "*.parquet"))
	if err != nil || len(found) != 9 {
		t.Fatalf("%q, %v", found, err)
	}
	for _, path := range found {
		sql := fmt.Sprintf(`copy (select 7 as invented, * from read_parquet(%[1]s, hive_partitioning = false)) to %[2]s
			(format parquet, kv_metadata {'tokwatt.schema_version': '99'})`, quote(path), quote(path+".new"))
		if err := conn.exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	manifests, err := filepath.Glob(filepath.Join(root, ".sessions", "019bc119*.json"))
	if err != nil || len(manifests) != 1 {
		t.Fatalf("%q, %v", manifests, err)
	}
	text, err := os.ReadFile(manifests[0])
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"schema_version":1`), []byte(`"schema_version":99,"invented":true`), 1)
	if err := os.WriteFile(manifests[0], text, 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}
