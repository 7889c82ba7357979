//go:build cgo

package duck

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

func TestEmptyStore(t *testing.T) {
	for _, root := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		db := open(t, Options{Roots: []string{root}})
		for _, table := range analyze.Tables() {
			if got := column(t, db, "select count(*) from "+table.Name); got[0] != "0" {
				t.Errorf("%s has %s rows", table.Name, got[0])
			}
		}
		for _, view := range viewNames() {
			if view == "median_interval" { // a table of numbers
				continue
			}
			if got := column(t, db, "select count(*) from "+view); got[0] != "0" {
				t.Errorf("%s has %s rows", view, got[0])
			}
		}
		if got, err := db.Summaries(t.Context(), SummaryFilter{Points: true}); err != nil || len(got) != 0 {
			t.Errorf("summaries %v, error %v", got, err)
		}
		if got, err := db.Summaries(t.Context(), SummaryFilter{Sessions: []string{"x"}}); err != nil || len(got) != 0 {
			t.Errorf("summaries of x %v, error %v", got, err)
		}
		if ids, err := db.Sessions(t.Context()); err != nil || len(ids) != 0 {
			t.Errorf("sessions %v, error %v", ids, err)
		}
	}
}

// TestRoots: several datasets are one; names that are patterns or partitions
// elsewhere are but names here.
func TestRoots(t *testing.T) {
	top := t.TempDir()
	var roots []string
	i := uint64(0)
	for _, name := range []string{"plain", "it's", "a b", "[x]*?", `back\slash`, "host=other", "über"} {
		root := filepath.Join(top, name)
		roots = append(roots, root)
		i++
		export(t, root, analyzetest.Options{Seed: i, Host: "007", Targets: 1, PP: []int64{8}, Repeats: 1, Concurrency: []int64{1}})
	}
	db := open(t, Options{Roots: append(roots, filepath.Join(top, "none"))})
	if ids, err := db.Sessions(t.Context()); err != nil || len(ids) != len(roots) {
		t.Errorf("%d sessions (error %v), want %d", len(ids), err, len(roots))
	}
	if hosts := column(t, db, "select distinct host from runs"); !slices.Equal(hosts, []string{"007"}) {
		t.Errorf("hosts are %q, want 007", hosts)
	}
	// A session that appears later is seen by the next query.
	export(t, roots[0], analyzetest.Options{Seed: 99, Host: "late", Targets: 1, PP: []int64{8}, Repeats: 1, Concurrency: []int64{1}})
	if n := column(t, db, "select count(*) from sessions where host = 'late'"); n[0] != "1" {
		t.Errorf("a new session is not seen")
	}
}

// TestSomeSessions: a session over some sessions has their rows and no others.
func TestSomeSessions(t *testing.T) {
	top := t.TempDir()
	o := analyzetest.Options{Targets: 1, PP: []int64{8}, Repeats: 1, Tokens: 2, Concurrency: []int64{1}}
	fleet := slices.Collect(analyzetest.Fleet(5, 2, o))
	export(t, filepath.Join(top, "a"), fleet[:5]...)
	export(t, filepath.Join(top, "[b]"), fleet[5:]...)
	want := []string{fleet[1].ID(), fleet[6].ID(), fleet[9].ID()}
	slices.Sort(want)
	db := open(t, Options{Roots: []string{filepath.Join(top, "a"), filepath.Join(top, "[b]")}, Sessions: append(want, want[0], "none")})
	for _, table := range []string{"sessions", "targets", "requests", "chunks", "runs", "summary"} {
		if got := column(t, db, "select distinct session_id from "+table+" order by 1"); !slices.Equal(got, want) {
			t.Errorf("%s has sessions %v, want %v", table, got, want)
		}
	}
	if got := column(t, db, "select count(*) from sessions"); got[0] != "3" {
		t.Errorf("%s rows of 3 sessions, one of which is named twice", got[0])
	}
	none := open(t, Options{Roots: []string{filepath.Join(top, "a")}, Sessions: []string{"none"}})
	if got := column(t, none, "select count(*) from sessions"); got[0] != "0" {
		t.Errorf("%s sessions for an id that is not there", got[0])
	}
}

// TestOtherSchemas: files of an older schema have NULL in the newer columns,
// columns of a newer one are left out.
func TestOtherSchemas(t *testing.T) {
	f := newFixture(t)
	f.session("s")
	f.case_("s", 1, 1, "cold")
	f.exec("alter table cases drop eos_ban")
	f.exec("alter table cases add column invented int")
	db := f.open(Options{})
	if got := column(t, db, "select eos_ban is null and pp = 128 from cases"); !slices.Equal(got, []string{"true"}) {
		t.Errorf("an older file reads as %v", got)
	}
	if _, err := db.Query(t.Context(), "select invented from cases"); err == nil {
		t.Error("a column from nowhere is in the table")
	}
}

// TestFilterReachesFiles: a filter on a view opens only the files it needs.
func TestFilterReachesFiles(t *testing.T) {
	root := t.TempDir()
	o := analyzetest.Options{Targets: 1, PP: []int64{8}, Repeats: 1, Tokens: 2, Concurrency: []int64{1}}
	export(t, root, slices.Collect(analyzetest.Fleet(3, 4, o))...)
	db := open(t, Options{Roots: []string{root}})
	where, err := db.ofSessions(t.Context(), column(t, db, "select session_id from sessions where host = '007' and date = '2026-01-16'"))
	if err != nil {
		t.Fatal(err)
	}
	_, span, _ := strings.Cut(where, " and ")
	for _, view := range []string{"runs", "batch_runs", "summary"} {
		for _, filter := range []string{"host = '007' and date = '2026-01-16'", span} {
			plan := strings.Join(planOf(t, db, "explain (analyze, format json) select * from "+view+" where "+filter), "\n")
			scans := regexp.MustCompile(`"Scanning Files": "(\d+)/12"`).FindAllStringSubmatch(plan, -1)
			if all := strings.Count(plan, `"Total Files Read"`); len(scans) < 4 || len(scans) != all {
				t.Errorf("%s where %s: %d of %d scans skip files, want all", view, filter, len(scans), all)
			}
			for _, scan := range scans {
				if scan[1] != "1" {
					t.Errorf("%s where %s: a scan opens %s files, want 1", view, filter, scan[1])
				}
			}
		}
	}
}

func planOf(t *testing.T, db *DB, sql string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for row, err := range rows.All() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(row...))
	}
	return out
}
