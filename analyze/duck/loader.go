package duck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tokwatt/analyze"
)

// sqlTypes are DuckDB's words for the column types.
var sqlTypes = map[analyze.ColumnType]string{
	analyze.Int64:     "bigint",
	analyze.Double:    "double",
	analyze.Bool:      "boolean",
	analyze.String:    "varchar",
	analyze.Strings:   "varchar[]",
	analyze.Timestamp: "timestamp with time zone",
}

// emptyTable declares a table without rows. It gives a table without files its
// columns, and a table whose files are all of an older schema the newer ones.
func emptyTable(t analyze.Table) string {
	var nulls []string
	for _, c := range columnsOf(t) {
		nulls = append(nulls, fmt.Sprintf("cast(null as %s) as %s", c.sqlType, c.name))
	}
	return "select " + strings.Join(nulls, ", ") + " where false"
}

// columnNames are a table's columns, as a list of SQL.
func columnNames(t analyze.Table) string {
	var names []string
	for _, c := range columnsOf(t) {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

type sqlColumn struct{ name, sqlType string }

// columnsOf are a table's columns, the partition columns behind session_id.
func columnsOf(t analyze.Table) []sqlColumn {
	var cols []sqlColumn
	for _, c := range t.Columns {
		cols = append(cols, sqlColumn{c.Name, sqlTypes[c.Type]})
		if c.Name == "session_id" {
			cols = append(cols, sqlColumn{"host", "varchar"}, sqlColumn{"date", "date"})
		}
	}
	return cols
}

// fileGroup is files of one schema version, as DuckDB finds them.
type fileGroup struct {
	schema  int    // 0: not known, and not the same in all
	bundled bool   // host and date are columns, and not in the path
	only    string // as a list of SQL: the sessions to take from them, of all that there are; empty: all
	paths   []string
}

// loader selects a table's rows from its files; only, where it is not empty,
// is the list of sessions to take from files that have others too. host is
// declared a string: from folders host=007 and host=12 DuckDB would make the
// numbers 7 and 12.
//
// Files of one schema version are read by the columns of whichever comes first.
// Those of other versions than ours are joined by column name with the empty
// table, which has the columns that they lack; what they have beyond it is left
// out. Where the version is not known every file is opened for its columns, for
// each mention of the table: 0.3 ms a file, and the summary mentions tables some
// thirty times.
//
// Requests of other versions that do not repeat what their batch was take it
// from batches, which must be there before.
func loader(t analyze.Table, groups []fileGroup, only string) string {
	const types = "hive_partitioning = true, hive_types = {'host': varchar, 'date': date}"
	where := func(only string) string {
		if only == "" {
			return ""
		}
		return " where session_id in (" + only + ")"
	}
	columns := columnNames(t)
	if len(groups) == 1 && groups[0].schema == analyze.SchemaVersion && !groups[0].bundled && groups[0].only == "" {
		return fmt.Sprintf("select %s from read_parquet(%s, %s)%s", columns, pathList(groups[0].paths), types, where(only))
	}
	parts := []string{emptyTable(t)}
	for _, g := range groups {
		how := types
		if g.schema == 0 {
			how += ", union_by_name = true"
		}
		rows := fmt.Sprintf("select * from read_parquet(%s, %s)%s", pathList(g.paths), how, where(cmp.Or(g.only, only)))
		if g.bundled {
			rows = fmt.Sprintf("select * replace (cast(date as date) as date) from read_parquet(%s)", pathList(g.paths))
		}
		if t.Name == "requests" && g.schema != analyze.SchemaVersion {
			rows = withBatch(t, rows)
		}
		parts = append(parts, rows)
	}
	if len(parts) == 1 {
		return emptyTable(t)
	}
	return fmt.Sprintf("select %s from (%s)", columns, strings.Join(parts, " union all by name "))
}

// withBatch fills the columns that requests repeat of their batch where they
// are NULL, or not in the files at all.
func withBatch(requests analyze.Table, rows string) string {
	var columns []string
	for _, c := range columnsOf(requests) {
		of, ok := analyze.OfBatchColumns()[c.name]
		if !ok {
			columns = append(columns, "r."+c.name)
			continue
		}
		columns = append(columns, fmt.Sprintf("coalesce(r.%s, b.%s) as %s", c.name, of, c.name))
	}
	return fmt.Sprintf("select %s from (%s union all by name %s) r left join batches b on r.case_id is null"+
		" and b.host = r.host and b.date = r.date and b.session_id = r.session_id and b.batch_id = r.batch_id",
		strings.Join(columns, ", "), emptyTable(requests), rows)
}

// TableSQL lists the statements, without semicolons, that make the tables of
// the dataset at root temporary views of a DuckDB session other than ours, each
// with the columns of this schema version. root is a path or URL as DuckDB
// understands it. [analyze.TableSQL] does it for other engines.
func TableSQL(root string) ([]string, error) {
	root, err := analyze.SQLRoot(root)
	if err != nil {
		return nil, err
	}
	out := []string{"set TimeZone = 'UTC'"}
	for _, t := range analyze.Tables() {
		files := []string{root + "/table=" + t.Name + "/*/*/*.parquet"}
		out = append(out, "create or replace temp view "+t.Name+" as\n"+loader(t, []fileGroup{{paths: files}}, ""))
	}
	return out, nil
}

func pathList(paths []string) string { return "[" + literals(paths) + "]" }

// literals are words as a list of SQL.
func literals(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, ", ")
}

// numbers is the list as one of SQL.
func numbers(list []int64) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(words, ", ")
}

