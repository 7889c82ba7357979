package analyze

import (
	"sync"

	"tokwatt/collect"
)

// chunkWriter writes the chunks of batches on a goroutine of its own. They are
// nearly all the rows of a session, and writing them takes as long as the
// formulas and all other tables together.
type chunkWriter struct {
	queue chan *collect.Batch
	ended chan struct{} // closed when the goroutine has ended
	err   error         // why it ended early; to be read once ended is closed
	stop  sync.Once
}

func newChunkWriter(t *tableWriter[ChunkRow], session string) *chunkWriter {
	w := &chunkWriter{queue: make(chan *collect.Batch, 4), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for b := range w.queue {
			if w.err = writeChunks(t, session, b); w.err != nil {
				return
			}
		}
	}()
	return w
}

// add hands a batch over. The error may be that of an earlier one.
func (w *chunkWriter) add(b *collect.Batch) error {
	select {
	case w.queue <- b:
		return nil
	case <-w.ended:
		return w.err
	}
}

// close waits until all is written. It may be called again.
func (w *chunkWriter) close() error {
	w.stop.Do(func() { close(w.queue) })
	<-w.ended
	return w.err
}

func writeChunks(t *tableWriter[ChunkRow], session string, b *collect.Batch) error {
	for i := range b.Requests {
		r := &b.Requests[i]
		for seq, c := range r.Chunks {
			if err := t.add(ChunkRow{SessionID: session, RequestID: r.RequestID, Seq: int64(seq), Chunk: c}); err != nil {
				return err
			}
		}
	}
	return nil
}
