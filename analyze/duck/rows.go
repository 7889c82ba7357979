package duck

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// A Column of a result: its name, and its type as DuckDB writes it ("BIGINT",
// "VARCHAR[]", "DECIMAL(18,3)").
type Column struct {
	Name string
	Type string
}

// Rows is the result of a query. It must be closed.
type Rows struct {
	set     resultSet
	columns []Column
}

// resultSet is what the driver's rows can do.
type resultSet interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
}

func newRows(set resultSet) *Rows {
	names := set.Columns()
	r := &Rows{set: set, columns: make([]Column, len(names))}
	for i, name := range names {
		r.columns[i] = Column{Name: name, Type: set.ColumnTypeDatabaseTypeName(i)}
	}
	return r
}

// Columns describes the result's columns, in order.
func (r *Rows) Columns() []Column { return r.columns }

// Names lists the columns' names, in order.
func (r *Rows) Names() []string {
	names := make([]string, len(r.columns))
	for i, c := range r.columns {
		names[i] = c.Name
	}
	return names
}

// All yields the rows, once. The slice is used again for the next row.
//
// A value is nil for NULL, or a bool, int64, float64, string, time.Time (UTC),
// []any (a list) or map[string]any (a struct or map). Integers and decimals
// too large for int64 become float64. Dates, times of day, intervals (ISO
// 8601) and UUIDs are strings; the bytes of a BLOB are a string of hex digits.
func (r *Rows) All() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		raw := make([]driver.Value, len(r.columns))
		row := make([]any, len(r.columns))
		for {
			if err := r.set.Next(raw); err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, sqlError(err))
				}
				return
			}
			for i, v := range raw {
				row[i] = plainColumn(v, r.columns[i].Type)
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// Close frees the result.
func (r *Rows) Close() error { return r.set.Close() }

// plainColumn converts a value whose Go type does not tell all of its SQL type.
func plainColumn(v any, columnType string) any {
	switch columnType {
	case "DATE":
		if t, ok := v.(time.Time); ok {
			return t.Format(time.DateOnly)
		}
	case "TIME":
		if t, ok := v.(time.Time); ok {
			return t.Format("15:04:05.999999")
		}
	case "UUID":
		if b, ok := v.([]byte); ok && len(b) == 16 {
			return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}
	}
	return plain(v)
}

func plain(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case uint8:
		return int64(v)
	case uint16:
		return int64(v)
	case uint32:
		return int64(v)
	case uint64:
		return plainInteger(new(big.Int).SetUint64(v))
	case float32:
		return float64(v)
	case time.Time:
		return v.UTC()
	case []byte:
		return fmt.Sprintf("%x", v)
	case []any:
		return plainList(v)
	case map[string]any:
		return plainStruct(v)
	}
	return plainDriverValue(v)
}

func plainList(list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = plain(v)
	}
	return out
}

func plainStruct(fields map[string]any) map[string]any {
	out := make(map[string]any, len(fields))
	for name, v := range fields {
		out[name] = plain(v)
	}
	return out
}

func plainInteger(n *big.Int) any {
	if n == nil {
		return nil
	}
	if n.IsInt64() {
		return n.Int64()
	}
	f, _ := new(big.Float).SetInt(n).Float64()
	return f
}

// isoInterval writes an interval as ISO 8601 does: P1M2DT3.5S. Months, days
// and seconds stay apart, as SQL keeps them.
func isoInterval(months, days, micros int64) string {
	var b strings.Builder
	b.WriteByte('P')
	if months != 0 {
		fmt.Fprintf(&b, "%dM", months)
	}
	if days != 0 {
		fmt.Fprintf(&b, "%dD", days)
	}
	if micros != 0 || months == 0 && days == 0 {
		b.WriteByte('T')
		b.WriteString(strconv.FormatFloat(float64(micros)/1e6, 'f', -1, 64))
		b.WriteByte('S')
	}
	return b.String()
}