// tableFiles are the files of one table.
type tableFiles struct {
	groups []fileGroup
	shared bool              // some have sessions beside the wanted ones
	sums   map[string]string // SHA-256 by path, where a manifest says
}

// list finds the files of all tables as they are at this instant, none of some,
// and says of each root which instant that was.
func (db *DB) list() (map[string]*tableFiles, []int64, error) {
	out := map[string]*tableFiles{}
	for _, t := range analyze.Tables() {
		out[t.Name] = &tableFiles{sums: map[string]string{}}
	}
	db.missing = map[string]bool{}
	states := make([]int64, len(db.roots))
	for i, root := range db.roots {
		files, state, err := analyze.DatasetFiles(root, db.sessions...)
		if err != nil {
			return nil, nil, err
		}
		states[i] = state
		for _, f := range files {
			if f.Missing {
				db.missing[root+"/"+f.Path] = true
				continue
			}
			if of := out[f.Table]; of != nil { // not a later program's
				of.add(f, root+"/"+f.Path)
			}
		}
	}
	return out, states, nil
}

func (t *tableFiles) add(f analyze.DatasetFile, path string) {
	t.sums[path] = f.SHA256
	t.shared = t.shared || f.Shared
	only := literals(f.Only)
	i := slices.IndexFunc(t.groups, func(g fileGroup) bool { return g.schema == f.Schema && g.bundled == f.Bundled && g.only == only })
	if i < 0 {
		i = len(t.groups)
		t.groups = append(t.groups, fileGroup{schema: f.Schema, bundled: f.Bundled, only: only})
	}
	t.groups[i].paths = append(t.groups[i].paths, path)
}

// load lists the files that are there now, and puts them behind the tables that
// are made.
func (db *DB) load(ctx context.Context) error {
	files, states, err := db.list()
	if err != nil {
		return err
	}
	db.files = files
	for _, of := range files {
		db.newer = max(db.newer, of.newest())
	}
	tables := slices.DeleteFunc(analyze.Tables(), func(t analyze.Table) bool { return !db.made[t.Name] })
	if err := db.loadTables(ctx, tables); err != nil {
		return err
	}
	db.states = states
	return nil
}

// mixed reports whether files are of another schema version than ours.
func (t *tableFiles) mixed() bool {
	return slices.ContainsFunc(t.groups, func(g fileGroup) bool { return g.schema != analyze.SchemaVersion })
}

// newest is the newest schema version of the files.
func (t *tableFiles) newest() int {
	newest := 0
	for _, g := range t.groups {
		newest = max(newest, g.schema)
	}
	return newest
}

// follow makes the tables anew where a dataset has changed since: sessions have
// come, or files were merged.
func (db *DB) follow(ctx context.Context) error {
	states, err := db.now()
	if err != nil || slices.Equal(states, db.states) {
		return err
	}
	return db.load(ctx)
}

func hasPattern(path string) bool { return strings.ContainsAny(path, `*?[]\=`) }

// createView replaces a temporary view. It names the view without quotes: all
// names here are ours.
func (db *DB) createView(ctx context.Context, name, query string) error {
	return db.conn.exec(ctx, "create or replace temp view "+name+" as "+query)
}
