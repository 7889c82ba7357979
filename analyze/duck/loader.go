package duck

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
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
	return "select " + strings.Join(typedColumns(t), ", ") + " where false"
}

// typedColumns are a table's columns as typed NULLs, the partition columns
// behind session_id.
func typedColumns(t analyze.Table) []string {
	typed := func(name, sqlType string) string { return fmt.Sprintf("cast(null as %s) as %s", sqlType, name) }
	var cols []string
	for _, c := range t.Columns {
		cols = append(cols, typed(c.Name, sqlTypes[c.Type]))
		if c.Name == "session_id" {
			cols = append(cols, typed("host", "varchar"), typed("date", "date"))
		}
	}
	return cols
}

// columnNames are the names of typedColumns.
func columnNames(t analyze.Table) []string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
		if c.Name == "session_id" {
			names = append(names, "host", "date")
		}
	}
	return names
}

// loader selects a table's rows from its files. host is declared a string:
// from folders host=007 and host=12 DuckDB would make the numbers 7 and 12.
//
// Files of one schema are read by the columns of whichever comes first. Files
// of several are joined by column name, over the empty table for columns that
// none of them has. That opens every file for each mention of a table, 0.3 ms
// a file, and the summary mentions tables some thirty times.
func loader(t analyze.Table, files []string, oneSchema bool) string {
	if len(files) == 0 {
		return emptyTable(t)
	}
	columns := strings.Join(columnNames(t), ", ")
	const types = "hive_partitioning = true, hive_types = {'host': varchar, 'date': date}"
	if oneSchema {
		return fmt.Sprintf("select %s from read_parquet(%s, %s)", columns, pathList(files), types)
	}
	return fmt.Sprintf("select %s from (%s union all by name select * from read_parquet(%s, union_by_name = true, %s))",
		columns, emptyTable(t), pathList(files), types)
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
		out = append(out, "create or replace temp view "+t.Name+" as\n"+loader(t, files, false))
	}
	return out, nil
}

func pathList(paths []string) string {
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = quote(p)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// oneSchema reports whether all sessions were written with this schema version.
// Their files of table sessions answer for all of a session's files: they were
// written together.
func (db *DB) oneSchema(ctx context.Context) (bool, error) {
	files := db.paths("sessions")
	if len(files) == 0 {
		return false, nil
	}
	same := false
	err := db.each(ctx, func(row []any) { same, _ = row[0].(bool) }, fmt.Sprintf(`
		select (select count(*) from parquet_kv_metadata(%[1]s) where decode(key) = 'tokwatt.schema_version' and decode(value) = '%[2]d')
		     = (select count(*) from glob(%[1]s))`,
		pathList(files), analyze.SchemaVersion))
	return same, err
}

// paths are a table's files as DuckDB finds them: those of the wanted sessions
// one by one, or a pattern for each root that has any, for DuckDB takes a
// pattern without a match for a mistake. Of 200 sessions a pattern costs 6 ms
// each time the table is mentioned, and the file of one session less than one.
func (db *DB) paths(table string) []string {
	var out []string
	for _, root := range db.roots {
		dir := root + "/table=" + table
		if len(db.sessions) == 0 && len(findFiles(dir, []string{"*"}, 1)) > 0 {
			out = append(out, dir+"/*/*/*.parquet")
		}
		for _, file := range findFiles(dir, db.sessions, math.MaxInt) {
			out = append(out, dir+"/"+file)
		}
	}
	return out
}

// findFiles lists up to limit files host=*/date=*/NAME.parquet below dir, for
// some names. It follows links, as DuckDB does.
func findFiles(dir string, names []string, limit int) []string {
	var out []string
	tree := os.DirFS(dir)
	for _, host := range folders(tree, ".") {
		for _, date := range folders(tree, host) {
			for _, name := range names {
				files, _ := fs.Glob(tree, date+"/"+name+".parquet")
				if out = append(out, files...); len(out) >= limit {
					return out
				}
			}
		}
	}
	return out
}

func folders(tree fs.FS, dir string) []string {
	entries, _ := fs.ReadDir(tree, dir)
	var out []string
	for _, e := range entries {
		out = append(out, path.Join(dir, e.Name()))
	}
	return out
}

func hasPattern(path string) bool { return strings.ContainsAny(path, `*?[]\=`) }

// createView replaces a temporary view. It names the view without quotes: all
// names here are ours.
func (db *DB) createView(ctx context.Context, name, query string) error {
	return db.conn.exec(ctx, "create or replace temp view "+name+" as "+query)
}
