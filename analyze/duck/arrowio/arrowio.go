// Package arrowio writes the result of a query as Apache Arrow: the file form
// (also called Feather 2), which can be read at any place, or the stream form,
// for a pipe. types.go says which Arrow type stands for a type of SQL.
//
// Rows are written as they come, a record batch at a time; no more is kept.
package arrowio

import (
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tokwatt/analyze/duck"
)

// batchRows is the length of a record batch. A reader takes them one by one,
// and one of a hundred columns is some megabytes.
const batchRows = 16 << 10

// WriteFile writes the file form.
func WriteFile(w io.Writer, columns []duck.Column, rows iter.Seq2[[]any, error]) error {
	schema, fields := schemaOf(columns)
	out, err := ipc.NewFileWriter(w, ipc.WithSchema(schema))
	if err != nil {
		return err
	}
	return write(out, schema, fields, rows)
}

// WriteStream writes the stream form.
func WriteStream(w io.Writer, columns []duck.Column, rows iter.Seq2[[]any, error]) error {
	schema, fields := schemaOf(columns)
	return write(ipc.NewWriter(w, ipc.WithSchema(schema)), schema, fields, rows)
}

type batchWriter interface {
	Write(arrow.RecordBatch) error
	Close() error
}

func write(out batchWriter, schema *arrow.Schema, fields []field, rows iter.Seq2[[]any, error]) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	n := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		for i, v := range row {
			if err := fields[i].put(b.Field(i), v); err != nil {
				return fmt.Errorf("column %s: %w", schema.Field(i).Name, err)
			}
		}
		if n++; n == batchRows {
			if err := flush(out, b); err != nil {
				return err
			}
			n = 0
		}
	}
	if n > 0 {
		if err := flush(out, b); err != nil {
			return err
		}
	}
	return out.Close()
}

func flush(out batchWriter, b *array.RecordBuilder) error {
	batch := b.NewRecordBatch()
	defer batch.Release()
	return out.Write(batch)
}
