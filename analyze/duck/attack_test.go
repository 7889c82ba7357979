//go:build cgo

package duck

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sandbox is a folder with a dataset, and beside it what a query must not see.
// In attacks ROOT is the dataset and OUT the folder beside it, whose name
// begins with the dataset's.
func sandbox(t *testing.T) (root, out string) {
	t.Helper()
	top := t.TempDir()
	root, out = filepath.Join(top, "data"), filepath.Join(top, "data2")
	c, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	part := filepath.Join(root, "table=segments", "host=a", "date=2026-01-02")
	for _, dir := range []string{part, out} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{
		"copy (select 's' as session_id, 1::bigint as segment) to '" + part + "/s.parquet'",
		"copy (select 42 as secret) to '" + out + "/secret.parquet'",
		"copy (select 42 as secret) to '" + out + "/secret.csv'",
		"attach '" + out + "/secret.db' as d; create table d.t as select 42 as secret; detach d",
	} {
		if err := c.exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return root, out
}

func openSandbox(t *testing.T) (db *DB, root, out string) {
	t.Helper()
	root, out = sandbox(t)
	db, err := Open(t.Context(), Options{Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, root, out
}

// outsideReads try to see a file or the network. The lock alone must stop
// them, whatever the gate thinks.
var outsideReads = []string{
	"select * from read_csv('OUT/secret.csv')",
	"select * from read_csv_auto('OUT/secret.csv')",
	"select * from 'OUT/secret.csv'",
	`select * from "OUT/secret.parquet"`,
	"select * from read_parquet('OUT/secret.parquet')",
	"select * from parquet_scan(['OUT/secret.parquet'])",
	"select * from read_parquet('ROOT/../data2/secret.parquet')",
	"select * from read_parquet('ROOT/table=segments/*/../../../data2/*.parquet')",
	"select * from read_parquet('ROOT2/secret.parquet')",
	"select * from read_parquet('file://OUT/secret.parquet')",
	"select * from parquet_metadata('OUT/secret.parquet')",
	"select * from parquet_schema('OUT/secret.parquet')",
	"select * from parquet_kv_metadata('OUT/secret.parquet')",
	"select * from parquet_file_metadata('OUT/secret.parquet')",
	"select * from read_text('/etc/passwd')",
	"select * from read_text(['/etc/passwd'])",
	"select * from read_blob('/proc/self/environ')",
	"select * from read_csv('/dev/stdin')",
	"select * from read_json('OUT/secret.csv')",
	"select * from read_json_objects('/etc/hostname')",
	"select * from read_ndjson('/etc/hostname')",
	"select * from read_duckdb('OUT/secret.db')",
	"select * from sniff_csv('OUT/secret.csv')",
	"select * from glob('/etc/*')",
	"select * from glob('OUT/*')",
	"select * from glob('ROOT/../*')",
	"select getenv('HOME')",
	"select * from read_parquet('http://127.0.0.1:9/x.parquet')",
	"select * from read_csv('https://127.0.0.1:9/x.csv')",
	"select * from read_parquet('s3://bucket/x.parquet')",
	"select (select max(content) from read_text('/etc/passwd'))",
	"select * from runs where error in (select content from read_text('/etc/passwd'))",
	"with recursive w as (select content from read_text('/etc/passwd')) select * from w",
	"from query('select * from read_text(''/etc/passwd'')')",
	"from query_table('OUT/secret.csv')",
	"describe select * from read_csv('OUT/secret.csv')",
	"summarize 'OUT/secret.csv'",
	"explain analyze select * from read_csv('OUT/secret.csv')",
}

// effects try to change something: the disk, the session, the database.
var effects = []string{
	"copy (select 1) to 'OUT/x.csv'",
	"copy (select 1) to 'ROOT/x.csv'",
	"copy runs to 'ROOT/x.parquet' (format parquet)",
	"copy (select 1) to 'ROOT' (format parquet, partition_by (x))",
	"explain analyze copy (select 1) to 'ROOT/x.csv'",
	"EXPLAIN (ANALYZE) COPY (SELECT 1) TO 'ROOT/x.csv'",
	"explain (analyze, format json) copy (select 1) to 'ROOT/x.csv'",
	"/* */ explain /* */ analyze copy (select 1) to 'ROOT/x.csv'",
	"-- select\nexplain analyze copy (select 1) to 'ROOT/x.csv'",
	"explain copy (select 1) to 'ROOT/x.csv'",
	"explain (analyze, codegen) select 1",
	"explain analyze create table t (i int)",
	"explain analyze set threads = 1",
	"select 1; copy (select 1) to 'ROOT/x.csv'",
	"copy (select 1) to 'ROOT/x.csv'; select 1",
	"select 1;;select 2",
	"select 1; --\nselect 2",
	"from query('copy (select 1) to ''ROOT/x.csv''')",
	"select * from json_execute_serialized_sql(json_serialize_sql('select 1'))",
	"pragma json_execute_serialized_sql('x')",
	"call enable_logging(storage = 'file', storage_config = {'path': 'ROOT/log'})",
	"select * from enable_logging(storage = 'file', storage_config = {'path': 'ROOT/log'})",
	"select * from system.main.enable_logging(storage = 'file', storage_config = {'path': 'OUT/log'})",
	`select * from "ENABLE_logging"()`,
	"select (select count(*) from enable_logging())",
	"with x as (from disable_logging()) select 1",
	"select 1 union all from truncate_duckdb_logs()",
	"select * from (values (1)) v(i), lateral (from enable_logging())",
	"describe from enable_logging()",
	"from enable_profiling(save_location = 'ROOT/p.json')",
	"from checkpoint()", "from force_checkpoint()", "from enable_peg_parser()",
	"from duckdb_secrets()", "from which_secret('s3://x', 's3')", "from arrow_scan(1, 2, 3)", "from seq_scan()",
	"select write_log('x')", "select setseed(0.5)", "select nextval('s')",
	"create table t (i int)", "create temp table t (i int)", "create view v as select 1",
	"create or replace temp view runs as select 1", "create macro m() as 1", "create sequence s",
	"create schema s", "create type t as int", "create secret s (type s3)",
	"create table t as from read_text('/etc/passwd')",
	"drop view runs", "alter view runs rename to r", "comment on view runs is 'x'",
	"insert into runs values (1)", "update runs set error = 'x'", "delete from runs", "truncate runs",
	"with x as (insert into runs values (1) returning 1) select * from x",
	"merge into runs using cases on true when matched then delete",
	"attach 'OUT/secret.db'", "attach 'ROOT/new.db'", "attach ':memory:' as m", "detach memory", "use memory",
	"export database 'ROOT/dump'", "import database 'OUT'", "copy from database memory to temp",
	"install httpfs", "load httpfs", "load 'OUT/x.duckdb_extension'", "force install httpfs from 'http://127.0.0.1:9'", "update extensions",
	"set threads = 1", "set enable_external_access = true", "set allowed_directories = ['/']", "set temp_directory = 'OUT'",
	"set lock_configuration = false", "reset lock_configuration", "reset all", "set variable x = 1", "set search_path = 'x'",
	"set global log_query_path = 'ROOT/q.log'", "set profiling_output = 'ROOT/p.json'",
	"pragma enable_profiling", "pragma profiling_output = 'ROOT/p.json'", "pragma show_tables", "pragma database_list",
	"call pragma_version()", "prepare p as select 1", "execute p", "deallocate p",
	"begin", "commit", "rollback", "checkpoint", "vacuum", "analyze", "pivot runs on engine using count(*)",
	"select ?", "select $1", "", "  ", ";", "-- nothing", "no sql at all",
	"select 1\x00; copy (select 1) to 'ROOT/x.csv'", "select '\xff'", "select " + deep,
}

// deep nests further than any parser's stack should follow.
var deep = strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000)

func fill(sql, root, out string) string {
	return strings.NewReplacer("ROOT", root, "OUT", out).Replace(sql)
}

func TestAttacksFail(t *testing.T) {
	db, root, out := openSandbox(t)
	before := tree(t, filepath.Dir(root), db.scratch)
	settings := column(t, db, "select concat_ws('=', name, value) from duckdb_settings() order by 1")
	for _, attack := range slices.Concat(outsideReads, effects) {
		sql := fill(attack, root, out)
		rows, err := db.Query(t.Context(), sql)
		if err == nil {
			rows.Close()
			t.Errorf("ran: %s", sql)
			continue
		}
		if msg := err.Error(); strings.ContainsAny(msg, "\n\t") || len(msg) > 600 {
			t.Errorf("%s: not a sentence: %q", sql, msg)
		}
	}
	if after := tree(t, filepath.Dir(root), db.scratch); !slices.Equal(before, after) {
		t.Errorf("files changed: before %v, after %v", before, after)
	}
	if after := column(t, db, "select concat_ws('=', name, value) from duckdb_settings() order by 1"); !slices.Equal(settings, after) {
		t.Errorf("settings changed: before %v, after %v", settings, after)
	}
	if n := column(t, db, "select count(*) from segments"); !slices.Equal(n, []string{"1"}) {
		t.Errorf("the session reads %v segments after the attacks, want 1", n)
	}
}

// TestLockAlone runs reads of what is outside without the gate, and shows that
// they do read where there is no lock.
func TestLockAlone(t *testing.T) {
	db, root, out := openSandbox(t)
	for _, attack := range outsideReads {
		if set, err := db.conn.query(t.Context(), fill(attack, root, out)); err == nil {
			set.Close()
			t.Errorf("the lock let through: %s", fill(attack, root, out))
		}
	}
	open, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer open.close()
	for _, attack := range outsideReads[:8] {
		set, err := open.query(t.Context(), fill(attack, root, out))
		if err != nil {
			t.Errorf("%s fails without a lock too (%v): it proves nothing", attack, err)
			continue
		}
		set.Close()
	}
}

// TestGateAlone lets the gate judge effects without a lock.
func TestGateAlone(t *testing.T) {
	root, out := sandbox(t)
	open, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer open.close()
	db := &DB{conn: open}
	for _, attack := range effects {
		if _, err := db.vet(t.Context(), fill(attack, root, out)); err == nil {
			// What the gate leaves to the driver's statement type or the binder.
			if set, err := open.query(t.Context(), fill(attack, root, out)); err == nil {
				set.Close()
				t.Errorf("the gate let through: %s", attack)
			}
		}
	}
}

func TestReadingStatementsRun(t *testing.T) {
	db, root, out := openSandbox(t)
	for _, sql := range []string{
		"select 1", "SELECT 1;", "select 1 ; ", "select ';' as a -- ; comment", "/* c */ select 1", "(select 1)",
		"with a as (select 1 as x) select x from a", "with recursive a(x) as (select 1 union all select x + 1 from a where x < 3) from a",
		"values (1, 'a')", "from runs", "from summary select session_id", "table runs",
		"select * from runs r join batches b using (session_id, batch_id)", "select unnest([1, 2])",
		"select * from range(3)", "select * from generate_series(1, 3)", "from json_each('{\"a\": 1}')",
		"describe runs", "describe select 1", "show tables", "show all tables", "show runs", "summarize segments", "summarize select 1",
		"explain select 1", "EXPLAIN ANALYZE select count(*) from runs", "explain (format json) select 1",
		"explain (analyze, format json) select 1", "explain (select 1)", "-- c\nexplain select 1",
		"pivot segments on host in ('a', 'b') using count(*)", "unpivot (select 1 as a, 2 as b) on a, b",
		"select * from read_parquet('ROOT/table=segments/*/*/*.parquet')", "from glob('ROOT/*/*/*/*')",
		"from information_schema.tables", "from duckdb_columns()", "select current_setting('TimeZone')", "select version()",
		"select count(*) filter (where in_stats), quantile_cont(ttft_ms, 0.9), mad(ttft_ms) from runs group by all",
		"select * from runs asof join batches on runs.session_id = batches.session_id and runs.start_ns >= batches.start_ns",
		"select list_transform([1, 2], lambda x: x + 1)", "select session_id from segments using sample 1 rows",
	} {
		rows, err := db.Query(t.Context(), fill(sql, root, out))
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		for _, err := range rows.All() {
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
		rows.Close()
	}
}

// column reads the first column of a query as text.
func column(t *testing.T, db *DB, sql string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	var out []string
	for row, err := range rows.All() {
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		out = append(out, fmt.Sprint(row[0]))
	}
	return out
}

// tree lists folders, and files with size and time, below some folders.
func tree(t *testing.T, dirs ...string) []string {
	t.Helper()
	var out []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				out = append(out, path)
				return nil
			}
			info, err := d.Info()
			out = append(out, fmt.Sprint(path, info.Size(), info.ModTime()))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
