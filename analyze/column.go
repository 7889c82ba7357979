package analyze

import (
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
)

// column is the one declaration of a column of rows R: what the schema, the
// writer and the documentation know of it comes from here.
type column[R any] struct {
	Column
	lowCard bool // few distinct values: written with a dictionary
	fill    func(v *values, rows []R)
}

// values is a run of rows of one column as Parquet takes it: the values that
// are not NULL, and for each place its levels. A plain column has definition
// level 1 where there is a value and 0 where there is NULL. A list has an item
// at level 2 and is empty at level 1; its first item has repetition level 0.
type values struct {
	def, rep []int16
	ints     []int64 // times too
	doubles  []float64
	bools    []bool
	texts    []parquet.ByteArray
}

func (v *values) reset() {
	v.def, v.rep = v.def[:0], v.rep[:0]
	v.ints, v.doubles, v.bools = v.ints[:0], v.doubles[:0], v.bools[:0]
	clear(v.texts) // lets go of the strings
	v.texts = v.texts[:0]
}

func (v *values) null()            { v.def = append(v.def, 0) }
func (v *values) int64(x int64)    { v.def, v.ints = append(v.def, 1), append(v.ints, x) }
func (v *values) double(x float64) { v.def, v.doubles = append(v.def, 1), append(v.doubles, x) }
func (v *values) bool(x bool)      { v.def, v.bools = append(v.def, 1), append(v.bools, x) }

func (v *values) text(s string) {
	v.def, v.texts = append(v.def, 1), append(v.texts, byteArray(s))
}

func (v *values) list(items []string) {
	if len(items) == 0 {
		v.def, v.rep = append(v.def, 1), append(v.rep, 0)
	}
	for i, s := range items {
		v.def, v.rep = append(v.def, 2), append(v.rep, int16(min(i, 1)))
		v.texts = append(v.texts, byteArray(s))
	}
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

// declare makes a column whose value of one row is put by put.
func declare[R any](name string, t ColumnType, doc string, put func(*values, *R)) column[R] {
	return column[R]{Column: Column{Name: name, Type: t, Doc: doc},
		fill: func(v *values, rows []R) {
			for i := range rows {
				put(v, &rows[i])
			}
		}}
}

// optional declares a column with NULLs: get returns nil for them.
func optional[R, T any](name string, t ColumnType, doc string, get func(*R) *T, put func(*values, T)) column[R] {
	return declare(name, t, doc, func(v *values, r *R) {
		if x := get(r); x != nil {
			put(v, *x)
		} else {
			v.null()
		}
	})
}

func int64Col[R any](name, doc string, get func(*R) int64) column[R] {
	return declare(name, Int64, doc, func(v *values, r *R) { v.int64(get(r)) })
}

func boolean[R any](name, doc string, get func(*R) bool) column[R] {
	return declare(name, Bool, doc, func(v *values, r *R) { v.bool(get(r)) })
}

func optInt64[R any](name, doc string, get func(*R) *int64) column[R] {
	return optional(name, Int64, doc, get, (*values).int64)
}

func double[R any](name, doc string, get func(*R) *float64) column[R] {
	return optional(name, Double, doc, get, (*values).double)
}

func optBool[R any](name, doc string, get func(*R) *bool) column[R] {
	return optional(name, Bool, doc, get, (*values).bool)
}

// text declares a string column; the empty string is NULL.
func text[R any](name, doc string, get func(*R) string) column[R] {
	return declare(name, String, doc, func(v *values, r *R) {
		if s := get(r); s != "" {
			v.text(s)
		} else {
			v.null()
		}
	})
}

// list declares a list of strings; an empty list is empty, not NULL, so that
// array_contains gives false and not NULL.
func list[R any](name, doc string, get func(*R) []string) column[R] {
	return declare(name, Strings, doc, func(v *values, r *R) { v.list(get(r)) })
}

// wall declares a wall time; the zero time is NULL.
func wall[R any](name, doc string, get func(*R) time.Time) column[R] {
	return declare(name, Timestamp, doc, func(v *values, r *R) {
		if t := get(r); !t.IsZero() {
			v.int64(t.UnixMicro())
		} else {
			v.null()
		}
	})
}

// byteArray is the text of a string column. It shares the string's memory,
// which the writer only reads: a copy for each of millions of session ids
// would cost more than all the rest.
func byteArray(s string) parquet.ByteArray {
	s = validUTF8(s)
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// validUTF8 makes s fit for a string column: a server may have sent anything,
// and engines refuse a whole file for one bad byte.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
