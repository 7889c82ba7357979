package analyze

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// SchemaVersion counts the changes of tables and columns, FormulaVersion those
// of the rules behind derived figures. Both stand in every file; a dataset of
// another version is written anew from the store.
const (
	SchemaVersion  = 1
	FormulaVersion = 1
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
	}
}

func declared[R any](cols []column[R]) []Column {
	out := make([]Column, len(cols))
	for i, c := range cols {
		out[i] = c.Column
	}
	return out
}

// column is the one declaration of a column of rows R: what the schema, the
// writer and the documentation know of it comes from here.
type column[R any] struct {
	Column
	lowCard bool // few distinct values: written with a dictionary
	// write appends a value for each of rows; b has room for them.
	write func(b array.Builder, rows []R)
}

// low declares that a column has few distinct values.
func low[R any](c column[R]) column[R] {
	c.lowCard = true
	return c
}

// in gives a column its unit.
func in[R any](unit string, c column[R]) column[R] {
	c.Unit = unit
	return c
}

func int64Col[R any](name, doc string, get func(*R) int64) column[R] {
	return column[R]{Column: Column{Name: name, Type: Int64, Doc: doc},
		write: func(b array.Builder, rows []R) {
			bld := b.(*array.Int64Builder)
			for i := range rows {
				bld.UnsafeAppend(get(&rows[i]))
			}
		}}
}

// optCol declares a column with NULLs: get returns nil for them.
func optCol[R, T any, B interface {
	array.Builder
	Append(T)
}](name string, t ColumnType, doc string, get func(*R) *T) column[R] {
	return column[R]{Column: Column{Name: name, Type: t, Doc: doc},
		write: func(b array.Builder, rows []R) {
			bld := b.(B)
			for i := range rows {
				if v := get(&rows[i]); v != nil {
					bld.Append(*v)
				} else {
					bld.AppendNull()
				}
			}
		}}
}

func optInt64[R any](name, doc string, get func(*R) *int64) column[R] {
	return optCol[R, int64, *array.Int64Builder](name, Int64, doc, get)
}

func double[R any](name, doc string, get func(*R) *float64) column[R] {
	return optCol[R, float64, *array.Float64Builder](name, Double, doc, get)
}

func optBool[R any](name, doc string, get func(*R) *bool) column[R] {
	return optCol[R, bool, *array.BooleanBuilder](name, Bool, doc, get)
}

func boolean[R any](name, doc string, get func(*R) bool) column[R] {
	return column[R]{Column: Column{Name: name, Type: Bool, Doc: doc},
		write: func(b array.Builder, rows []R) {
			bld := b.(*array.BooleanBuilder)
			for i := range rows {
				bld.Append(get(&rows[i]))
			}
		}}
}

// text declares a string column; the empty string is NULL.
func text[R any](name, doc string, get func(*R) string) column[R] {
	return column[R]{Column: Column{Name: name, Type: String, Doc: doc},
		write: func(b array.Builder, rows []R) {
			bld := b.(*array.StringBuilder)
			for i := range rows {
				if s := get(&rows[i]); s != "" {
					bld.Append(validUTF8(s))
				} else {
					bld.AppendNull()
				}
			}
		}}
}

// list declares a list of strings; an empty list is empty, not NULL, so that
// array_contains gives false and not NULL.
func list[R any](name, doc string, get func(*R) []string) column[R] {
	return column[R]{Column: Column{Name: name, Type: Strings, Doc: doc},
		write: func(b array.Builder, rows []R) {
			bld := b.(*array.ListBuilder)
			items := bld.ValueBuilder().(*array.StringBuilder)
			for i := range rows {
				bld.Append(true)
				for _, s := range get(&rows[i]) {
					items.Append(validUTF8(s))
				}
			}
		}}
}

// wall declares a wall time; the zero time is NULL.
func wall[R any](name, doc string, get func(*R) time.Time) column[R] {
	return column[R]{Column: Column{Name: name, Type: Timestamp, Doc: doc},
		write: func(b array.Builder, rows []R) {
			bld := b.(*array.TimestampBuilder)
			for i := range rows {
				if t := get(&rows[i]); !t.IsZero() {
					bld.Append(arrow.Timestamp(t.UnixMicro()))
				} else {
					bld.AppendNull()
				}
			}
		}}
}

// validUTF8 makes s fit for a string column: a server may have sent anything,
// and engines refuse a whole file for one bad byte.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

var arrowTypes = map[ColumnType]arrow.DataType{
	Int64:     arrow.PrimitiveTypes.Int64,
	Double:    arrow.PrimitiveTypes.Float64,
	Bool:      arrow.FixedWidthTypes.Boolean,
	String:    arrow.BinaryTypes.String,
	Strings:   arrow.ListOfNonNullable(arrow.BinaryTypes.String),
	Timestamp: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

// arrowSchema is the Arrow form of a declaration. Units and rules go with the
// fields, so that whoever opens a file finds them.
func arrowSchema[R any](cols []column[R], meta arrow.Metadata) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		var keys, values []string
		if c.Unit != "" {
			keys, values = append(keys, "unit"), append(values, c.Unit)
		}
		if c.Doc != "" {
			keys, values = append(keys, "rule"), append(values, c.Doc)
		}
		fields[i] = arrow.Field{Name: c.Name, Type: arrowTypes[c.Type], Nullable: true,
			Metadata: arrow.NewMetadata(keys, values)}
	}
	return arrow.NewSchema(fields, &meta)
}
