//go:build cgo

package duck

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/analyze/analyzetest"
)

// TestDamagedFileIsMended: whichever table's file is bad in whichever way, the
// caller is asked to mend it, and the statement answers as if nothing had been.
func TestDamagedFileIsMended(t *testing.T) {
	one := analyzetest.Options{Targets: 1, PP: []int64{64}, Concurrency: []int64{1}, Repeats: 1}
	for name, harm := range map[string]func(path string) error{
		"garbage":   func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("garbage ", 100)), 0o644) },
		"empty":     func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"truncated": func(path string) error { return os.Truncate(path, 100) },
		"footer": func(path string) error {
			b, err := os.ReadFile(path)
			for i := len(b) - 200; i < len(b)-10; i++ {
				b[i] ^= 0x55
			}
			return errors.Join(err, os.WriteFile(path, b, 0o644))
		},
	} {
		for _, table := range []string{"sessions", "requests", "chunks"} {
			for _, late := range []bool{false, true} { // before or after the session opens
				root := filepath.Join(t.TempDir(), "d")
				export(t, root, one)
				found, err := filepath.Glob(filepath.Join(root, "table="+table, "*", "*", "*.parquet"))
				if err != nil || len(found) != 1 {
					t.Fatal(found, err)
				}
				sql := "select count(*) from (select * from " + table + " order by all)"
				want := column(t, open(t, Options{Roots: []string{root}}), sql)
				asked := 0
				o := Options{Roots: []string{root}, Mend: func(context.Context) (bool, error) {
					asked++
					export(t, root, one)
					return true, nil
				}}
				if !late {
					if err := harm(found[0]); err != nil {
						t.Fatal(err)
					}
				}
				db := open(t, o)
				if late {
					if err := harm(found[0]); err != nil {
						t.Fatal(err)
					}
				}
				n := column(t, db, sql)
				// An open session may know the footer already.
				if n[0] != want[0] || asked > 1 || asked == 0 && !(late && name == "footer") {
					t.Errorf("%s %s, late %v: %s rows, want %s; asked to mend %d times", name, table, late, n, want, asked)
				}
			}
		}
	}
}

// TestFaultsOfSQLStay: nobody is asked to mend what is the statement's fault,
// which would be to read every file; what mending says comes first.
func TestFaultsOfSQLStay(t *testing.T) {
	root := t.TempDir()
	export(t, root, analyzetest.Options{Targets: 1, PP: []int64{64}, Concurrency: []int64{1}, Repeats: 1})
	asked, answer := 0, errors.New("it is damaged")
	db := open(t, Options{Roots: []string{root}, Mend: func(context.Context) (bool, error) { asked++; return false, answer }})
	for _, sql := range []string{"selec 1", "select ttft from runs", "select pp from requests", "select 1 from runz", "select median(pp, 1, 2) from runs"} {
		var fault *Error
		if _, err := db.Query(t.Context(), sql); !errors.As(err, &fault) || asked != 0 {
			t.Errorf("%s: %v, asked %d times", sql, err, asked)
		}
	}
	found, err := filepath.Glob(filepath.Join(root, "table=requests", "*", "*", "*.parquet"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.Truncate(found[0], 100); err != nil {
		t.Fatal(err)
	}
	db = open(t, Options{Roots: []string{root}, Mend: func(context.Context) (bool, error) { return false, answer }})
	if _, err := db.Query(t.Context(), "select ttft from runs"); err != answer {
		t.Errorf("a wrong column over damage: %v", err)
	}
	if err := db.WriteParquet(t.Context(), "select * from requests", io.Discard); err != answer {
		t.Errorf("as Parquet: %v", err)
	}
}

// TestNumbersBeyondJSON: the parse tree has them as bare words.
func TestNumbersBeyondJSON(t *testing.T) {
	db := open(t, Options{Roots: []string{t.TempDir()}})
	for sql, want := range map[string]string{
		"select 1e400":                               "+Inf",
		"select -1e400":                              "-Inf",
		"select 'inf'::double":                       "+Inf",
		"select 'nan'::double":                       "NaN",
		"select 1 where 1e999 > 2":                   "1",
		`select 'Infinity, "NaN", \'`:                `Infinity, "NaN", \`,
		`select x as "a \ "" NaN" from (select 1 x)`: "1",
	} {
		if got := column(t, db, sql); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
	for _, sql := range []string{"select 1e400 from enable_logging()", "from enable_logging() where 1e400 > 1", `select 1e400 as "\" from enable_logging()`} {
		if _, err := db.Query(t.Context(), sql); err == nil {
			t.Errorf("ran: %s", sql)
		}
	}
}

func TestFinite(t *testing.T) {
	for text, want := range map[string]string{
		`[NaN,-Infinity,Infinity,"NaN","\"Infinity","\\",NaN]`: `[null,null,null,"NaN","\"Infinity","\\",null]`,
		`{"x":-inf,"nan":nan,"y":1e5}`:                         `{"x":null,"nan":null,"y":1e5}`,
	} {
		if got := string(finite([]byte(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
