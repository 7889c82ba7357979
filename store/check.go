package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"tokwatt/collect"
	"tokwatt/store/internal/boltpage"
)

// Check reads the whole file and tests every invariant named in the package
// doc. A file that is damaged is no error but a report with problems; the
// error is for a file that is held, missing, foreign or newer. Writers wait
// while it works.
func (s *Store) Check(ctx context.Context) (Report, error) {
	var r Report
	_, err := s.survey(ctx, &r, func(_ uuid.UUID, rec collect.Record) error { return nil }, func(uuid.UUID, Loss) {})
	return r, err
}

// survey reads all that can be read of the store, session by session, and
// reports on it. What a session has lost is told behind its records; the
// calibrations are handed out at the end.
func (s *Store) survey(ctx context.Context, r *Report, take func(uuid.UUID, collect.Record) error, lose func(uuid.UUID, Loss)) ([]calibrationValue, error) {
	f, err := s.lock(ctx, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r.Bytes = info.Size()
	p, err := s.pages(f)
	if err == nil {
		err = s.pageError(checkFormat(s.codec, p))
	}
	v := &surveyor{store: s, report: r, take: take, lose: lose, sums: map[uuid.UUID]summary{}}
	if err == nil {
		r.Free = p.FreeBytes(info.Size())
		for _, err := range p.Verify() {
			r.problem(s.pageError(err))
		}
		if r.OK() {
			s.checkBolt(r)
		}
		if r.OK() {
			v.pages = p
			err := v.tree(ctx, p)
			return v.calibrations, err
		}
	} else if !errors.Is(err, ErrDamaged) {
		return nil, err
	} else {
		r.problem(err)
	}
	// The tree cannot be trusted: take every page for itself.
	err = v.scan(ctx, boltpage.Salvage(f, info.Size()))
	return v.calibrations, err
}

// checkBolt has bbolt check what it alone knows. It has no guard against
// pages that point to themselves, so it comes after boltpage's own check.
func (s *Store) checkBolt(r *Report) {
	defer func() {
		if p := recover(); p != nil {
			r.problem(s.fileError(ErrDamaged, fmt.Sprint(p)))
		}
	}()
	db, err := bolt.Open(s.path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Nanosecond, PreLoadFreelist: true})
	if err != nil {
		r.problem(err)
		return
	}
	defer db.Close()
	r.problem(db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			r.problem(s.fileError(ErrDamaged, err.Error()))
		}
		return nil
	}))
}

// surveyor reads values in the order of their keys.
type surveyor struct {
	store  *Store
	report *Report
	take   func(uuid.UUID, collect.Record) error
	lose   func(uuid.UUID, Loss)
	sums   map[uuid.UUID]summary // found by scan: the newest of each session
	pages  *boltpage.File        // nil: summaries cannot be trusted
	a      *assembler
	seen   highest // in the session
	err    error   // take's

	calibrations []calibrationValue
}

// tree reads a sound file.
func (v *surveyor) tree(ctx context.Context, p *boltpage.File) error {
	records, err := p.Root().Bucket(bucketRecords)
	if err != nil {
		return v.store.pageError(err)
	}
	v.meta(p)
	known := map[uuid.UUID]bool{}
	if err := v.values(ctx, records.From(nil), known); err != nil {
		return err
	}
	sums, err := p.Root().Bucket(bucketSummaries)
	if err != nil {
		return v.store.pageError(err)
	}
	for e, err := range sums.From(nil) {
		v.report.problem(err)
		if err == nil && (len(e.Key) != len(uuid.UUID{}) || !known[uuid.UUID(e.Key)]) {
			v.report.problem(v.store.fileError(ErrDamaged, fmt.Sprintf("there is a summary %x without records", e.Key)))
		}
	}
	return nil
}

// found is a value whose checksum is right, somewhere in a damaged file.
type found struct {
	key  recordKey
	size int32
	off  int64
}

