package analyze

// SchemaVersion counts the changes of tables and columns, FormulaVersion those
// of the rules behind derived figures. Both stand in every file; a dataset of
// another version is written anew from the store.
const (
	SchemaVersion  = 2
	FormulaVersion = 2
)

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
	return []Table{
		{"sessions", declared(sessionColumns())},
		{"segments", declared(segmentColumns())},
		{"targets", declared(targetColumns())},
		{"cases", declared(caseColumns())},
		{"batches", declared(batchColumns())},
		{"requests", declared(requestColumns())},
		{"chunks", declared(chunkColumns())},
		{"samples", declared(sampleColumns())},
		{"energy", declared(energyColumns())},
	}
}

func declared[R any](cols []column[R]) []Column {
	out := make([]Column, len(cols))
	for i, c := range cols {
		out[i] = c.Column
	}
	return out
}
