//go:build cgo

package duck

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestValues(t *testing.T) {
	db := open(t, Options{Roots: []string{t.TempDir()}})
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for _, c := range []struct {
		sql, columnType string
		want            any
	}{
		{"null", "INTEGER", nil},
		{"true", "BOOLEAN", true},
		{"1::tinyint", "TINYINT", int64(1)},
		{"(-9223372036854775808)::bigint", "BIGINT", int64(-9223372036854775808)},
		{"18446744073709551615::ubigint", "UBIGINT", 18446744073709551615.0},
		{"7::ubigint", "UBIGINT", int64(7)},
		{"sum(x) from range(4) r(x)", "HUGEINT", int64(6)},
		{"170141183460469231731687303715884105727::hugeint", "HUGEINT", 170141183460469231731687303715884105727.0},
		{"1.25", "DECIMAL(3,2)", 1.25},
		{"12::decimal(10,0)", "DECIMAL(10,0)", int64(12)},
		{"null::decimal(10,0)", "DECIMAL(10,0)", nil},
		{"0.1::double", "DOUBLE", 0.1},
		{"0.5::float", "FLOAT", 0.5},
		{"'a'", "VARCHAR", "a"},
		{"timestamptz '2026-01-02 03:04:05.000006+00'", "TIMESTAMPTZ", at},
		{"timestamptz '2026-01-02 05:04:05.000006+02'", "TIMESTAMPTZ", at},
		{"timestamp '2026-01-02 03:04:05.000006'", "TIMESTAMP", at},
		{"date '2026-01-02'", "DATE", "2026-01-02"},
		{"time '03:04:05.5'", "TIME", "03:04:05.5"},
		{"interval '14 months 3 days 1500 milliseconds'", "INTERVAL", "P14M3DT1.5S"},
		{"interval '0 days'", "INTERVAL", "PT0S"},
		{"[1, null, 3]", "INTEGER[]", []any{int64(1), nil, int64(3)}},
		{"['a']", "VARCHAR[]", []any{"a"}},
		{"[]::varchar[]", "VARCHAR[]", []any{}},
		{"[[1.5]]", "DECIMAL(2,1)[][]", []any{[]any{1.5}}},
		{"{'a': 1, 'b': [2]}", `STRUCT("a" INTEGER, "b" INTEGER[])`, map[string]any{"a": int64(1), "b": []any{int64(2)}}},
		{"map {'k': 1::hugeint}", "MAP(VARCHAR, HUGEINT)", map[string]any{"k": int64(1)}},
		{"'00112233-4455-6677-8899-aabbccddeeff'::uuid", "UUID", "00112233-4455-6677-8899-aabbccddeeff"},
		{`'\xAB\x01'::blob`, "BLOB", "ab01"},
		{"'1011'::bit", "BIT", "1011"},
		{`'{"a": [1]}'::json`, "JSON", map[string]any{"a": []any{1.0}}},
		{"union_value(n := 1)", "", int64(1)},
	} {
		rows, err := db.Query(t.Context(), "select "+strings.Replace(c.sql, " from ", " as x from ", 1))
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if got := rows.Columns()[0].Type; c.columnType != "" && got != c.columnType {
			t.Errorf("%s: type %s, want %s", c.sql, got, c.columnType)
		}
		for row, err := range rows.All() {
			if err != nil || !reflect.DeepEqual(row[0], c.want) {
				t.Errorf("%s is %#v (error %v), want %#v", c.sql, row[0], err, c.want)
			}
		}
		rows.Close()
	}
}

func TestErrorsAreSentences(t *testing.T) {
	db := open(t, Options{Roots: []string{t.TempDir()}})
	for sql, want := range map[string]string{
		"select tftt_ms from runs":            "query: there is no column tftt_ms: did you mean ttft_ms? DESCRIBE",
		"select ttft from runs":               "did you mean ttft_ms?",
		"select r.ttft_mss from runs r":       "query: there is no column ttft_mss: did you mean ttft_ms?",
		`select "Generation TPS" from runs`:   "there is no column Generation TPS: did you mean generation_tps?",
		"select J_per_output_token from runs": "query: there is no column J_per_output_token here, it is in batch_runs, batches: DESCRIBE",
		"select r.agg_wall_tps from runs r":   "there is no column agg_wall_tps here, it is in batch_runs, batches: DESCRIBE",
		"select xyzzy from runs":              "query: there is no column xyzzy: DESCRIBE",
		"select * from runz":                  "query: there is no table runz: did you mean runs? SHOW TABLES",
		"select * from main.requets":          "query: there is no table requets: did you mean requests?",
		"select * from far_from_all":          "query: there is no table far_from_all: SHOW TABLES lists them",
		"select medain(ttft_ms) from runs":    "query: there is no function medain: did you mean median?",
		"select zorpify(1)":                   "query: there is no function zorpify: they are those of DuckDB",
		"select b.pp from runs":               `query: referenced table "b" not found; there is "runs"`,
		"selec 1":                             `query: syntax error at or near "selec"`,
		"select 1; select 2":                  "query: only SELECT, EXPLAIN, DESCRIBE, SHOW and SUMMARIZE run, one statement at a time",
		"drop table runs":                     "query: only SELECT",
		"from read_text('x')":                 "query: the table function read_text is not for queries",
		"from '/etc/passwd.csv'":              "query: /etc/passwd.csv is not part of the dataset",
		"select ?":                            "query: the SQL has parameters",
		"":                                    "query: the SQL is empty",
		"explain (codegen) select 1":          "query: EXPLAIN takes ANALYZE and FORMAT",
		"select error('boom')":                "query: boom",
		"select median(flags) + 1 from runs": "query: no function matches the given name and argument types '+(VARCHAR[], INTEGER_LITERAL)'. " +
			"You might need to add explicit type casts",
	} {
		_, err := db.Query(t.Context(), sql)
		var fault *Error
		if !errors.As(err, &fault) {
			t.Errorf("%s: error %v (%T), want an *Error", sql, err, err)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "LINE") {
			t.Errorf("%s: %q, want %q in it", sql, err, want)
		}
	}
}

