package store

import (
	"fmt"

	"tokwatt/collect"
)

// Report is what Check found. The counts are of what can be read, and so be
// saved by RepairTo.
type Report struct {
	Bytes    int64 // size of the file
	Free     int64 // of them not in use
	Sessions int64
	Records  int64 // batches included
	Batches  int64
	Requests int64
	Chunks   int64
	Notes    []string // what is there that this program does not know
	Losses   []Loss   // the sessions of which something can't be read
	Problems []error  // what is wrong, the first maxProblems of it
	More     int64    // how many problems there are beside those
}

// Loss is a session of which something can't be read.
type Loss struct {
	Session string
	Batches int64 // that can be read, warm-ups included
	// Lost are the batches that can't, as far as the session's summary or else
	// the numbers of the others tell; those behind the last of them may be
	// more.
	Lost int64
}

// String is the loss in a sentence without its session.
func (l Loss) String() string {
	if l.Lost == 0 {
		return fmt.Sprintf("%d batches are left, but not all that belongs to them", l.Batches)
	}
	return fmt.Sprintf("%d of %d batches are left, %d lost (warm-ups included)", l.Batches, l.Batches+l.Lost, l.Lost)
}

// maxProblems bounds a Report.
const maxProblems = 100

// OK says that nothing is wrong.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

func (r *Report) problem(err error) {
	switch {
	case err == nil:
	case len(r.Problems) < maxProblems:
		r.Problems = append(r.Problems, err)
	default:
		r.More++
	}
}

func (r *Report) count(rec collect.Record) {
	r.Records++
	switch rec := rec.(type) {
	case *collect.Session:
		r.Sessions++
	case *collect.Batch:
		r.Batches++
		r.Requests += int64(len(rec.Requests))
		for i := range rec.Requests {
			r.Chunks += int64(len(rec.Requests[i].Chunks))
		}
	}
}
