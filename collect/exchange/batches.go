package exchange

import (
	"fmt"
	"iter"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// measured is a batch with its figures and what it belongs to.
type measured struct {
	session *collect.Session
	target  *collect.TargetInfo
	case_   *collect.Case
	*analyze.Derived
}

// batches are the batches of one session, warm-ups left out, in their order.
// An error item ends them: a foreign file could not say what it lacks. Some
// hundred batches are held, because the readings that their energy needs come
// after them (see analyze.Deriver).
func batches(records iter.Seq2[collect.Record, error]) iter.Seq2[measured, error] {
	return func(yield func(measured, error) bool) {
		b := batchReader{deriver: analyze.NewDeriver(), targets: map[int64]*collect.TargetInfo{}, cases: map[int64]*collect.Case{}}
		for rec, err := range records {
			if err != nil {
				yield(measured{}, err)
				return
			}
			b.keep(rec)
			ready, err := b.deriver.Add(rec)
			if err != nil {
				yield(measured{}, fmt.Errorf("%w: run check on the store", err))
				return
			}
			if !b.give(ready, yield) {
				return
			}
		}
		b.give(b.deriver.Finish(), yield)
	}
}

// batchReader is what batches has to remember.
type batchReader struct {
	deriver *analyze.Deriver
	session *collect.Session
	targets map[int64]*collect.TargetInfo
	cases   map[int64]*collect.Case
}

func (b *batchReader) keep(rec collect.Record) {
	switch rec := rec.(type) {
	case *collect.Session:
		b.session = rec
	case *collect.TargetInfo:
		b.targets[rec.TargetID] = rec
	case *collect.Case:
		b.cases[rec.CaseID] = rec
	}
}

// give yields what is ready; false: no more is wanted.
func (b *batchReader) give(ready []analyze.Derived, yield func(measured, error) bool) bool {
	for i := range ready {
		d := &ready[i]
		if d.Batch == nil || d.Batch.Warmup {
			continue
		}
		c := b.cases[d.Batch.CaseID]
		if !yield(measured{b.session, b.targets[c.TargetID], c, d}, nil) {
			return false
		}
	}
	return true
}
