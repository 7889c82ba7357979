//go:build cgo

package duck

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

// fixture makes a dataset out of SQL: rows no run would give, and many.
type fixture struct {
	t       testing.TB
	conn    *connection
	root    string
	version int // schema version said to be in the files; 0: none is
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	c, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.close() })
	f := &fixture{t: t, conn: c, root: filepath.Join(t.TempDir(), "dataset")}
	f.exec("set TimeZone = 'UTC'")
	f.exec("set threads = 1") // one file a partition
	for _, table := range analyze.Tables() {
		f.exec("create table %s as %s", table.Name, emptyTable(table))
	}
	return f
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	if err := f.conn.exec(f.t.Context(), fmt.Sprintf(sql, args...)); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

// session adds a session with one target.
func (f *fixture) session(id string) {
	f.exec(`insert into sessions (session_id, host, date, started_at) values ('%[1]s', 'h', '2026-01-02', '2026-01-02 10:00:00+00');
		insert into targets (session_id, host, date, target_id, engine, model_id) values ('%[1]s', 'h', '2026-01-02', 1, 'e', 'm')`, id)
}

// cases adds a case and its batches of the fixture's numbers.
func (f *fixture) case_(session string, id, batches int, cacheMode string) {
	f.exec(`insert into cases (session_id, host, date, target_id, case_id, pp, tg, concurrency, cache_mode, prompt_kind)
		values ('%[1]s', 'h', '2026-01-02', 1, %[2]d, 128, 64, 1, '%[4]s', 'sized');
		insert into batches (session_id, host, date, case_id, batch_id, segment, start_ns, warmup)
		select '%[1]s', 'h', '2026-01-02', %[2]d, %[2]d * 100000 + b, 1, b * 1000, false from range(1, %[3]d + 1) r(b)`,
		session, id, batches, cacheMode)
}

// write makes the dataset's files.
func (f *fixture) write() {
	f.t.Helper()
	for _, table := range analyze.Tables() {
		dir := filepath.Join(f.root, "table="+table.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			f.t.Fatal(err)
		}
		f.exec("copy %s to '%s' (format parquet, partition_by (host, date), overwrite_or_ignore, kv_metadata {'tokwatt.schema_version': '%d'})", table.Name, dir, f.version)
	}
}

func (f *fixture) open(o Options) *DB {
	f.t.Helper()
	f.write()
	o.Roots = append(o.Roots, f.root)
	return open(f.t, o)
}

func open(t testing.TB, o Options) *DB {
	t.Helper()
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// export writes synthetic sessions as a dataset.
func export(t testing.TB, root string, sessions ...analyzetest.Options) {
	t.Helper()
	for _, o := range sessions {
		if _, err := analyze.Export(t.Context(), analyzetest.Records(o), root, analyze.ExportOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