// scan reads a file page by page, whatever its tree says.
func (v *surveyor) scan(ctx context.Context, p *boltpage.File) error {
	var all []found
	p.Scan(func(e boltpage.Entry) {
		if isCalibration(e.Key) {
			if c, err := v.store.codec.calibration(e.Key, e.Value); err == nil {
				v.calibrations = append(v.calibrations, c)
			}
			return
		}
		if len(e.Key) == len(uuid.UUID{}) {
			id := uuid.UUID(e.Key)
			if sum, err := v.store.codec.summary(e.Key, e.Value); err == nil && sum.Next > v.sums[id].Next {
				v.sums[id] = sum
			}
		}
		if len(e.Key) != len(recordKey{}) {
			return
		}
		if _, _, err := unseal(e.Key, e.Value); err != errChecksum {
			all = append(all, found{recordKey(e.Key), int32(len(e.Value)), e.Offset})
		}
	})
	order := func(a, b found) int { return slices.Compare(a.key[:], b.key[:]) }
	slices.SortStableFunc(all, order)
	all = slices.CompactFunc(all, func(a, b found) bool { return a.key == b.key })
	return v.values(ctx, func(yield func(boltpage.Entry, error) bool) {
		var buf []byte
		for i := range all {
			buf = append(buf[:0], make([]byte, all[i].size)...)
			_, err := p.ReadAt(buf, all[i].off)
			if !yield(boltpage.Entry{Key: all[i].key[:], Value: buf}, err) {
				return
			}
		}
	}, map[uuid.UUID]bool{})
}

// values assembles the values of all sessions.
func (v *surveyor) values(ctx context.Context, entries iter.Seq2[boltpage.Entry, error], known map[uuid.UUID]bool) error {
	for e, err := range entries {
		if err == nil {
			err = v.entry(e, known)
		}
		if v.err != nil {
			return v.err
		}
		v.report.problem(v.store.pageError(err))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	v.finish()
	return v.err
}

func (v *surveyor) entry(e boltpage.Entry, known map[uuid.UUID]bool) error {
	id, seq, ok := parseKey(e.Key)
	if !ok || v.a == nil || id != v.a.id {
		if _, _, err := unseal(e.Key, e.Value); !ok || err == errChecksum {
			return v.store.fileError(ErrDamaged, fmt.Sprintf("the value at key %x has a wrong checksum", e.Key))
		}
		v.finish()
		known[id] = true
		v.begin(id)
	}
	v.a.add(value{seq: seq, data: e.Value})
	return nil
}

func (v *surveyor) begin(id uuid.UUID) {
	note := func(n string) { v.report.Notes = append(v.report.Notes, n) }
	v.seen = highest{}
	v.a = &assembler{codec: v.store.codec, id: id, note: note}
	v.a.emit = func(rec collect.Record, err error) bool {
		if err != nil {
			v.report.problem(err)
			return true
		}
		if err := v.seen.add(rec); err != nil {
			v.report.problem(recordError(id, v.a.next-1, ErrDamaged, "%v", err))
		}
		v.report.count(rec)
		v.err = v.take(id, rec)
		return v.err == nil
	}
}

// finish ends a session and compares its summary with what was counted.
func (v *surveyor) finish() {
	if v.a == nil || v.err != nil {
		return
	}
	a := v.a
	v.a = nil
	if v.pages == nil {
		a.drop()
		v.loss(a, v.sums[a.id])
		return
	}
	sum, err := v.store.summaryOf(v.pages, a.id)
	if err != nil {
		v.report.problem(err)
		a.drop()
		v.loss(a, summary{})
		return
	}
	a.finish(sum, true)
	v.loss(a, sum)
	a.counted.Next = a.next
	if sum.highest == (highest{}) {
		a.counted.highest = highest{} // written before these were kept
	}
	if a.errs == 0 && a.counted != sum {
		v.report.problem(recordError(a.id, 0, ErrDamaged, "the summary says %+v, the records say %+v", sum, a.counted))
	}
}

// loss tells what a session has lost against its summary, as far as that is
// known.
func (v *surveyor) loss(a *assembler, sum summary) {
	if v.err != nil || a.errs == 0 && a.next >= sum.Next {
		return
	}
	had := v.seen.BatchID   // of one that was imported the numbers may have gaps
	if sum.Next >= a.next { // else it is none, or an old one that a page still had
		had = sum.Batches
	}
	l := Loss{Session: a.id.String(), Batches: a.counted.Batches, Lost: max(had-a.counted.Batches, 0)}
	v.report.Losses = append(v.report.Losses, l)
	v.lose(a.id, l)
}
