package analyze

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// read reads a column of a row group.
func (v *values) read(group *file.RowGroupReader, i int) error {
	column, err := group.Column(i)
	if err != nil {
		return err
	}
	switch c := column.(type) {
	case *file.Int64ColumnChunkReader:
		v.ints, err = readValues(v, c, c.ReadBatch)
	case *file.Float64ColumnChunkReader:
		v.doubles, err = readValues(v, c, c.ReadBatch)
	case *file.BooleanColumnChunkReader:
		v.bools, err = readValues(v, c, c.ReadBatch)
	case *file.ByteArrayColumnChunkReader:
		v.texts, err = readValues(v, c, c.ReadBatch)
	default:
		err = fmt.Errorf("a type %s that the schema does not have", column.Type())
	}
	return err
}

// readValues reads a column to its end: its levels into v, its values out.
func readValues[T any](v *values, c file.ColumnChunkReader, read batchReader[T]) ([]T, error) {
	lists := c.Descriptor().MaxRepetitionLevel() > 0
	var out []T
	err := eachBatch(c, read, func(values []T, def, rep []int16) {
		v.def = append(v.def, def...)
		if lists {
			v.rep = append(v.rep, rep...)
		}
		for _, x := range values {
			out = append(out, owned(x))
		}
	})
	return out, err
}

// owned is a value that outlives the page it was read from.
func owned[T any](x T) T {
	if b, ok := any(x).(parquet.ByteArray); ok {
		return any(parquet.ByteArray(append([]byte(nil), b...))).(T)
	}
	return x
}

// rows is a run of rows of a column.
func (v *values) rows(from, to int, t ColumnType) values {
	full := int16(1) // the definition level of a value
	levelFrom, levelTo := from, to
	if t == Strings {
		full = 2
		levelFrom, levelTo = v.levelOf(from), v.levelOf(to)
	}
	valueFrom := countOf(v.def[:levelFrom], full)
	valueTo := valueFrom + countOf(v.def[levelFrom:levelTo], full)
	out := values{def: v.def[levelFrom:levelTo]}
	if t == Strings {
		out.rep = v.rep[levelFrom:levelTo]
	}
	switch t {
	case Double:
		out.doubles = v.doubles[valueFrom:valueTo]
	case Bool:
		out.bools = v.bools[valueFrom:valueTo]
	case String, Strings:
		out.texts = v.texts[valueFrom:valueTo]
	default:
		out.ints = v.ints[valueFrom:valueTo]
	}
	return out
}

// levelOf is where the levels of a row of lists begin.
func (v *values) levelOf(row int) int {
	for i, r := range v.rep {
		if r == 0 {
			if row == 0 {
				return i
			}
			row--
		}
	}
	return len(v.rep)
}

func countOf(levels []int16, level int16) int {
	n := 0
	for _, l := range levels {
		if l == level {
			n++
		}
	}
	return n
}
