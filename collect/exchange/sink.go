package exchange

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tokwatt/collect"
)

// sink takes what a format's reader finds and hands it out as records: it gives
// sessions their ids, numbers what is in them, and lays batches without times
// end to end. A reader calls session first, then target, caseOf and batch as it
// goes, and may begin another session; it returns when more is false.
type sink struct {
	ctx     context.Context
	in      *Input
	format  string
	yield   func(collect.Record, error) bool
	stopped bool // the consumer has enough

	start   time.Time // of the session
	open    bool      // a session has begun and has no end
	last    int64     // end of its newest batch, ns
	targets map[string]int64
	cases   map[string]int64
	repeats map[int64]int64 // by case; warm-ups by its negative
	// numbered: the file has the RepeatIndex of its batches; else they are counted.
	numbered bool
	batches  int64
	reqs     int64
}

// more reports whether there is still somebody who takes records.
func (s *sink) more() bool { return !s.stopped && s.ctx.Err() == nil }

func (s *sink) put(rec collect.Record) {
	if !s.stopped {
		s.stopped = !s.yield(rec, nil)
	}
}

// session begins a session and ends the one before. of is its own part of the
// file. The reader gives what the file says: StartedAt, Host and the rest, and
// in Imported the Tool, its version and Extra.
func (s *sink) session(of part, session collect.Session) error {
	s.end(collect.StatusComplete)
	digest, err := s.in.digest(s.format, of)
	if err != nil {
		return err
	}
	var origin collect.Origin
	if session.Imported != nil {
		origin = *session.Imported
	}
	origin.Format, origin.File, origin.ImportedAt = s.format, filepath.Base(s.in.Name), s.in.Now.UTC()
	origin.Hash = hex.EncodeToString(digest[:8])
	session.Imported = &origin
	session.StartedAt = session.StartedAt.UTC()
	session.ID = sessionID(session.StartedAt, digest)
	if session.Host.Name == "" {
		session.Host.Name = s.in.Host
	}
	s.start, s.open, s.last, s.batches, s.reqs = session.StartedAt, true, 0, 0, 0
	s.targets, s.cases, s.repeats = map[string]int64{}, map[string]int64{}, map[int64]int64{}
	s.put(&session)
	s.put(&collect.Segment{Segment: 1, StartedAt: s.start, ToolVersion: strings.TrimSpace(origin.Tool + " " + origin.ToolVersion)})
	return nil
}

// end closes the session, if one is open.
func (s *sink) end(status collect.SessionStatus) {
	if !s.open {
		return
	}
	s.open = false
	end := &collect.End{Status: status}
	if !s.start.IsZero() {
		end.At = s.start.Add(time.Duration(s.last))
	}
	s.put(end)
}

// target is the number of a target of the session; two that say the same are
// one.
func (s *sink) target(t collect.TargetInfo) int64 {
	return number(s.targets, t, func(n int64) {
		t.TargetID = n
		s.put(&t)
	})
}

// caseOf is the number of a case of the session, in the same way.
func (s *sink) caseOf(c collect.Case) int64 {
	return number(s.cases, c, func(n int64) {
		c.CaseID = n
		s.put(&c)
	})
}

// number finds or gives the number of v among those that are known.
func number(known map[string]int64, v any, put func(int64)) int64 {
	key, err := json.Marshal(v)
	if err != nil {
		panic(err) // a number that is none: every reader refuses those
	}
	n, ok := known[string(key)]
	if !ok {
		n = int64(len(known) + 1)
		known[string(key)] = n
		put(n)
	}
	return n
}

// maxBatch is how many requests of a file that tells no batches apart are one.
const maxBatch = 4096

// batch takes one repeat of a case, which starts with its first request. Times
// count from the session's start; with placed false the file has no such times,
// and they count from 0: the batch is put behind the one before. Stated is made
// for a request without one.
func (s *sink) batch(caseID int64, placed bool, b collect.Batch) {
	for i := range b.Requests {
		if at := b.Requests[i].StartNS; i == 0 || at < b.StartNS {
			b.StartNS = at
		}
	}
	by := int64(0)
	if !placed {
		by = s.last - b.StartNS
	}
	s.batches++
	b.CaseID, b.BatchID, b.Segment = caseID, s.batches, 1
	b.StartNS, b.EndNS = b.StartNS+by, b.EndNS+by
	key := caseID
	if b.Warmup {
		key = -caseID
	}
	if !s.numbered {
		b.RepeatIndex = s.repeats[key]
		s.repeats[key]++
	}
	for i := range b.Requests {
		r := &b.Requests[i]
		s.reqs++
		r.RequestID = s.reqs
		r.StartNS, r.EndNS = r.StartNS+by, r.EndNS+by
		b.EndNS = max(b.EndNS, r.EndNS)
		if r.Stated == nil {
			r.Stated = &collect.Stated{}
		}
	}
	s.last = max(s.last, b.EndNS)
	s.put(&b)
}

// bad reports a row that is left out.
func (s *sink) bad(at place, format string, args ...any) {
	if !s.stopped {
		s.stopped = !s.yield(nil, &RowError{File: filepath.Base(s.in.Name), Line: at.line, Where: at.where, Reason: fmt.Sprintf(format, args...)})
	}
}

// place is where a row stands: a line from 1, or a path as "runs[3]", or both.
type place struct {
	line  int
	where string
}

func line(n int) place { return place{line: n} }

func where(format string, args ...any) place { return place{where: fmt.Sprintf(format, args...)} }

// RowError is a row of a file that could not be read and was left out.
type RowError struct {
	File   string // base name
	Line   int    // from 1; 0 where rows are not told by lines
	Where  string // "runs[3]"; empty where the line tells
	Reason string
}

// Error is "FILE, line 3: reason".
func (e *RowError) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Where != "" {
		s += ", " + e.Where
	}
	return s + ": " + e.Reason
}
