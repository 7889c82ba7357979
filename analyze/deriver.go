package analyze

import (
	"fmt"
	"slices"
	"time"

	"tokwatt/analyze/meter"
	"tokwatt/collect"
)

// Deriver takes the records of a session one by one and has the rows of its
// batches, with their energy, as soon as the readings that they need are
// there: what came after a batch, not only what came before. [Derive] is pure;
// this is what remembers.
//
// It keeps batches back until many are waiting (maxHeld), and then those whose
// time is not over for a minute: readings are recorded after the batch that
// they were taken in, and the next one closes the window. So a small session
// is derived in the end, in any order of its records, and a long one as it
// goes. It holds some hundred batches and the readings of the time that they
// need (see package meter), whatever the length of the session.
type Deriver struct {
	session string
	host    string
	targets map[int64]*collect.TargetInfo
	cases   map[int64]*collect.Case
	energy  map[int64]*targetEnergy // by target

	meter   *meter.Meter
	segment int64
	settle  int64 // ns that a window waits for readings behind it
	held    []waiting
	weight  int // of what is held
	maxHeld int
	limit   int   // of readings of a channel
	known   int64 // readings up to here have come
	last    int64 // end of the newest batch
	heat    heat
}

// Derived is a batch with its rows. Where Batch is nil, Energy has the rows of
// a target's own windows.
type Derived struct {
	Batch    *collect.Batch
	Row      BatchRow
	Requests []RequestRow
	Energy   []EnergyRow
}

// waiting is a batch or a quiet window whose readings have not all come.
type waiting struct {
	target   *collect.TargetInfo
	case_    *collect.Case
	batch    *collect.Batch // nil: idle
	from, to int64
}

// maxHeld is how much is held before anything is let go: chunks, and a hundred
// for each request.
const maxHeld = 1 << 16

// requestWeight is what a request weighs beside its chunks.
const requestWeight = 100

// minSettle is how long a window waits for readings behind it at least: after
// a sensor's silence of ten seconds its energy is not known anyway.
const minSettle = time.Minute

// NewDeriver returns a Deriver of one session.
func NewDeriver() *Deriver {
	return &Deriver{
		targets: map[int64]*collect.TargetInfo{}, cases: map[int64]*collect.Case{}, energy: map[int64]*targetEnergy{},
		meter: meter.New("", meter.Limit), settle: int64(minSettle), maxHeld: maxHeld, limit: meter.Limit,
	}
}

// Add takes the next record and returns what is ready now, batches in their
// order. The error is for a batch whose case or target is missing; all else
// goes on.
func (d *Deriver) Add(rec collect.Record) ([]Derived, error) {
	switch rec := rec.(type) {
	case *collect.Session:
		d.session, d.host = rec.ID, rec.Host.Name
		d.meter = meter.New(d.host, d.limit)
	case *collect.Segment:
		ready := d.Finish()
		d.meter, d.segment = meter.New(d.host, d.limit), rec.Segment
		d.settle, d.known, d.last = int64(minSettle), 0, 0
		return ready, nil
	case *collect.TargetInfo:
		d.targets[rec.TargetID] = rec
	case *collect.Case:
		d.cases[rec.CaseID] = rec
	case *collect.Sensors:
		d.meter.Declare(rec)
		d.settle = max(d.settle, 4*rec.EveryNS)
	case *collect.Idle:
		if t := d.targets[rec.TargetID]; t != nil {
			d.hold(waiting{target: t, from: rec.StartNS, to: rec.EndNS})
		}
	case *collect.Batch:
		return d.batch(rec)
	case *collect.Samples:
		if rec.Segment == d.segment {
			d.meter.Add(rec)
		}
		return d.ready(), nil
	case *collect.End:
		return d.Finish(), nil
	}
	return nil, nil
}

func (d *Deriver) batch(b *collect.Batch) ([]Derived, error) {
	cs := d.cases[b.CaseID]
	if cs == nil {
		return nil, fmt.Errorf("batch %d belongs to case %d, whose record is missing", b.BatchID, b.CaseID)
	}
	target := d.targets[cs.TargetID]
	if target == nil {
		return nil, fmt.Errorf("batch %d belongs to target %d, whose record is missing", b.BatchID, cs.TargetID)
	}
	d.of(target.TargetID).grow(d.meter, b)
	d.known, d.last = d.last, max(d.last, b.EndNS)
	d.hold(waiting{target: target, case_: cs, batch: b, from: b.StartNS, to: b.EndNS})
	return d.ready(), nil
}

func (d *Deriver) of(target int64) *targetEnergy {
	if d.energy[target] == nil {
		d.energy[target] = &targetEnergy{}
	}
	return d.energy[target]
}

func (d *Deriver) hold(w waiting) {
	d.held = append(d.held, w)
	d.weight += w.weight()
}

func (w *waiting) weight() int {
	n := 0
	if w.batch != nil {
		for i := range w.batch.Requests {
			n += requestWeight + len(w.batch.Requests[i].Chunks)
		}
	}
	return n
}

// ready lets go of what needs no further readings, where much is held.
func (d *Deriver) ready() []Derived {
	before, full := d.meter.Full()
	if !full && d.weight < d.maxHeld {
		return nil
	}
	known := d.known
	if full {
		known = max(known, before)
	}
	n := 0
	for n < len(d.held) && d.held[n].to <= known-d.settle {
		n++
	}
	out := d.release(n)
	if full {
		for _, w := range d.held {
			before = min(before, w.from)
		}
		d.meter.Forget(before)
	}
	return out
}

// release derives the first n that are held.
func (d *Deriver) release(n int) []Derived {
	var out []Derived
	for _, w := range d.held[:n] {
		d.weight -= w.weight()
		out = append(out, d.derive(w))
	}
	d.held = slices.Delete(d.held, 0, n)
	return out
}

// Finish derives all that is held, and the windows of the targets: no readings
// of the segment are to come.
func (d *Deriver) Finish() []Derived {
	out := d.release(len(d.held))
	for _, id := range d.targetIDs() {
		if rows := d.endTarget(id); len(rows) > 0 {
			out = append(out, Derived{Energy: rows})
		}
	}
	return out
}

func (d *Deriver) targetIDs() []int64 {
	var ids []int64
	for id := range d.energy {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
