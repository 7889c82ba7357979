package store

import (
	"cmp"
	"fmt"
	"time"

	"tokwatt/collect"
)

// summary is what is kept of a session beside its records, and written with
// each of them: what a list of sessions needs without reading any of them
// through. All of it can be counted again from the records.
type summary struct {
	Next     uint64 `cbor:"next"` // sequence number of the next value: how many there are
	Segment  uint64 `cbor:"seg,omitempty"`
	End      uint64 `cbor:"end,omitempty"` // of the End, 0 if there is none since the last segment
	Segments int64  `cbor:"segs,omitempty"`
	Planned  int64  `cbor:"planned,omitempty"`
	Targets  int64  `cbor:"targets,omitempty"`
	Cases    int64  `cbor:"cases,omitempty"`
	Batches  int64  `cbor:"batches,omitempty"`
	Warmups  int64  `cbor:"warm,omitempty"` // of Batches
	Requests int64  `cbor:"reqs,omitempty"`
	Failed   int64  `cbor:"failed,omitempty"`
	Origin   int64  `cbor:"origin,omitempty"` // of the last segment's clock, ns since 1970
	Last     int64  `cbor:"last,omitempty"`   // last activity, ns since 1970
	highest
}

// highest are the greatest numbers that a session has given; 0: none, or not
// known, for who wrote the summary knew nothing of them.
type highest struct {
	SegmentNo int64 `cbor:"segno,omitempty"`
	BatchID   int64 `cbor:"bid,omitempty"`
	RequestID int64 `cbor:"rid,omitempty"`
}

// add notes the numbers of a record, which ascend within a session: each comes
// once. The error names the first that does not.
func (h *highest) add(rec collect.Record) error {
	switch r := rec.(type) {
	case *collect.Segment:
		return raise(&h.SegmentNo, r.Segment, "segment")
	case *collect.Batch:
		err := raise(&h.BatchID, r.BatchID, "batch")
		for i := range r.Requests {
			err = cmp.Or(err, raise(&h.RequestID, r.Requests[i].RequestID, "request"))
		}
		return err
	}
	return nil
}

func raise(last *int64, n int64, what string) error {
	if *last > 0 && n <= *last {
		return fmt.Errorf("%s %d comes behind %s %d: two processes measured the session at once", what, n, what, *last)
	}
	*last = max(*last, n)
	return nil
}

// add counts a record that was stored as n values.
func (s *summary) add(rec collect.Record, n int) {
	seq := s.Next
	s.Next += uint64(n)
	_ = s.highest.add(rec) // who must know asks before
	switch r := rec.(type) {
	case *collect.Session:
		s.Last = r.StartedAt.UnixNano()
	case *collect.Segment:
		s.Segment, s.End = seq, 0
		s.Segments++
		s.Planned = s.Batches - s.Warmups + r.PlannedBatches
		s.Origin = r.StartedAt.UnixNano()
		s.Last = max(s.Last, s.Origin)
	case *collect.TargetInfo:
		s.Targets = max(s.Targets, r.TargetID) // one may come again
	case *collect.Case:
		s.Cases++
	case *collect.Batch:
		s.Batches++
		if r.Warmup {
			s.Warmups++
		}
		s.Requests += int64(len(r.Requests))
		for i := range r.Requests {
			if r.Requests[i].Failure != nil {
				s.Failed++
			}
		}
		s.Last = max(s.Last, s.Origin+r.EndNS)
	case *collect.End:
		s.End = seq
		s.Last = max(s.Last, r.At.UnixNano())
	}
}

func (c codec) sealSummary(key []byte, s summary) ([]byte, error) {
	p, err := c.enc.Marshal(s)
	return seal(key, kindSummary, p), err
}

func (c codec) summary(key, v []byte) (summary, error) {
	var s summary
	k, p, err := unseal(key, v)
	if err == nil && k != kindSummary {
		err = fmt.Errorf("it is of kind %d", k)
	}
	if err == nil {
		err = c.dec.Unmarshal(p, &s)
	}
	return s, err
}

// SessionInfo is what a list of sessions shows.
type SessionInfo struct {
	ID      string
	Session *collect.Session
	Segment *collect.Segment // the last one; nil before the first
	End     *collect.End     // nil: it is running, or its process died
	Running bool             // without an end, and claimed: see Store.Claim

	Segments int64
	Targets  int64
	Cases    int64
	// Planned is the number of batches stored before the last segment, and
	// those that this segment planned. Warm-ups are not counted.
	Planned  int64
	Batches  int64 // stored so far, without warm-ups
	Requests int64
	Failed   int64 // of Requests

	// LastActivity is the end of the newest thing stored: a batch, or the
	// start or end of a segment. UTC.
	LastActivity time.Time
}

func (s *summary) fill(i *SessionInfo) {
	i.Segments, i.Targets, i.Cases, i.Planned = s.Segments, s.Targets, s.Cases, s.Planned
	i.Batches, i.Requests, i.Failed = s.Batches-s.Warmups, s.Requests, s.Failed
	i.LastActivity = time.Unix(0, s.Last).UTC()
}
