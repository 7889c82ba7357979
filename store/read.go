package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"

	"tokwatt/collect"
	"tokwatt/store/internal/boltpage"
)

// Bounds of one slice of reading. A writer waits for a slice at most.
const (
	sliceTime  = 100 * time.Millisecond
	sliceBytes = 4 << 20
)

// Records yields the records of a session in the order in which they were
// put, those put meanwhile included. It reads a slice of the file at a time
// and lets go of it before the slice is decoded and yielded, so a writer
// never waits for the caller. At any time it holds a slice and one batch.
//
// A place that is damaged is one *RecordError, and what follows it is
// yielded; a batch is yielded whole or not at all. Any other error ends the
// sequence: a *FileError, an *UnknownError, that of the context. The caller
// owns the records.
func (s *Store) Records(ctx context.Context, session string) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		id, err := parseID(session)
		if err != nil {
			yield(nil, &UnknownError{ID: session})
			return
		}
		a := &assembler{codec: s.codec, id: id, note: s.opts.Note, emit: yield}
		cut := &slice{id: id}
		for !cut.last {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if err := s.readSlice(ctx, cut); err != nil {
				yield(nil, err)
				return
			}
			for _, v := range cut.values {
				if !a.add(v) {
					return
				}
			}
		}
		a.finish(cut.sum, cut.haveSum)
	}
}

// slice is a run of a session's values, copied out of the file.
type slice struct {
	id      uuid.UUID
	from    uint64 // where the next slice starts
	values  []value
	arena   []byte
	last    bool // the session has no more
	sum     summary
	haveSum bool
	started bool
}

// value is one value as it stands in the file, or the damage in its place.
// data is valid until the next slice.
type value struct {
	seq  uint64
	data []byte
	err  error
}

// readSlice reads the next slice under the file's lock.
func (s *Store) readSlice(ctx context.Context, c *slice) error {
	p, f, err := s.openRead(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := p.Root().Bucket(bucketRecords)
	if err != nil {
		return s.pageError(err)
	}
	c.values, c.arena, c.last = c.values[:0], c.arena[:0], true
	c.read(records, time.Now().Add(sliceTime))
	if !c.last {
		c.started = true
		return nil
	}
	if !c.started && len(c.values) == 0 {
		return s.unknown(p, c.id.String())
	}
	if sums, err := p.Root().Bucket(bucketSummaries); err == nil {
		if v, err := sums.Get(c.id[:]); err == nil {
			c.sum, err = s.codec.summary(c.id[:], v)
			c.haveSum = err == nil
		}
	}
	return nil
}

// read copies values until the session, the slice's bytes or its time end. A
// slice ends behind a good value only, for there the next one can start.
func (c *slice) read(records boltpage.Tree, until time.Time) {
	start := keyOf(c.id, c.from)
	for e, err := range records.From(start[:]) {
		if err != nil {
			if behindSession(err, c.id) {
				return
			}
			c.values = append(c.values, value{seq: c.from, err: err})
			continue
		}
		id, seq, ok := parseKey(e.Key)
		if !ok || id != c.id {
			if _, _, err := unseal(e.Key, e.Value); err == errChecksum || !ok {
				// Not the next session, but a key that was changed.
				c.values = append(c.values, value{seq: c.from, err: errChecksum})
				continue
			}
			return
		}
		n := len(c.arena)
		c.arena = append(c.arena, e.Value...)
		c.values = append(c.values, value{seq: seq, data: c.arena[n:len(c.arena):len(c.arena)]})
		if seq >= c.from {
			c.from = seq + 1
		}
		if len(c.arena) >= sliceBytes || len(c.values)%64 == 0 && time.Now().After(until) {
			c.last = false
			return
		}
	}
}

// behindSession reports whether a damaged page holds later sessions only.
func behindSession(err error, session uuid.UUID) bool {
	var damage *boltpage.Damage
	if !errors.As(err, &damage) {
		return false
	}
	id, _, ok := parseKey(damage.From)
	return ok && bytes.Compare(id[:], session[:]) > 0
}

// unknown is the error for a session that is not there.
func (s *Store) unknown(p *boltpage.File, id string) error {
	ids, _ := sessionIDs(p)
	e := &UnknownError{ID: id}
	for i := len(ids) - 1; i >= 0 && len(e.Known) < maxNamed; i-- {
		e.Known = append(e.Known, ids[i].String())
	}
	return e
}

// recordError is damage in session id from value seq on.
func recordError(id uuid.UUID, seq uint64, reason error, format string, args ...any) error {
	return &RecordError{Session: id.String(), Seq: seq, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
