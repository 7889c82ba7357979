package arrowio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tokwatt/analyze/duck"
)

// kinds are values as a query's rows have them, and what Arrow is to hold.
var kinds = []struct {
	sqlType string
	value   any
	want    string // the type, and the value as its column prints it
}{
	{"BOOLEAN", true, "bool: true"},
	{"TINYINT", int64(-128), "int8: -128"},
	{"SMALLINT", int64(-300), "int16: -300"},
	{"INTEGER", int64(-70000), "int32: -70000"},
	{"BIGINT", int64(9007199254740993), "int64: 9007199254740993"},
	{"UTINYINT", int64(255), "uint8: 255"},
	{"USMALLINT", int64(65535), "uint16: 65535"},
	{"UINTEGER", int64(4294967295), "uint32: 4294967295"},
	{"UBIGINT", 1.8446744073709552e19, "float64: 1.8446744073709552e+19"},
	{"HUGEINT", int64(6), "float64: 6"},
	{"DECIMAL(3,2)", 1.25, "float64: 1.25"},
	{"FLOAT", 0.5, "float32: 0.5"},
	{"DOUBLE", 0.1, "float64: 0.1"},
	{"VARCHAR", "é", "utf8: é"},
	{"BLOB", "00ff", "binary: AP8="},
	{"DATE", "2026-01-31", "date32: 2026-01-31"},
	{"TIME", "03:04:05.5", "time64[us]: 03:04:05.500000"},
	{"TIMESTAMP", time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), "timestamp[us]: 2026-01-02T03:04:05.000006"},
	{"TIMESTAMPTZ", time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), "timestamp[us, tz=UTC]: 2026-01-02T03:04:05.000006Z"},
	{"INTERVAL", "P1M", "utf8: P1M"},
	{"VARCHAR[]", []any{"a", nil}, `list<item: utf8, nullable>: ["a",null]`},
	{"INTEGER[]", []any{}, "list<item: int32, nullable>: []"},
	{"DOUBLE[][]", []any{[]any{1.5}, nil}, "list<item: list<item: float64, nullable>, nullable>: [[1.5],null]"},
	{`STRUCT("a" INTEGER)`, map[string]any{"a": int64(1)}, `utf8: {"a":1}`},
}

func columns() []duck.Column {
	var out []duck.Column
	for _, k := range kinds {
		out = append(out, duck.Column{Name: "x", Type: k.sqlType})
	}
	return out
}

// sample has the kinds in one row and NULLs in the next, in turn.
func sample(n int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		row := make([]any, len(kinds)) // one slice for all rows, as Rows.All has
		for r := range n {
			for i := range row {
				row[i] = nil
				if r%2 == 0 {
					row[i] = kinds[i].value
				}
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	const n = 2*batchRows + 3
	var file, stream bytes.Buffer
	if err := errors.Join(WriteFile(&file, columns(), sample(n)), WriteStream(&stream, columns(), sample(n))); err != nil {
		t.Fatal(err)
	}
	f, err := ipc.NewFileReader(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for i := range f.NumRecords() {
		batch, err := f.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		checkBatch(t, batch)
		rows += batch.NumRows()
	}
	if rows != n || f.NumRecords() != 3 {
		t.Errorf("the file has %d rows in %d batches, want %d in 3", rows, f.NumRecords(), n)
	}
	s, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	for rows = 0; s.Next(); rows += s.RecordBatch().NumRows() {
		checkBatch(t, s.RecordBatch())
	}
	if rows != n || s.Err() != nil {
		t.Errorf("the stream has %d rows, want %d (error %v)", rows, n, s.Err())
	}
}

func checkBatch(t *testing.T, batch arrow.RecordBatch) {
	t.Helper()
	for i, k := range kinds {
		c, field := batch.Column(i), batch.Schema().Field(i)
		if got := fmt.Sprintf("%s: %s", field.Type, c.ValueStr(0)); got != k.want {
			t.Errorf("%s is %s, want %s", k.sqlType, got, k.want)
		}
		if batch.NumRows() > 1 && (!c.IsNull(1) || c.NullN() != int(batch.NumRows())/2) {
			t.Errorf("%s: %d of %d rows are NULL, want every second", k.sqlType, c.NullN(), batch.NumRows())
		}
		if want := map[bool]string{true: "x", false: fmt.Sprintf("x_%d", i)}[i == 0]; field.Name != want {
			t.Errorf("column %d is called %s, want %s", i, field.Name, want)
		}
	}
}

func TestNoRows(t *testing.T) {
	var out bytes.Buffer
	if err := WriteFile(&out, columns(), sample(0)); err != nil {
		t.Fatal(err)
	}
	f, err := ipc.NewFileReader(bytes.NewReader(out.Bytes()))
	if err != nil || len(f.Schema().Fields()) != len(kinds) {
		t.Errorf("a result without rows has no columns (error %v)", err)
	}
}

// TestFaults: an error among the rows, a value that is not of its column's
// type, and a writer that is full are told.
func TestFaults(t *testing.T) {
	boom := errors.New("boom")
	broken := func(yield func([]any, error) bool) { yield(nil, boom) }
	if err := WriteStream(io.Discard, columns(), broken); !errors.Is(err, boom) {
		t.Errorf("error %v, want the rows'", err)
	}
	for _, k := range kinds {
		wrong := func(yield func([]any, error) bool) { yield([]any{struct{}{}}, nil) }
		err := WriteFile(io.Discard, []duck.Column{{Name: "c", Type: k.sqlType}}, wrong)
		isText := fieldOf(k.sqlType).arrow == arrow.BinaryTypes.String
		if isText == (err != nil) || !isText && !strings.Contains(err.Error(), "column c") {
			t.Errorf("%s takes a struct{}: error %v", k.sqlType, err)
		}
	}
	var whole bytes.Buffer
	if err := WriteFile(&whole, columns(), sample(9)); err != nil {
		t.Fatal(err)
	}
	for room := 0; room < whole.Len(); room += 61 {
		if err := WriteFile(&full{room}, columns(), sample(9)); err == nil {
			t.Fatalf("no error though only %d of %d bytes fit", room, whole.Len())
		}
	}
}

type full struct{ room int }

func (w *full) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return 0, errors.New("disk full")
	}
	w.room -= len(p)
	return len(p), nil
}
