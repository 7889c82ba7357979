package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/analyze/duck"
)

// drawn is what a terminal of some columns shows of a query; 0 is no terminal.
func drawn(t *testing.T, sql, format string, width int) string {
	t.Helper()
	needsSQL(t)
	db, err := duck.Open(t.Context(), duck.Options{Roots: []string{filepath.Join(t.TempDir(), "none")}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	if err := drawRows(&b, rows, format, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWideTablesAreRecords: a table stays one as long as it fits, whatever a
// character's width is.
func TestWideTablesAreRecords(t *testing.T) {
	const sql = "select '日本' as a, 12 as b, null as c union all select 'x', 3, 'y'"
	table := "a      b  c\n───────────\n日本  12\nx      3  y\n"
	records := "─ 1 ─\na  日本\nb  12\nc\n─ 2 ─\na  x\nb  3\nc  y\n"
	for width, want := range map[int]string{0: table, 200: table, 11: table, 10: records, 1: records} {
		if got := drawn(t, sql, "table", width); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
	if got := drawn(t, sql, "line", 200); got != records {
		t.Errorf("--format line:\n%s", got)
	}
	if got := drawn(t, "select 1 as long_name where false", "table", 3); got != "long_name\n─────────\n" {
		t.Errorf("a table without rows: %q", got)
	}
}

// TestLongTables: a table of more rows than one block has each row once, one
// head, and its columns in line as long as no later cell is wider.
func TestLongTables(t *testing.T) {
	for _, n := range []int{blockRows - 1, blockRows, blockRows + 1, 2*blockRows + 5} {
		for format, around := range map[string]int{"table": 2, "markdown": 2, "line": 0} {
			text := drawn(t, fmt.Sprintf("select %d - i as n, 'x' as x from range(%d) r(i)", 100_000, n), format, 0)
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if format == "line" {
				if len(lines) != 3*n || !strings.Contains(text, fmt.Sprintf("\n─ %d ─\n", n)) {
					t.Errorf("%s of %d rows: %d lines", format, n, len(lines))
				}
				continue
			}
			if len(lines) != n+around {
				t.Errorf("%s of %d rows: %d lines", format, n, len(lines))
			}
			if last, want := lines[len(lines)-1], fmt.Sprint(100_000-n+1); !strings.Contains(last, want) || format == "table" && strings.Index(last, "x") != strings.Index(lines[2], "x") {
				t.Errorf("%s of %d rows: the last is %q, the first %q", format, n, last, lines[2])
			}
		}
	}
}
