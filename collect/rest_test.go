package collect

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

// TestLeftIsWhatRunMeasures: wherever a session was cut, what is said to be
// left is what the next run plans from its first word on, and measures.
func TestLeftIsWhatRunMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, job := plan18()
		all := (&history{}).run(t.Context(), t, never, job)
		for n := 1; n < all; n++ {
			h := &history{}
			h.run(t.Context(), t, n, job)
			past, err := ReadPast(h.all())
			if err != nil {
				t.Fatal(err)
			}
			rest, err := Left(t.Context(), past, job)
			if err != nil || len(rest) != 2 {
				t.Fatalf("%+v, %v", rest, err)
			}
			left := map[string]int64{}
			sum := int64(0)
			for _, r := range rest {
				sum += r.Batches()
				for _, c := range r.Cases {
					left[fmt.Sprint(r.Target.ModelID, " ", c.PP)] = c.Batches
				}
			}
			plain := int64(len(h.doneBatches()))
			if sum != 18-plain {
				t.Fatalf("cut behind record %d: %d left of 18, %d are done", n, sum, plain)
			}
			for name, got := range measuredBy(t, past, sum, job) {
				if left[name] != got {
					t.Errorf("cut behind record %d: %s has %d batches left, %d were measured", n, name, left[name], got)
				}
			}
		}
	})
}

// measuredBy runs what is left of a session and counts the batches by model and
// pp. Each word of the run must be of so many planned batches.
func measuredBy(t *testing.T, past *Past, planned int64, job Job) map[string]int64 {
	t.Helper()
	r := fakeRunner()
	r.Past = past
	got := map[string]int64{}
	done := int64(0)
	r.Notify = func(p Progress) {
		if p.Phase == PhaseMeasured {
			done++
			got[fmt.Sprint(p.Target.ModelID, " ", *p.Case.PP)]++
		}
		if p.Planned != planned || p.Done != done {
			t.Errorf("%s: %d of %d batches, want %d of %d", p.Phase, p.Done, p.Planned, done, planned)
		}
	}
	for _, err := range r.Run(t.Context(), job) {
		if err != nil && !errors.Is(err, ErrNothingLeft) {
			t.Error(err)
		}
	}
	return got
}

// TestLeftOfANewSession: all of it, and why a target says nothing.
func TestLeftOfANewSession(t *testing.T) {
	d, away := newFake(), newFake()
	d.models = []string{"a", "missing"}
	away.describeErr = errors.New("away")
	spec := Spec{PP: []int64{1, 2}, TG: []int64{2}, Repeat: 3}
	rest, err := Left(t.Context(), nil, Job{Driver: d, Spec: spec}, Job{Driver: away, Spec: spec})
	var got []string
	for _, r := range rest {
		got = append(got, fmt.Sprint(r.Job, r.Target.ModelID, r.Err, r.Batches()))
	}
	want := []string{"0a<nil> 6", "0no model missing 6", "1maway 6"}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q; %v", got, want, err)
	}
	if len(d.opened)+len(d.calls) != 0 {
		t.Error("a target was opened")
	}
	if _, err := Left(t.Context(), nil, Job{Driver: d}); err == nil {
		t.Error("a job without a matrix")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Left(ctx, nil, Job{Driver: d, Spec: spec}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
