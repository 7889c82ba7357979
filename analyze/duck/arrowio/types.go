package arrowio

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tokwatt/analyze/duck"
	"tokwatt/analyze/duck/rowio"
)

// field is how values of one SQL type, as [duck.Rows.All] has them, become
// Arrow's.
type field struct {
	arrow arrow.DataType
	fill  func(array.Builder, any) error // of what is not NULL
}

func (f field) put(b array.Builder, v any) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	return f.fill(b, v)
}

// fields are the types that keep their kind. Decimals, and integers that may
// be wider than 64 bits, as sums are, become doubles, as they do in Parquet;
// what is not listed (intervals, UUIDs, structs, maps) is its text, a struct's
// in JSON.
var fields = map[string]field{
	"BOOLEAN":      {arrow.FixedWidthTypes.Boolean, put(func(b *array.BooleanBuilder, v bool) { b.Append(v) })},
	"TINYINT":      {arrow.PrimitiveTypes.Int8, put(func(b *array.Int8Builder, v int64) { b.Append(int8(v)) })},
	"SMALLINT":     {arrow.PrimitiveTypes.Int16, put(func(b *array.Int16Builder, v int64) { b.Append(int16(v)) })},
	"INTEGER":      {arrow.PrimitiveTypes.Int32, put(func(b *array.Int32Builder, v int64) { b.Append(int32(v)) })},
	"BIGINT":       {arrow.PrimitiveTypes.Int64, put(func(b *array.Int64Builder, v int64) { b.Append(v) })},
	"UTINYINT":     {arrow.PrimitiveTypes.Uint8, put(func(b *array.Uint8Builder, v int64) { b.Append(uint8(v)) })},
	"USMALLINT":    {arrow.PrimitiveTypes.Uint16, put(func(b *array.Uint16Builder, v int64) { b.Append(uint16(v)) })},
	"UINTEGER":     {arrow.PrimitiveTypes.Uint32, put(func(b *array.Uint32Builder, v int64) { b.Append(uint32(v)) })},
	"FLOAT":        {arrow.PrimitiveTypes.Float32, put(func(b *array.Float32Builder, v float64) { b.Append(float32(v)) })},
	"DOUBLE":       {arrow.PrimitiveTypes.Float64, double},
	"HUGEINT":      {arrow.PrimitiveTypes.Float64, double},
	"UHUGEINT":     {arrow.PrimitiveTypes.Float64, double},
	"UBIGINT":      {arrow.PrimitiveTypes.Float64, double},
	"DECIMAL":      {arrow.PrimitiveTypes.Float64, double},
	"VARCHAR":      {arrow.BinaryTypes.String, text},
	"BLOB":         {arrow.BinaryTypes.Binary, blob},
	"DATE":         {arrow.FixedWidthTypes.Date32, date},
	"TIME":         {arrow.FixedWidthTypes.Time64us, timeOfDay},
	"TIMESTAMP":    {&arrow.TimestampType{Unit: arrow.Microsecond}, stamp},
	"TIMESTAMP_S":  {&arrow.TimestampType{Unit: arrow.Microsecond}, stamp},
	"TIMESTAMP_MS": {&arrow.TimestampType{Unit: arrow.Microsecond}, stamp},
	"TIMESTAMP_NS": {&arrow.TimestampType{Unit: arrow.Microsecond}, stamp},
	"TIMESTAMPTZ":  {&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, stamp},
}

// schemaOf is the schema of a result; a name that comes again gets a suffix,
// as it does in JSON, because readers address columns by name.
func schemaOf(columns []duck.Column) (*arrow.Schema, []field) {
	types, list := make([]field, len(columns)), make([]arrow.Field, len(columns))
	taken := map[string]bool{}
	for i, c := range columns {
		name := c.Name
		for n := 1; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", c.Name, n)
		}
		taken[name] = true
		types[i] = fieldOf(c.Type)
		list[i] = arrow.Field{Name: name, Type: types[i].arrow, Nullable: true}
	}
	return arrow.NewSchema(list, nil), types
}

// fieldOf finds the form of a type as DuckDB writes it: BIGINT,
// DECIMAL(18,3), VARCHAR[].
func fieldOf(sqlType string) field {
	if item, ok := strings.CutSuffix(sqlType, "[]"); ok {
		return listOf(fieldOf(item))
	}
	base, _, _ := strings.Cut(sqlType, "(")
	if f, ok := fields[base]; ok {
		return f
	}
	return fields["VARCHAR"]
}

func listOf(item field) field {
	return field{arrow.ListOf(item.arrow), func(b array.Builder, v any) error {
		items, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%T is no list", v)
		}
		list := b.(*array.ListBuilder)
		list.Append(true)
		for _, x := range items {
			if err := item.put(list.ValueBuilder(), x); err != nil {
				return err
			}
		}
		return nil
	}}
}

// put makes a field's filler of a builder's Append.
func put[B array.Builder, V any](add func(B, V)) func(array.Builder, any) error {
	return func(b array.Builder, v any) error {
		x, ok := v.(V)
		if !ok {
			return fmt.Errorf("%v (%T) is not of the column's type", v, v)
		}
		add(b.(B), x)
		return nil
	}
}

func double(b array.Builder, v any) error {
	switch v := v.(type) {
	case float64:
		b.(*array.Float64Builder).Append(v)
	case int64:
		b.(*array.Float64Builder).Append(float64(v))
	default:
		return fmt.Errorf("%v (%T) is no number", v, v)
	}
	return nil
}

func text(b array.Builder, v any) error {
	b.(*array.StringBuilder).Append(rowio.Text(v))
	return nil
}

func blob(b array.Builder, v any) error {
	digits, ok := v.(string)
	if !ok {
		return fmt.Errorf("%v (%T) is no text of hex digits", v, v)
	}
	bytes, err := hex.DecodeString(digits)
	b.(*array.BinaryBuilder).Append(bytes)
	return err
}

func date(b array.Builder, v any) error {
	day, _ := v.(string)
	t, err := time.Parse(time.DateOnly, day)
	b.(*array.Date32Builder).Append(arrow.Date32FromTime(t))
	return err
}

func timeOfDay(b array.Builder, v any) error {
	clock, _ := v.(string)
	t, err := time.Parse("15:04:05.999999", clock)
	midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
	b.(*array.Time64Builder).Append(arrow.Time64(t.Sub(midnight).Microseconds()))
	return err
}

func stamp(b array.Builder, v any) error {
	t, ok := v.(time.Time)
	if !ok {
		return fmt.Errorf("%v (%T) is no time", v, v)
	}
	b.(*array.TimestampBuilder).Append(arrow.Timestamp(t.UnixMicro()))
	return nil
}
