package analyze

import (
	"errors"
	"testing"

	"tokwatt/collect"
)

var errFull = errors.New("no space left on device")

// smallDisk takes so many bytes and then none.
type smallDisk struct{ left int }

func (d *smallDisk) Write(p []byte) (int, error) {
	if len(p) > d.left {
		n := d.left
		d.left = 0
		return n, errFull
	}
	d.left -= len(p)
	return len(p), nil
}

// Wherever in a file the disk is full, the writer says so, and never panics.
func TestTableWriterOnAFullDisk(t *testing.T) {
	write := func(d *smallDisk) error {
		w, err := newTableWriter(tableFile{d, partition{session: "s"}, rowGroup}, "chunks", chunkColumns())
		if err != nil {
			return err
		}
		row := ChunkRow{SessionID: "s", Chunk: collect.Chunk{Kind: collect.KindContent}}
		for i := range rowGroup + 10 { // a row group is written when it is full
			row.Seq, row.T = int64(i), int64(i*i)
			if err := w.add(row); err != nil {
				return err
			}
		}
		return w.close()
	}
	whole := smallDisk{left: 1 << 30}
	if err := write(&whole); err != nil {
		t.Fatal(err)
	}
	size := 1<<30 - whole.left
	for _, k := range []int{0, 3, 4, size / 2, size - 9, size - 1} {
		if err := write(&smallDisk{left: k}); !errors.Is(err, errFull) {
			t.Errorf("full after %d of %d bytes: %v", k, size, err)
		}
	}
}
