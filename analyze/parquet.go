package analyze

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
)

const (
	// rowGroup is the length of a row group: engines read one per thread, and
	// a writer holds one in memory, compressed.
	rowGroup = 128 << 10
	// pageRows is how many rows are turned into columns at a time; row groups
	// hold a whole number of them.
	pageRows = 8 << 10
)

// tableWriter writes the rows of one table as Parquet.
//
// Encodings are named for every column, so that a file's bytes depend on its
// rows alone: integers and times as deltas, strings with few distinct values
// by dictionary, all else plain; zstd over all. BYTE_STREAM_SPLIT would make
// doubles a little smaller, but Spark before 4.3 can't read it.
//
// It fills Parquet's columns itself: the library's way through Arrow records
// brings RPC and compute packages that double the program and its memory.
type tableWriter[R any] struct {
	cols   []column[R]
	file   *file.Writer
	group  file.BufferedRowGroupWriter // nil between row groups
	inRG   int                         // rows in group
	limit  int                         // of inRG
	rows   []R                         // not yet written
	values values
	n      int64
}

// tableFile is where a table is written.
type tableFile struct {
	w         io.Writer
	partition partition
	rowGroup  int // rows
}

func newTableWriter[R any](to tableFile, name string, cols []column[R]) (*tableWriter[R], error) {
	root, err := parquetSchema(cols)
	if err != nil {
		return nil, err
	}
	meta, err := fileMetadata(name, cols, to.partition)
	if err != nil {
		return nil, err
	}
	f, err := file.NewParquetWriterWithError(to.w, root, file.WithWriterProps(writerProperties(cols)), file.WithWriteMetadata(meta))
	if err != nil {
		return nil, err
	}
	return &tableWriter[R]{cols: cols, file: f, limit: to.rowGroup}, nil
}

func writerProperties[R any](cols []column[R]) *parquet.WriterProperties {
	props := []parquet.WriterProperty{
		parquet.WithCreatedBy("tokwatt"),
		parquet.WithCompression(compress.Codecs.Zstd),
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

// flush turns the rows at hand into columns and hands them to the row group.
func (t *tableWriter[R]) flush() error {
	if err := t.open(); err != nil {
		return err
	}
	for i, c := range t.cols {
		t.values.reset()
		c.fill(&t.values, t.rows)
		w, err := t.group.Column(i)
		if err == nil {
			err = t.values.write(w)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	t.n += int64(len(t.rows))
	t.inRG += len(t.rows)
	clear(t.rows) // lets go of their strings
	t.rows = t.rows[:0]
	return nil
}

// open begins a row group where none is open or the open one is full.
func (t *tableWriter[R]) open() error {
	if t.group != nil && t.inRG < t.limit {
		return nil
	}
	if err := t.closeGroup(); err != nil {
		return err
	}
	var err error
	t.group, err = t.file.AppendBufferedRowGroupChecked()
	t.inRG = 0
	return err
}

func (t *tableWriter[R]) closeGroup() error {
	if t.group == nil {
		return nil
	}
	defer func() { t.group = nil }()
	return t.group.Close()
}

// write hands the values to a column of their type.
func (v *values) write(w file.ColumnChunkWriter) (err error) {
	switch w := w.(type) {
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(v.ints, v.def, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(v.doubles, v.def, nil)
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(v.bools, v.def, nil)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(v.texts, v.def, v.rep)
	default:
		err = fmt.Errorf("no values of type %s", w.Type())
	}
	return err
}

// close writes what is left and the footer; the underlying writer stays open.
func (t *tableWriter[R]) close() error {
	if len(t.rows) > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	if err := t.closeGroup(); err != nil {
		return err
	}
	return t.file.Close()
}
