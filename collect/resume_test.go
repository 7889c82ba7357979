package collect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// history is a session as a store keeps it.
type history struct {
	records  []Record
	errs     []error
	warnings []string
	late     map[Record]bool // ends that a run without a segment put
	vague    bool            // what a target is shows only when it is open, so plans change
}

func (h *history) all() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range h.records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// never is more records than any run has.
const never = 1 << 30

// run goes on with the session, or begins it, and dies when it has stored n
// records. It returns how many it stored.
func (h *history) run(ctx context.Context, t testing.TB, n int, jobs ...Job) int {
	r := fakeRunner()
	if len(h.records) > 0 {
		past, err := ReadPast(h.all())
		if err != nil {
			t.Fatal(err)
		}
		r.Past = past
	} else {
		r.Session.ID = "s"
	}
	r.Notify = func(p Progress) {
		if p.Warning != "" {
			h.warnings = append(h.warnings, p.Warning)
		}
	}
	stored := 0
	for rec, err := range r.Run(ctx, jobs...) {
		if err != nil {
			h.errs = append(h.errs, err)
			if errors.Is(err, ErrNothingLeft) && stored == 1 {
				if h.late == nil {
					h.late = map[Record]bool{}
				}
				h.late[h.records[len(h.records)-1]] = true
			}
			continue
		}
		if stored == n {
			break
		}
		h.records = append(h.records, rec)
		stored++
	}
	return stored
}

// doneBatches counts the done batches by target, case and repeat, on its own
// reading of the rule.
func (h *history) doneBatches() map[string]int {
	cases, targets := map[int64]*Case{}, map[int64]*TargetInfo{}
	out := map[string]int{}
	for _, rec := range h.records {
		switch r := rec.(type) {
		case *TargetInfo:
			targets[r.TargetID] = r
		case *Case:
			cases[r.CaseID] = r
		case *Batch:
			ok := 0
			for _, q := range r.Requests {
				if q.Failure == nil {
					ok++
				}
			}
			if c := cases[r.CaseID]; !r.Warmup && ok > 0 {
				info := targets[c.TargetID]
				out[fmt.Sprint(info.ModelID, info.EngineVersion, " ", *c.PP, "/", c.TG, "/", c.Concurrency, " ", r.RepeatIndex)]++
			}
		}
	}
	return out
}

// check tests what must hold of a session however often it was cut.
func (h *history) check(t testing.TB) {
	t.Helper()
	var last ids
	var segment *Segment
	inSegment := int64(0)
	ascend := func(what string, id int64, last *int64) {
		if id != *last+1 {
			t.Errorf("%s %d behind %d", what, id, *last)
		}
		*last = id
	}
	for i, rec := range h.records {
		switch r := rec.(type) {
		case *Session:
			if i != 0 {
				t.Errorf("a session record at %d", i)
			}
		case *Segment:
			if segment != nil && r.Segment != segment.Segment+1 || segment == nil && r.Segment != 1 {
				t.Errorf("segment %d behind %v", r.Segment, segment)
			}
			segment, inSegment = r, 0
		case *TargetInfo:
			if r.TargetID > last.target || segment.Segment == 1 {
				ascend("target", r.TargetID, &last.target)
			}
		case *Case:
			ascend("case", r.CaseID, &last.case_)
			if r.TargetID < 1 || r.TargetID > last.target {
				t.Errorf("case %d is of target %d", r.CaseID, r.TargetID)
			}
		case *Batch:
			ascend("batch", r.BatchID, &last.batch)
			if r.CaseID < 1 || r.CaseID > last.case_ || r.Segment != segment.Segment {
				t.Errorf("batch %d is of case %d, segment %d", r.BatchID, r.CaseID, r.Segment)
			}
			if !r.Warmup {
				inSegment++
			}
			for _, q := range r.Requests {
				ascend("request", q.RequestID, &last.request)
			}
		case *End:
			if r.NotRun != segment.PlannedBatches-inSegment && !h.vague && !(h.late[r] && r.NotRun == 0) {
				t.Errorf("segment %d: %d of %d batches, %d not run", segment.Segment, inSegment, segment.PlannedBatches, r.NotRun)
			}
		}
	}
}

// plan18 is two targets × three cases × three repeats.
func plan18() (*fakeDriver, Job) {
	d := newFake()
	d.models = []string{"a", "b"}
	return d, Job{Driver: d, Spec: Spec{PP: []int64{1, 2, 3}, TG: []int64{2, 3, 4}, Concurrency: []int64{2}, Repeat: 3, Pause: -1, GroupPause: -1}}
}

// plan18Batches is the plan, written out.
func plan18Batches(version string) map[string]int {
	want := map[string]int{}
	for _, m := range []string{"a", "b"} {
		for _, c := range []string{"1/2/2", "2/3/2", "3/4/2"} {
			for r := range 3 {
				want[fmt.Sprint(m, version, " ", c, " ", r)] = 1
			}
		}
	}
	return want
}

