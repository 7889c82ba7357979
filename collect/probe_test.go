package collect

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// countingEngine fails its probes in turn; nil and all that follow are answered.
type countingEngine struct {
	Engine
	fails []error
	asked int
}

func (e *countingEngine) Count(context.Context, Prompt) (Counted, error) {
	e.asked++
	if e.asked <= len(e.fails) && e.fails[e.asked-1] != nil {
		return Counted{}, e.fails[e.asked-1]
	}
	return Counted{PromptTokens: 7}, nil
}

func httpFailure(status int64, after *float64) error {
	return &Failure{Kind: ErrHTTP, Message: "no", HTTPStatus: &status, RetryAfter: after}
}

// TestProbesAreRepeated: what may pass is waited for, and no longer than that;
// what will not pass is not asked again.
func TestProbesAreRepeated(t *testing.T) {
	busy, reset := httpFailure(503, nil), error(Failf(ErrReset, "reset"))
	for name, c := range map[string]struct {
		fails []error
		asked int
		took  time.Duration
		good  bool
	}{
		"answered":         {nil, 1, 0, true},
		"busy once":        {[]error{busy}, 2, 500 * time.Millisecond, true},
		"in turn":          {[]error{httpFailure(429, nil), httpFailure(500, nil), reset}, 4, 3500 * time.Millisecond, true},
		"timed out":        {[]error{Failf(ErrTimeout, "late")}, 2, 500 * time.Millisecond, true},
		"to the last":      {[]error{busy, busy, busy, busy}, 4, 3500 * time.Millisecond, false},
		"retry after":      {[]error{httpFailure(503, ptr(4.0))}, 2, 4 * time.Second, true},
		"retry much later": {[]error{httpFailure(503, ptr(1e300))}, 2, 10 * time.Second, true},
		"retry at once":    {[]error{httpFailure(429, ptr(0.0))}, 2, 500 * time.Millisecond, true},
		"no such model":    {[]error{httpFailure(404, nil)}, 1, 0, false},
		"silence":          {[]error{Failf(ErrStall, "no answer")}, 1, 0, false},
		"dead":             {[]error{Failf(ErrConnect, "refused")}, 1, 0, false},
		"no count":         {[]error{ErrNoCount}, 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &countingEngine{fails: c.fails}
				start := time.Now()
				got, err := patiently(e).(Counter).Count(t.Context(), Prompt{})
				if took := time.Since(start); e.asked != c.asked || took != c.took || (err == nil) != c.good || c.good && got.PromptTokens != 7 {
					t.Errorf("asked %d times in %v: %v, %v; want %d in %v", e.asked, took, got, err, c.asked, c.took)
				}
			})
		})
	}
}

// TestPatienceEnds: a server that fails every probe costs its waits once, and
// one that was well between gets them again.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := httpFailure(503, nil)
		e := &countingEngine{fails: []error{busy, busy, busy, busy, busy, busy, nil, busy}}
		c := patiently(e).(Counter)
		for i, want := range []int{4, 5, 6, 7, 9} { // probes sent until then
			if c.Count(t.Context(), Prompt{}); e.asked != want {
				t.Errorf("count %d: %d probes, want %d", i, e.asked, want)
			}
		}
	})
}

// TestPatienceIsTheUsers: a wait ends with the context.
func TestPatienceIsTheUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		e := &countingEngine{fails: []error{httpFailure(503, nil)}}
		start := time.Now()
		_, err := patiently(e).(Counter).Count(ctx, Prompt{})
		if err == nil || e.asked != 1 || time.Since(start) != 100*time.Millisecond {
			t.Errorf("asked %d times in %v: %v", e.asked, time.Since(start), err)
		}
	})
}

// sizedByCount sizes prompts by the engine's own counts.
type sizedByCount struct {
	fakePrompter
	counter Counter
}

func (p *sizedByCount) Size(ctx context.Context, pp int64) error {
	_, err := p.counter.Count(ctx, Prompt{})
	return err
}

// TestRunIsPatientWithProbes: a prompter gets the engine's counts with the
// runner's patience, and one failed probe is nothing to warn of.
func TestRunIsPatientWithProbes(t *testing.T) {
	for name, c := range map[string]struct {
		fails    int
		warnings int
	}{"once": {1, 0}, "to the last": {4, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake()
				d.count = func(n int64) error {
					if n <= int64(c.fails) {
						return httpFailure(503, nil)
					}
					return nil
				}
				r := fakeRunner()
				r.Prompts = func(_ TargetInfo, e Engine, _ bool) (Prompter, string) {
					counter, ok := e.(Counter)
					if !ok {
						t.Fatal(errors.New("the engine's counts are gone"))
					}
					return &sizedByCount{counter: counter}, ""
				}
				got := runWith(t.Context(), r, d, Spec{PP: []int64{8}, TG: []int64{2}, Repeat: 1, Warmup: ptr(0)})
				if len(got.batches) != 1 || len(got.warnings) != c.warnings || len(got.errs) != 0 {
					t.Errorf("%d batches, warnings %q, errors %v", len(got.batches), got.warnings, got.errs)
				}
			})
		})
	}
}
