package collect

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestSuitePauses: a pause stands before each batch, between two groups, and
// before each target but the first, as its own job has it.
func TestSuitePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exo := Spec{PP: []int64{1, 2}, TG: []int64{2}, Repeat: 2, Warmup: ptr(0), Order: OrderListed,
			Pause: 3 * time.Second, GroupPause: 2 * time.Second}
		asiai := Spec{Prompts: []Text{{Text: "x", Limit: 2}}, Repeat: 2, Warmup: ptr(0), Order: OrderListed,
			Pause: -1, GroupPause: -1, TargetPause: 5 * time.Second}
		d := newFake()
		d.models = []string{"a", "b"}
		runAllJobs(t, Job{Driver: d, Spec: exo}, Job{Driver: d, Spec: asiai})
		var gaps []time.Duration
		end := time.Duration(0)
		for _, sent := range d.sent {
			gaps = append(gaps, time.Duration(sent)-end)
			end = time.Duration(sent) + 60*time.Millisecond
		}
		const s = time.Second
		want := []time.Duration{3 * s, 3 * s, 5 * s, 3 * s, 3 * s, 3 * s, 5 * s, 3 * s, 5 * s, 0, 5 * s, 0}
		if !slices.Equal(gaps, want) {
			t.Errorf("gaps %v, want %v", gaps, want)
		}
	})
}

func runAllJobs(t *testing.T, jobs ...Job) *history {
	h := &history{}
	h.run(t.Context(), t, never, jobs...)
	h.check(t)
	return h
}

// TestJobsFailApart: a target that is not found, one that can't be opened and
// one that dies end themselves alone, and what was not run is counted over all
// jobs.
func TestJobsFailApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 3, Warmup: ptr(0)}
		absent, broken, dying, well := newFake(), newFake(), newFake(), newFake()
		absent.models = []string{"missing"}
		broken.openErr = errors.New("no memory")
		dying.dial = func(n int64) error {
			if n > 1 {
				return Failf(ErrConnect, "connection refused")
			}
			return nil
		}
		r := fakeRunner()
		r.Prompts = nil
		planned := int64(0)
		r.Notify = func(p Progress) { planned = p.Planned }
		var errs []error
		var batches []*Batch
		var end *End
		var jobs []Job
		for i, d := range []*fakeDriver{absent, broken, dying, well} {
			jobs = append(jobs, Job{Driver: d, Spec: spec, Prompts: func(info TargetInfo, _ Engine, _ bool) (Prompter, string) {
				return &fakePrompter{built: 100 * i}, ""
			}})
		}
		for rec, err := range r.Run(t.Context(), jobs...) {
			switch rec := rec.(type) {
			case *Batch:
				batches = append(batches, rec)
			case *End:
				end = rec
			}
			if err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) != 3 || len(batches) != 2+3 || planned != 12 {
			t.Fatalf("errors %v, %d batches of %d", errs, len(batches), planned)
		}
		if end.Status != StatusComplete || end.NotRun != 3+3+1 {
			t.Errorf("end %+v", end)
		}
		if p := well.calls[0].Prompt; p != (Prompt{User: "1 301"}) {
			t.Errorf("the last job's prompter made no %q", p)
		}
	})
}

// TestWhatIsLostIsRecorded: what was not measured, or not to its end, stands
// in the session with its reason, beside the error that tells it. Nothing is
// begun for targets that never answered, nor for what the user has stopped.
func TestWhatIsLostIsRecorded(t *testing.T) {
	refused := func(int64) error { return Failf(ErrConnect, "connection refused") }
	tooShort := func(TargetInfo, Engine, bool) (Prompter, string) {
		return &fakePrompter{bad: map[int64]error{1: errors.New("too short")}}, ""
	}
	for name, c := range map[string]struct {
		set     func(*fakeDriver)
		prompts Prompts // nil: of any length
		well    bool    // another target is measured
		want    []Lost
		status  SessionStatus // empty: no session
	}{
		"not found, alone":       {set: func(d *fakeDriver) { d.models = []string{"missing"} }},
		"not found":              {set: func(d *fakeDriver) { d.models = []string{"missing"} }, well: true, want: []Lost{{1, "", "no model missing"}}, status: StatusComplete},
		"does not answer, alone": {set: func(d *fakeDriver) { d.describeErr = errors.New("away") }},
		"does not answer":        {set: func(d *fakeDriver) { d.describeErr = errors.New("away") }, well: true, want: []Lost{{1, "m", "away"}}, status: StatusComplete},
		"does not open, alone":   {set: func(d *fakeDriver) { d.openErr = errors.New("no memory") }, want: []Lost{{1, "m", "no memory"}}, status: StatusFailed},
		"none is there, none opens": {set: func(d *fakeDriver) { d.models, d.openErr = []string{"missing", "m"}, errors.New("no memory") },
			want: []Lost{{1, "", "no model missing"}, {1, "m", "no memory"}}, status: StatusFailed},
		"does not open":  {set: func(d *fakeDriver) { d.openErr = errors.New("no memory") }, well: true, want: []Lost{{1, "m", "no memory"}}, status: StatusComplete},
		"dies":           {set: func(d *fakeDriver) { d.dial = refused }, want: []Lost{{1, "m", errDead.Error()}}, status: StatusFailed},
		"no such length": {set: func(*fakeDriver) {}, prompts: tooShort, want: []Lost{{1, "m", "no prompt of 1 tokens: too short"}}, status: StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake()
				c.set(d)
				spec := Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 1, Warmup: ptr(0)}
				jobs := []Job{{Driver: d, Spec: spec, Prompts: c.prompts}}
				if c.well {
					well := newFake()
					well.models = []string{"w"}
					jobs = append(jobs, Job{Driver: well, Spec: spec})
				}
				h := runAllJobs(t, jobs...)
				var lost []Lost
				status := SessionStatus("")
				for _, r := range h.records {
					switch r := r.(type) {
					case *Lost:
						lost = append(lost, *r)
					case *End:
						status = r.Status
					}
				}
				if !slices.Equal(lost, c.want) || status != c.status || len(h.errs) != max(1, len(c.want)) {
					t.Errorf("lost %v, want %v; status %q, want %q; errors %v", lost, c.want, status, c.status, h.errs)
				}
			})
		})
	}
}

// TestAStoppedOpenIsNotLost: the user's own word is no reason to keep.
func TestAStoppedOpenIsNotLost(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &run{Runner: &Runner{}, clock: NewClock(), reached: true, yield: func(r Record, err error) bool {
		if r != nil {
			t.Errorf("%T", r)
		}
		return true
	}}
	if err := errors.Join(s.fail(ctx, "m", ctx.Err()), s.end(ctx)); err != nil {
		t.Error(err)
	}
}
