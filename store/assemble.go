package store

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"tokwatt/collect"
)

// assembler makes records of a session's values, which come in the order of
// their keys. It checks what the values themselves must fulfil: see the
// invariants in the package doc.
type assembler struct {
	codec codec
	id    uuid.UUID
	note  func(string)
	emit  func(collect.Record, error) bool

	next    uint64 // sequence number expected
	batch   *collect.Batch
	at      uint64 // of the batch
	follow  int    // values of the batch still to come
	wrong   error  // with the batch in hand
	orphans bool   // an error for the values without a batch was given
	noted   map[kind]bool
	counted summary
	errs    int
}

// add takes the next value; false means that the consumer has enough.
func (a *assembler) add(v value) bool {
	if v.err != nil {
		return a.drop() && a.fail(max(v.seq, a.next), ErrDamaged, "%v", v.err)
	}
	switch {
	case v.seq < a.next:
		return a.fail(v.seq, ErrDamaged, "it stands in a wrong place")
	case v.seq > a.next:
		missing := a.next
		a.next = v.seq
		if !a.drop() || !a.fail(missing, ErrDamaged, "%s missing", values(missing, v.seq)) {
			return false
		}
	}
	a.next = v.seq + 1
	key := keyOf(a.id, v.seq)
	k, payload, err := unseal(key[:], v.data)
	if a.batch != nil {
		a.follow--
		return a.member(v.seq, k, payload, err)
	}
	if err != nil {
		a.orphans = true // if it was a batch, its values follow
		return a.fail(v.seq, reasonOf(err), "%v", err)
	}
	return a.top(v.seq, k, payload)
}

// top takes a value that is not inside a batch.
func (a *assembler) top(seq uint64, k kind, payload []byte) bool {
	if k == kindRequest || k == kindChunks {
		if a.orphans {
			return true
		}
		a.orphans = true
		return a.fail(seq, ErrDamaged, "it belongs to a batch that cannot be read")
	}
	rec, follow, err := a.codec.record(k, payload)
	if err == nil && rec != nil {
		err = a.place(seq, rec)
	}
	a.orphans = err != nil // its values may follow
	switch {
	case err != nil:
		return a.fail(seq, ErrDamaged, "%v", err)
	case rec == nil:
		a.unknown(k)
		return true
	}
	if b, ok := rec.(*collect.Batch); ok {
		a.batch, a.at, a.follow, a.wrong = b, seq, follow, nil
		return follow > 0 || a.done()
	}
	a.counted.Next = seq
	a.counted.add(rec, 1)
	return a.emit(rec, nil)
}

// place checks that a record may stand where it does.
func (a *assembler) place(seq uint64, rec collect.Record) error {
	s, ok := rec.(*collect.Session)
	switch {
	case ok && seq != 0:
		return errors.New("a session's record stands within a session")
	case ok && s.ID != a.id.String():
		return fmt.Errorf("it is the record of session %s", s.ID)
	case !ok && seq == 0:
		return errors.New("the session does not begin with its own record")
	}
	return nil
}

// member takes a value of the batch in hand.
func (a *assembler) member(seq uint64, k kind, payload []byte, err error) bool {
	if err == nil {
		err = a.take(k, payload)
	}
	if err != nil && a.wrong == nil {
		a.wrong = recordError(a.id, a.at, reasonOf(err), "batch %d cannot be read: value %d: %v", a.batch.BatchID, seq, err)
	}
	return a.follow > 0 || a.done()
}

func (a *assembler) take(k kind, payload []byte) error {
	b := a.batch
	switch k {
	case kindRequest:
		b.Requests = append(b.Requests, collect.Request{})
		return a.codec.request(payload, &b.Requests[len(b.Requests)-1])
	case kindChunks:
		if len(b.Requests) == 0 {
			return errChunks
		}
		var err error
		b.Requests[len(b.Requests)-1].Chunks, err = unpackChunks(payload)
		return err
	case kindSession, kindSegment, kindTarget, kindCase, kindBatch, kindSamples, kindSensors, kindIdle, kindLost, kindEnd:
		return errors.New("it is not a part of a batch")
	}
	a.unknown(k)
	return nil
}

// done ends the batch in hand.
func (a *assembler) done() bool {
	b, err := a.batch, a.wrong
	a.batch = nil
	if err != nil {
		a.errs++
		return a.emit(nil, err)
	}
	n := a.next - a.at
	a.counted.Next = a.at
	a.counted.add(b, int(n))
	return a.emit(b, nil)
}

// drop gives up the batch in hand: its values end too early.
func (a *assembler) drop() bool {
	if a.batch == nil {
		return true
	}
	if a.wrong == nil {
		a.wrong = recordError(a.id, a.at, ErrDamaged, "batch %d lacks %d of its values", a.batch.BatchID, a.follow)
	}
	a.orphans = true
	return a.done()
}

// finish ends the session, whose summary is sum.
func (a *assembler) finish(sum summary, known bool) bool {
	if known && sum.Next > a.next {
		missing := a.next
		a.next = sum.Next
		return a.drop() && a.fail(missing, ErrDamaged, "%s missing at the end", values(missing, sum.Next))
	}
	if !a.drop() {
		return false
	}
	if !known {
		return a.fail(a.next, ErrDamaged, "the summary cannot be read, so values may be missing at the end")
	}
	return true
}

func (a *assembler) fail(seq uint64, reason error, format string, args ...any) bool {
	a.errs++
	return a.emit(nil, recordError(a.id, seq, reason, format, args...))
}

// unknown notes a kind that this program does not know, once.
func (a *assembler) unknown(k kind) {
	if a.noted[k] {
		return
	}
	if a.noted == nil {
		a.noted = map[kind]bool{}
	}
	a.noted[k] = true
	a.note(fmt.Sprintf("session %s has values of kind %d, which this tokwatt does not know and passes over", a.id, k))
}

func reasonOf(err error) error {
	if errors.Is(err, errVersion) {
		return ErrNewer
	}
	return ErrDamaged
}

// values names the values from first up to but without end.
func values(first, end uint64) string {
	if end == first+1 {
		return "it is"
	}
	return fmt.Sprintf("%d values are", end-first)
}
