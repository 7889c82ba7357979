package collect

import (
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
