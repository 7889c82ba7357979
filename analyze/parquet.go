package analyze

import (
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

const (
	// rowGroup is the length of a row group: engines read one per thread, and
	// a writer holds one in memory, compressed.
	rowGroup = 128 << 10
	// pageRows is how many rows are turned into columns at a time.
	pageRows = 8 << 10
)

// tableWriter writes the rows of one table as Parquet.
//
// Encodings are named for every column, so that a file's bytes depend on its
// rows alone: integers and times as deltas, strings with few distinct values
// by dictionary, all else plain; zstd over all. BYTE_STREAM_SPLIT would make
// doubles a little smaller, but Spark before 4.3 can't read it.
type tableWriter[R any] struct {
	cols   []column[R]
	schema *arrow.Schema
	bld    *array.RecordBuilder
	file   *pqarrow.FileWriter
	rows   []R // not yet written
	n      int64
}

func newTableWriter[R any](w io.Writer, name string, cols []column[R], p partition) (*tableWriter[R], error) {
	schema := arrowSchema(cols, fileMetadata(name, p))
	file, err := pqarrow.NewFileWriter(schema, w, writerProperties(cols), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, err
	}
	return &tableWriter[R]{
		cols:   cols,
		schema: schema,
		bld:    array.NewRecordBuilder(memory.DefaultAllocator, schema),
		file:   file,
	}, nil
}

func fileMetadata(table string, p partition) arrow.Metadata {
	return arrow.NewMetadata(
		[]string{"tokwatt.schema_version", "tokwatt.formula_version", "tokwatt.table", "tokwatt.session_id", "tokwatt.host", "tokwatt.date"},
		[]string{strconv.Itoa(SchemaVersion), strconv.Itoa(FormulaVersion), table, p.session, validUTF8(p.host), p.date})
}

func writerProperties[R any](cols []column[R]) *parquet.WriterProperties {
	props := []parquet.WriterProperty{
		parquet.WithCreatedBy("tokwatt"),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithMaxRowGroupLength(rowGroup),
		parquet.WithDictionaryDefault(false),
		// a dictionary that grows past its limit is given up midway, and the
		// footer's list of encodings then has no fixed order
		parquet.WithDictionaryPageSizeLimit(64 << 20),
	}
	for _, c := range cols {
		switch {
		case c.Type == Int64 || c.Type == Timestamp:
			props = append(props, parquet.WithEncodingFor(c.Name, parquet.Encodings.DeltaBinaryPacked))
		case c.Type == Strings:
			props = append(props, parquet.WithDictionaryFor(c.Name+".list.element", true))
		case c.lowCard:
			props = append(props, parquet.WithDictionaryFor(c.Name, true))
		default:
			props = append(props, parquet.WithEncodingFor(c.Name, parquet.Encodings.Plain))
		}
	}
	return parquet.NewWriterProperties(props...)
}

// add takes rows; they may be changed after the call.
func (t *tableWriter[R]) add(rows ...R) error {
	for len(rows) > 0 {
		n := min(len(rows), pageRows-len(t.rows))
		t.rows = append(t.rows, rows[:n]...)
		rows = rows[n:]
		if len(t.rows) == pageRows {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush turns the rows at hand into columns and hands them to the file.
func (t *tableWriter[R]) flush() error {
	t.bld.Reserve(len(t.rows))
	for i, c := range t.cols {
		c.write(t.bld.Field(i), t.rows)
	}
	t.n += int64(len(t.rows))
	clear(t.rows) // lets go of their strings
	t.rows = t.rows[:0]
	batch := t.bld.NewRecordBatch()
	defer batch.Release()
	return t.file.WriteBuffered(batch)
}

// close writes what is left and the footer; the underlying writer stays open.
func (t *tableWriter[R]) close() error {
	if len(t.rows) > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	return t.file.Close()
}
