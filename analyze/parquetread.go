package analyze

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// parquetContent is what reading a file through gives.
type parquetContent struct {
	rows    int64
	session string // that the file says it is of; empty of another writer's
}

// readParquet reads a file through: its footer, and each page of each column.
func readParquet(path string) (content parquetContent, err error) {
	defer func() { // the library does not expect every damage
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	r, err := file.OpenParquetFile(path, false)
	if err != nil {
		return content, err
	}
	defer r.Close()
	content.rows = r.NumRows()
	if v := r.MetaData().KeyValueMetadata().FindValue("tokwatt.session_id"); v != nil {
		content.session = *v
	}
	var rows int64
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		rows += group.NumRows()
		for i := range group.NumColumns() {
			if err := readColumn(group, i); err != nil {
				return content, fmt.Errorf("column %d of row group %d: %w", i+1, g+1, err)
			}
		}
	}
	if rows != content.rows {
		return content, fmt.Errorf("its row groups have %d rows, its footer %d", rows, content.rows)
	}
	return content, nil
}

func readColumn(group *file.RowGroupReader, i int) error {
	column, err := group.Column(i)
	if err != nil {
		return err
	}
	var n int64
	switch c := column.(type) {
	case *file.Int32ColumnChunkReader:
		n, err = countValues(c, c.ReadBatch)
	case *file.Int64ColumnChunkReader:
		n, err = countValues(c, c.ReadBatch)
	case *file.Int96ColumnChunkReader:
		n, err = countValues(c, c.ReadBatch)
	case *file.Float32ColumnChunkReader:
		n, err = countValues(c, c.ReadBatch)
	case *file.Float64ColumnChunkReader:
		n, err = countValues(c, c.ReadBatch)
	case *file.BooleanColumnChunkReader:
		n, err = countValues(c, c.ReadBatch)
	case *file.ByteArrayColumnChunkReader:
		n, err = countValues(c, c.ReadBatch)
	case *file.FixedLenByteArrayColumnChunkReader:
		n, err = countValues(c, c.ReadBatch)
	default:
		return fmt.Errorf("a type %s that is not known", column.Type())
	}
	if err == nil && n < group.NumRows() { // a list may have several values a row
		err = fmt.Errorf("%d values for %d rows", n, group.NumRows())
	}
	return err
}

type batchReader[T any] func(size int64, values []T, def, rep []int16) (int64, int, error)

// eachBatch reads a column to its end and hands on a run of it at a time: the
// values, and the levels of those and of the NULLs between. The next run is
// written over it.
func eachBatch[T any](c file.ColumnChunkReader, read batchReader[T], do func(values []T, def, rep []int16)) error {
	const size = 4 << 10
	values, def, rep := make([]T, size), make([]int16, size), make([]int16, size)
	for c.HasNext() {
		n, got, err := read(size, values, def, rep)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("a page ends early")
		}
		do(values[:got], def[:n], rep[:n])
	}
	return c.Err()
}

// countValues counts a column's values, NULLs included.
func countValues[T any](c file.ColumnChunkReader, read batchReader[T]) (n int64, err error) {
	err = eachBatch(c, read, func(_ []T, def, _ []int16) { n += int64(len(def)) })
	return n, err
}
