package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/uuid"

	"tokwatt/collect"
)

// repairChunks bounds what RepairTo keeps before it writes; a record counts
// for some chunks.
const repairChunks = 100_000

// RepairTo copies every record that can be read into a new store at path,
// which must not exist, and the calibrations, and reports as Check does. Where the pages
// themselves are damaged, sessions that were deleted lately may come back.
// A session whose own record is lost gets one with its id, its start (which
// the id tells) and a note. Batches whose ids were given twice get new ones. A
// session that has lost something says so in a *collect.Lost, and one that was
// complete is interrupted.
func (s *Store) RepairTo(ctx context.Context, path string) (Report, error) {
	var r Report
	if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("cannot repair store %s to %s, which is there already: name a new file", s.path, path)
	}
	w := &repairer{ctx: ctx, to: Open(path, s.opts)}
	calibrations, err := s.survey(ctx, &r, w.take, w.lose)
	if err != nil {
		return r, err
	}
	if err := w.flush(); err != nil {
		return r, err
	}
	for _, c := range calibrations {
		if err := w.to.PutCalibration(ctx, c.Host, c.Result); err != nil {
			return r, err
		}
	}
	return r, nil
}

// repairer gathers records of one session and stores them together.
type repairer struct {
	ctx    context.Context
	to     *Store
	id     uuid.UUID
	given  highest // in the session
	recs   []collect.Record
	chunks int
	end    *collect.End // held until it is known what comes before it
}

func (w *repairer) take(id uuid.UUID, rec collect.Record) error {
	if id != w.id {
		if err := w.flush(); err != nil {
			return err
		}
		w.id, w.given = id, highest{}
		if _, ok := rec.(*collect.Session); !ok {
			w.recs = append(w.recs, lostSession(id))
		}
	}
	if !w.number(rec) {
		return nil
	}
	w.release()
	if end, ok := rec.(*collect.End); ok {
		w.end = end
		return nil
	}
	w.recs = append(w.recs, rec)
	w.chunks += 100 // what a record takes beside its chunks
	if b, ok := rec.(*collect.Batch); ok {
		for i := range b.Requests {
			w.chunks += 100 + len(b.Requests[i].Chunks)
		}
	}
	if w.chunks > repairChunks {
		return w.flush()
	}
	return nil
}

func (w *repairer) release() {
	if w.end != nil {
		w.recs, w.end = append(w.recs, w.end), nil
	}
}

// lose notes what the session in hand has lost.
func (w *repairer) lose(id uuid.UUID, l Loss) {
	if id != w.id {
		return // no record of it is left
	}
	w.recs = append(w.recs, &collect.Lost{Segment: w.given.SegmentNo, Message: "the store was damaged: " + l.String()})
	if w.end != nil && w.end.Status == collect.StatusComplete {
		w.end.Status = collect.StatusInterrupted
	}
}

// number gives a batch and its requests new ids where theirs were given before;
// of a segment that comes again, false says to leave it out: what was measured
// in it is under the number of the first.
func (w *repairer) number(rec collect.Record) bool {
	before := w.given
	if w.given.add(rec) == nil {
		return true
	}
	b, ok := rec.(*collect.Batch)
	if !ok {
		return false
	}
	b.BatchID = before.BatchID + 1
	for i := range b.Requests {
		b.Requests[i].RequestID = before.RequestID + 1 + int64(i)
	}
	w.given = before
	_ = w.given.add(rec)
	return true
}

func (w *repairer) flush() error {
	w.release()
	if len(w.recs) == 0 {
		return nil
	}
	err := w.to.PutAll(w.ctx, w.id.String(), w.recs)
	clear(w.recs)
	w.recs, w.chunks = w.recs[:0], 0
	return err
}

func lostSession(id uuid.UUID) *collect.Session {
	sec, nsec := id.Time().UnixTime()
	return &collect.Session{
		ID:        id.String(),
		StartedAt: time.Unix(sec, nsec).UTC(),
		Note:      "recovered: what the session said of itself was damaged",
	}
}
