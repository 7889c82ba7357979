package analyze

import "context"

// SchemaVersion counts the changes of tables and columns, FormulaVersion those
// of the rules behind derived figures. Both stand in every file; a dataset of
// another version is written anew from the store.
const (
	SchemaVersion  = 3
	FormulaVersion = 3
)

// ofBatchSince is the schema version since which requests repeat what
// [OfBatchColumns] lists. In older files it stands in batches alone.
const ofBatchSince = 3

// OfBatchColumns are the columns of requests that repeat one of batches, with
// its name there: so nobody has to join the two to know a request's case, or to
// leave out warm-ups. Of five million requests that join is most of the time
// that a median takes.
func OfBatchColumns() map[string]string {
	return map[string]string{
		"case_id": "case_id", "repeat_index": "repeat_index", "warmup": "warmup", "client_cpu_pct": "client_cpu_pct",
		"speed_limit_pct": "speed_limit_pct", "throttled": "throttled", "batch_flags": "flags",
	}
}

// ColumnType is the type of a column. There are these and no others: each is
// read alike by DuckDB, Spark, Trino, pyarrow and polars.
type ColumnType string

// The column types, by their Arrow names.
const (
	Int64     ColumnType = "int64"
	Double    ColumnType = "double"
	Bool      ColumnType = "bool"
	String    ColumnType = "string"
	Strings   ColumnType = "list<string>"
	Timestamp ColumnType = "timestamp[us, UTC]"
)

// Column is what a table says of one of its columns.
type Column struct {
	Name string
	Type ColumnType
	Unit string // "ms", "tok/s"; empty where there is none
	Doc  string // the rule of a derived figure, else what it is
}

// Table is the declaration of a table.
type Table struct {
	Name    string
	Columns []Column
}

// Tables declares all tables of a dataset, with their columns in order. The
// partition columns host (string) and date are in the path, not in the list.
func Tables() []Table {
	var out []Table
	for _, d := range declarations() {
		out = append(out, d.table())
	}
	return out
}

// declaration is a table, whatever its rows are.
type declaration interface {
	table() Table
	// merge copies rows of the table's files under root to one file, in order.
	merge(ctx context.Context, to tableFile, root string, parts []piece) error
	// bundle does so with host and date as columns.
	bundle(ctx context.Context, to tableFile, root string, parts []piece) error
}

// declarations are the tables in the order of Tables.
func declarations() []declaration {
	return []declaration{
		declared[SessionRow]{"sessions", sessionColumns()},
		declared[SegmentRow]{"segments", segmentColumns()},
		declared[TargetRow]{"targets", targetColumns()},
		declared[CaseRow]{"cases", caseColumns()},
		declared[BatchRow]{"batches", batchColumns()},
		declared[RequestRow]{"requests", requestColumns()},
		declared[ChunkRow]{"chunks", chunkColumns()},
		declared[SampleRow]{"samples", sampleColumns()},
		declared[EnergyRow]{"energy", energyColumns()},
	}
}

// declared is a table of rows of one type.
type declared[R any] struct {
	name    string
	columns []column[R]
}

func (d declared[R]) table() Table {
	t := Table{Name: d.name, Columns: make([]Column, len(d.columns))}
	for i, c := range d.columns {
		t.Columns[i] = c.Column
	}
	return t
}