// TestCancel: a query that would run for days ends with its context.
func TestCancel(t *testing.T) {
	db := open(t, Options{Roots: []string{t.TempDir()}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := db.Query(ctx, "select count(*) from range(10000000) a(x), range(10000000) b(x) where hash(a.x + b.x) = 1")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want the context's", err)
	}
	if got := column(t, db, "select 1"); got[0] != "1" {
		t.Error("the session is of no use after a cancelled query")
	}
	if _, err := Open(ctx, Options{Roots: []string{t.TempDir()}}); err == nil {
		t.Error("opened with a context that had ended")
	}
}

// TestMemoryLimit: a query beyond the limit fails or spills; both leave the
// session and the disk in order.
func TestMemoryLimit(t *testing.T) {
	db, err := Open(t.Context(), Options{Roots: []string{t.TempDir()}, MemoryLimit: 64 << 20, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Query(t.Context(), "select list(x) from range(50000000) r(x)")
	var fault *Error
	if err == nil || errors.As(err, &fault) || !strings.Contains(err.Error(), "/64.0 MiB used") || strings.Contains(err.Error(), "\n") {
		t.Errorf("400 MB in a list gave error %v, want one sentence of memory that does not blame the SQL", err)
	}
	if got := column(t, db, "select count(*) from (select x from range(5000000) r(x) order by hash(x))"); got[0] != "5000000" {
		t.Errorf("a sort that spills counts %s rows", got[0])
	}
	scratch := db.scratch
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(scratch); !os.IsNotExist(err) {
		t.Errorf("the temporary folder is left behind: %v", err)
	}
}

func TestWriteParquet(t *testing.T) {
	db, root, out := openSandbox(t)
	path := filepath.Join(out, "it's.parquet")
	var made bytes.Buffer
	if err := db.WriteParquet(t.Context(), "select x, [x] as l, 'it''s' as s from range(3) r(x) order by x desc; -- done", &made); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, made.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	set, err := c.query(t.Context(), "select concat_ws(',', x, l, s) from read_parquet("+quote(path)+")")
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	for row := range newRows(set).All() {
		got = append(got, row[0])
	}
	set.Close()
	if want := []any{"2,[2],it's", "1,[1],it's", "0,[0],it's"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}

	before := tree(t, filepath.Dir(root), db.scratch)
	for _, sql := range slices.Concat(outsideReads, effects) {
		if err := db.WriteParquet(t.Context(), fill(sql, root, out), io.Discard); err == nil {
			t.Errorf("written: %s", sql)
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err == nil {
		defer full.Close()
		if err := db.WriteParquet(t.Context(), "select 1", full); err == nil {
			t.Error("written to a disk that is full")
		}
	}
	if err := db.WriteParquet(t.Context(), "explain select 1", io.Discard); err == nil {
		t.Error("a plan was written as Parquet")
	}
	if after := tree(t, filepath.Dir(root), db.scratch); !slices.Equal(before, after) {
		t.Errorf("files changed: before %v, after %v", before, after)
	}
}

func TestOptions(t *testing.T) {
	_, err := Open(t.Context(), Options{MemoryLimit: -1, Threads: -1, Sessions: []string{"a/../b"}})
	if err == nil {
		t.Fatal("opened")
	}
	for _, part := range []string{"no dataset folder", "-1 bytes", "-1 threads", "no session id"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
}

func TestDamagedFile(t *testing.T) {
	root, _ := sandbox(t)
	bad := filepath.Join(root, "table=segments", "host=a", "date=2026-01-02", "bad.parquet")
	if err := os.WriteFile(bad, []byte("PAR1 not really PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	db := open(t, Options{Roots: []string{root}})
	_, err := db.Query(t.Context(), "select * from segments")
	if err == nil || !strings.Contains(err.Error(), "bad.parquet") || !strings.Contains(err.Error(), "segments") {
		t.Errorf("error %v does not name the file and the table", err)
	}
	column(t, db, "select count(*) from runs") // which does not read it
}
