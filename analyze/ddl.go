package analyze

import (
	"fmt"
	"strings"
)

// Dialect is the SQL of an engine that reads a dataset where it lies. DuckDB's
// is in package analyze/duck, which speaks it.
type Dialect string

// The dialects.
const (
	Spark      Dialect = "spark"
	Trino      Dialect = "trino"
	ClickHouse Dialect = "clickhouse"
)

// unquotable are characters that are a pattern of file names, the end of a
// literal or the end of a statement in one of the dialects.
const unquotable = "*?[]{}\\'\"`;\n\r"

// SQLRoot is a dataset's path or URL as it stands in SQL; an error where it
// can't.
func SQLRoot(root string) (string, error) {
	if i := strings.IndexAny(root, unquotable); i >= 0 {
		return "", fmt.Errorf("%s can't stand in SQL because of its %q: name the dataset by a path without it, such as a link", root, root[i])
	}
	return strings.TrimRight(root, "/"), nil
}

// TableSQL lists the statements, without semicolons, that make the tables of
// the dataset at root known to an engine, each with the columns of this schema
// version. A file of an older version has NULL in those it lacks. root is a
// path or a URL, as the engine understands it.
//
//   - Spark: temporary views of the session. It must not infer anything: from
//     folders host=007 and host=12 it would make numbers.
//   - Trino: external tables of a Hive catalog, in the schema of the session,
//     and the search for their partitions. That must run again when sessions
//     came.
//   - ClickHouse: views. The host is read from the path, since ClickHouse leaves
//     the escapes of a folder's name (Mac%20Mini) as they are. A root with a
//     scheme (s3://bucket/dataset) is read by the function s3, another by the
//     function file.
func TableSQL(d Dialect, root string) ([]string, error) {
	root, err := SQLRoot(root)
	if err != nil {
		return nil, err
	}
	var out []string
	switch d {
	case Spark:
		out = append(out, "set time zone 'UTC'")
		for _, t := range Tables() {
			out = append(out, sparkTable(t, root))
		}
	case Trino:
		for _, t := range Tables() {
			out = append(out, trinoTable(t, root), fmt.Sprintf("call system.sync_partition_metadata(current_schema, '%s', 'FULL')", t.Name))
		}
	case ClickHouse:
		for _, t := range Tables() {
			out = append(out, clickHouseTable(t, root))
		}
	default:
		return nil, fmt.Errorf("there is no dialect %q: take spark, trino or clickhouse", d)
	}
	return out, nil
}

var sparkTypes = map[ColumnType]string{
	Int64: "bigint", Double: "double", Bool: "boolean", String: "string", Strings: "array<string>", Timestamp: "timestamp",
}

func sparkTable(t Table, root string) string {
	cols := append(typed(t, sparkTypes), "host string", "date date")
	return fmt.Sprintf("create or replace temp view %s (\n  %s\n) using parquet options (path '%s/table=%s', pathGlobFilter '*.parquet')",
		t.Name, strings.Join(cols, ",\n  "), root, t.Name)
}

// trinoTypes are those of Trino's Hive connector, which knows no time zones:
// its timestamps are the UTC of the files.
var trinoTypes = map[ColumnType]string{
	Int64: "bigint", Double: "double", Bool: "boolean", String: "varchar", Strings: "array(varchar)", Timestamp: "timestamp(6)",
}

// trinoTable has the partition columns at the end, where Trino wants them.
func trinoTable(t Table, root string) string {
	cols := append(typed(t, trinoTypes), "host varchar", "date date")
	return fmt.Sprintf("create table if not exists %s (\n  %s\n) with (format = 'PARQUET', external_location = '%s/table=%s', partitioned_by = array['host', 'date'])",
		t.Name, strings.Join(cols, ",\n  "), root, t.Name)
}

// clickHouseTypes: an Array can't be Nullable there; where a file lacks the
// column it is empty.
var clickHouseTypes = map[ColumnType]string{
	Int64: "Nullable(Int64)", Double: "Nullable(Float64)", Bool: "Nullable(Bool)", String: "Nullable(String)",
	Strings: "Array(String)", Timestamp: "Nullable(DateTime64(6, ''UTC''))", // within a literal
}

func clickHouseTable(t Table, root string) string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	read := "file"
	if strings.Contains(root, "://") {
		read = "s3"
	}
	const part = "toString(extract(_path, '/%s=([^/]*)/'))"
	host, date := fmt.Sprintf("decodeURLComponent("+part+")", "host"), fmt.Sprintf("toDate("+part+")", "date")
	return fmt.Sprintf("create or replace view %s as\nselect %s,\n  %s as host, %s as date\nfrom %s('%s/table=%s/*/*/*.parquet', 'Parquet', '\n  %s')\nsettings use_hive_partitioning = 0",
		t.Name, strings.Join(names, ", "), host, date, read, root, t.Name, strings.Join(typed(t, clickHouseTypes), ",\n  "))
}

// typed are the columns of the files, each with its type.
func typed(t Table, types map[ColumnType]string) []string {
	var cols []string
	for _, c := range t.Columns {
		cols = append(cols, c.Name+" "+types[c.Type])
	}
	return cols
}