// complete checks that the session has the whole plan once, and that nothing
// is left of it.
func (h *history) complete(t testing.TB, job Job) {
	t.Helper()
	h.check(t)
	if got := h.doneBatches(); !maps.Equal(got, plan18Batches("")) {
		t.Errorf("done: %v", got)
	}
	if end, ok := h.records[len(h.records)-1].(*End); !ok || end.Status != StatusComplete || end.NotRun != 0 {
		t.Errorf("the end is %+v", h.records[len(h.records)-1])
	}
	h.errs = nil
	d := job.Driver.(*fakeDriver)
	d.opened = nil
	if n := h.run(context.Background(), t, never, job); n != 0 || len(h.errs) != 1 || !errors.Is(h.errs[0], ErrNothingLeft) || len(d.opened) != 0 {
		t.Errorf("once more: %d records, errors %v, opened %v", n, h.errs, d.opened)
	}
}

// TestResumeAfterEveryRecord kills the run behind each of its records, resumes
// it, kills that run behind each of its records, and resumes again.
func TestResumeAfterEveryRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, job := plan18()
		whole := &history{}
		all := whole.run(t.Context(), t, never, job)
		whole.complete(t, job)
		for first := 1; first < all; first++ {
			begun := &history{}
			begun.run(t.Context(), t, first, job)
			for second := 0; ; second++ {
				h := &history{records: slices.Clone(begun.records)}
				cut := h.run(t.Context(), t, second, job) == second
				h.check(t)
				if cut {
					h.run(t.Context(), t, never, job)
				}
				h.complete(t, job)
				if t.Failed() {
					t.Fatalf("cut behind record %d, then behind record %d", first, second)
				}
				if !cut {
					break
				}
			}
		}
	})
}

// TestResumeAfterInterrupts cancels the run within each of its requests'
// batches, between two tokens, and resumes it; then twice.
func TestResumeAfterInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, job := plan18()
		job.Spec.Streaming = StreamNone
		start := time.Now()
		(&history{}).run(t.Context(), t, never, job)
		whole := time.Since(start)
		cutAt := func(h *history, after time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			h.run(ctx, t, never, job)
		}
		for after := 25 * time.Millisecond; after < whole; after += 30 * time.Millisecond {
			h := &history{}
			cutAt(h, after)
			h.check(t)
			twice := &history{records: slices.Clone(h.records)}
			if end, ok := h.records[len(h.records)-1].(*End); !ok || end.Status != StatusInterrupted {
				t.Fatalf("after %v no end that says so: %+v", after, h.records[len(h.records)-1])
			}
			h.run(t.Context(), t, never, job)
			h.complete(t, job)
			cutAt(twice, 100*time.Millisecond)
			twice.run(t.Context(), t, never, job)
			twice.complete(t, job)
			if t.Failed() {
				t.Fatalf("interrupted after %v", after)
			}
		}
	})
}

// TestResumeAfterADeadServer: it dies with each request, and comes back.
func TestResumeAfterADeadServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := int64(1); n < 40; n++ {
			d, job := plan18()
			d.dial = func(call int64) error {
				if call >= n {
					return Failf(ErrConnect, "connection refused")
				}
				return nil
			}
			h := &history{}
			h.run(t.Context(), t, never, job)
			h.check(t)
			// The server is still away: nothing is measured, and what is done stays.
			stored := len(h.records)
			d.describeErr = Failf(ErrConnect, "connection refused")
			h.errs = nil
			h.run(t.Context(), t, never, job)
			if len(h.records) != stored || len(h.errs) == 0 || errors.Is(h.errs[0], ErrNothingLeft) {
				t.Fatalf("dead from request %d: %d records of a dead server, errors %v", n, len(h.records)-stored, h.errs)
			}
			d.describeErr, d.dial = nil, nil
			h.run(t.Context(), t, never, job)
			h.complete(t, job)
			if t.Failed() {
				t.Fatalf("dead from request %d", n)
			}
		}
	})
}

// TestWhatIsDone: a batch is done when a request of it is good and nobody cut any
// of it short.
func TestWhatIsDone(t *testing.T) {
	ok := Request{}
	failed := func(k ErrorKind) Request { return Request{Failure: Failf(k, "x")} }
	for name, c := range map[string]struct {
		requests []Request
		done     bool
	}{
		"good":             {[]Request{ok, ok}, true},
		"some failed":      {[]Request{ok, failed(ErrHTTP)}, true},
		"all failed":       {[]Request{failed(ErrStall), failed(ErrHTTP)}, false},
		"one cut short":    {[]Request{ok, failed(ErrCancelled)}, false},
		"all cut short":    {[]Request{failed(ErrCancelled), failed(ErrCancelled)}, false},
		"nothing answered": {[]Request{failed(ErrConnect), failed(ErrConnect)}, false},
		"one unanswered":   {[]Request{ok, failed(ErrConnect)}, true},
	} {
		past := &Past{}
		target := &pastTarget{done: map[batchIdentity]int{}}
		past.batch(&Batch{BatchID: 1, Requests: c.requests}, target, caseIdentity{})
		if got := len(target.done) == 1; got != c.done {
			t.Errorf("%s: done %v", name, got)
		}
	}
}
