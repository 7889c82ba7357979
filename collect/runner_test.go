package collect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ran is a whole run, taken apart.
type ran struct {
	session  *Session
	segment  *Segment
	targets  []*TargetInfo
	cases    []*Case
	batches  []*Batch
	end      *End
	errs     []error
	warnings []string
}

func runAll(ctx context.Context, d Driver, spec Spec) *ran {
	return runWith(ctx, fakeRunner(), d, spec)
}

func runWith(ctx context.Context, r *Runner, d Driver, spec Spec) *ran {
	out := &ran{}
	r.Notify = func(p Progress) {
		if p.Warning != "" {
			out.warnings = append(out.warnings, p.Warning)
		}
	}
	for rec, err := range r.Run(ctx, Job{Driver: d, Spec: spec}) {
		switch rec := rec.(type) {
		case *Session:
			out.session = rec
		case *Segment:
			out.segment = rec
		case *TargetInfo:
			out.targets = append(out.targets, rec)
		case *Case:
			out.cases = append(out.cases, rec)
		case *Batch:
			out.batches = append(out.batches, rec)
		case *End:
			out.end = rec
		}
		if err != nil {
			out.errs = append(out.errs, err)
		}
	}
	return out
}

func fakeRunner() *Runner {
	return &Runner{Prompts: func(_ TargetInfo, _ Engine, fresh bool) (Prompter, string) { return &fakePrompter{fresh: fresh}, "" }}
}

func newFake() *fakeDriver {
	return &fakeDriver{models: []string{"m"}, prefill: 50 * time.Millisecond, step: 10 * time.Millisecond}
}

func ptr[T any](v T) *T { return &v }

func TestRunTimesAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		got := runAll(t.Context(), d, Spec{PP: []int64{64}, TG: []int64{5}, Concurrency: []int64{4}, Repeat: 2})
		if len(got.batches) != 3 || !got.batches[0].Warmup || got.batches[1].Warmup {
			t.Fatalf("want a warm-up and two batches, got %d", len(got.batches))
		}
		for _, b := range got.batches {
			if len(b.Requests) != 4 || b.EndNS-b.StartNS != int64(90*time.Millisecond) {
				t.Errorf("batch of %d requests over %d ns", len(b.Requests), b.EndNS-b.StartNS)
			}
			for _, r := range b.Requests {
				if r.StartNS != b.StartNS || r.Failure != nil || len(r.Chunks) != 5 || *r.PPTokens != 64 {
					t.Fatalf("request %+v", r)
				}
				for i, c := range r.Chunks {
					if want := int64(50+10*i) * 1e6; c.T != want {
						t.Errorf("chunk %d at %d, want %d", i, c.T, want)
					}
				}
				if r.Preview != strings.Repeat("tok ", 5) || r.OutputChars != 20 {
					t.Errorf("text %q, %d", r.Preview, r.OutputChars)
				}
			}
		}
		if got.end.Status != StatusComplete || got.end.NotRun != 0 || got.segment.PlannedBatches != 2 {
			t.Errorf("end %+v, planned %d", got.end, got.segment.PlannedBatches)
		}
		if p := d.calls[0].Prompt; p == d.calls[1].Prompt {
			t.Error("two requests share a prompt")
		}
		if d.closed != 1 {
			t.Error("target not closed")
		}
	})
}

// TestEndIsTheAnswers: what a stream waits for behind its answer is in no time
// of the request or the batch; of a failed one the end is when it failed.
func TestEndIsTheAnswers(t *testing.T) {
	for _, c := range []struct {
		err  error
		want time.Duration
	}{{nil, 60 * time.Millisecond}, {Failf(ErrReset, "reset"), 560 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			d := newFake()
			d.answer = func(int64, Call) fakeAnswer { return fakeAnswer{linger: 500 * time.Millisecond, err: c.err} }
			got := runAll(t.Context(), d, Spec{PP: []int64{8}, TG: []int64{2}, Concurrency: []int64{2}, Repeat: 1})
			if len(got.batches) != 2 {
				t.Errorf("%d batches", len(got.batches))
			}
			for _, b := range got.batches {
				for _, q := range b.Requests {
					if got := time.Duration(q.EndNS - q.StartNS); got != c.want {
						t.Errorf("a request of %v, want %v", got, c.want)
					}
				}
				if got := time.Duration(b.EndNS - b.StartNS); got != c.want {
					t.Errorf("a batch of %v, want %v", got, c.want)
				}
			}
		})
	}
}

func TestRunIDsCountFromOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		d.models = []string{"a", "b"}
		got := runAll(t.Context(), d, Spec{PP: []int64{64, 128}, TG: []int64{2}, Concurrency: []int64{1, 3}, Repeat: 2})
		var request, batch int64
		for _, b := range got.batches {
			batch++
			if b.BatchID != batch {
				t.Fatalf("batch %d has id %d", batch, b.BatchID)
			}
			for i, r := range b.Requests {
				request++
				if r.RequestID != request || r.ConcurrentIndex != int64(i) {
					t.Fatalf("request %d has id %d, index %d", request, r.RequestID, r.ConcurrentIndex)
				}
			}
		}
		for i, c := range got.cases {
			if c.CaseID != int64(i+1) {
				t.Errorf("case %d has id %d", i+1, c.CaseID)
			}
		}
		if len(got.cases) != 8 || len(got.batches) != 2*(1+8) {
			t.Errorf("%d cases, %d batches", len(got.cases), len(got.batches))
		}
	})
}

func TestOrder(t *testing.T) {
	for order, want := range map[Order]string{
		OrderInterleaved: "1/0 2/0 3/0 1/1 2/1 3/1",
		OrderListed:      "1/0 1/1 2/0 2/1 3/0 3/1",
	} {
		synctest.Test(t, func(t *testing.T) {
			got := runAll(t.Context(), newFake(), Spec{PP: []int64{1, 2, 3}, TG: []int64{2}, Repeat: 2, Warmup: ptr(0), Order: order})
			var steps []string
			for _, b := range got.batches {
				steps = append(steps, fmt.Sprintf("%d/%d", b.CaseID, b.RepeatIndex))
			}
			if s := strings.Join(steps, " "); s != want {
				t.Errorf("%s: %s, want %s", order, s, want)
			}
		})
	}
}

func TestPauses(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		want time.Duration // of the whole run: 4 batches of 60 ms, 2 rounds
	}{
		"default": {Spec{}, 240*time.Millisecond + 4*time.Second + time.Second},
		"none":    {Spec{Pause: -1, GroupPause: -1}, 240 * time.Millisecond},
		"exo":     {Spec{Pause: 3 * time.Second, GroupPause: 2 * time.Second}, 240*time.Millisecond + 12*time.Second + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.spec.PP, c.spec.TG, c.spec.Repeat, c.spec.Warmup = []int64{1, 2}, []int64{2}, 2, ptr(0)
				start := time.Now()
				runAll(t.Context(), newFake(), c.spec)
				if got := time.Since(start); got != c.want {
					t.Errorf("took %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestFailuresAreRows(t *testing.T) {
	for name, c := range map[string]struct {
		answer fakeAnswer
		spec   Spec
		want   ErrorKind
		after  time.Duration
		chunks int
	}{
		"server error": {fakeAnswer{tokens: 2, err: Failf(ErrServer, "boom")}, Spec{}, ErrServer, 60 * time.Millisecond, 2},
		"plain error":  {fakeAnswer{tokens: 2, err: errors.New("odd")}, Spec{}, ErrProtocol, 60 * time.Millisecond, 2},
		"stall":        {fakeAnswer{tokens: 2, hang: true}, Spec{StallTimeout: time.Second}, ErrStall, 1060 * time.Millisecond, 2},
		"first":        {fakeAnswer{late: true}, Spec{FirstTimeout: time.Minute}, ErrStall, time.Minute, 0},
		"timeout":      {fakeAnswer{tokens: 2, hang: true}, Spec{Timeout: 100 * time.Millisecond}, ErrTimeout, 100 * time.Millisecond, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake()
				d.answer = func(n int64, _ Call) fakeAnswer {
					if n == 1 {
						return c.answer
					}
					return fakeAnswer{}
				}
				c.spec.PP, c.spec.TG, c.spec.Repeat, c.spec.Warmup = []int64{1}, []int64{2}, 2, ptr(0)
				got := runAll(t.Context(), d, c.spec)
				r := got.batches[0].Requests[0]
				if r.Failure == nil || r.Failure.Kind != c.want || len(r.Chunks) != c.chunks {
					t.Errorf("failure %v with %d chunks, want %s with %d", r.Failure, len(r.Chunks), c.want, c.chunks)
				}
				if d := time.Duration(r.EndNS - r.StartNS); d != c.after {
					t.Errorf("ended after %v, want %v", d, c.after)
				}
				if got.batches[1].Requests[0].Failure != nil || got.end.Status != StatusComplete {
					t.Error("a failed request must not touch the next batch")
				}
			})
		})
	}
}

func TestDeadTargetEndsItselfOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		d.models = []string{"a", "missing", "b"}
		d.dial = func(n int64) error {
			if n >= 3 && n <= 4 { // the second batch of a
				return Failf(ErrConnect, "connection refused")
			}
			return nil
		}
		got := runAll(t.Context(), d, Spec{PP: []int64{1}, TG: []int64{2}, Concurrency: []int64{2}, Repeat: 3, Warmup: ptr(0)})
		if len(got.batches) != 2+3 || len(got.errs) != 2 {
			t.Fatalf("%d batches, errors %v", len(got.batches), got.errs)
		}
		if !errors.Is(got.errs[1], errDead) {
			t.Errorf("error %v", got.errs[1])
		}
		dead := got.batches[1]
		if r := dead.Requests[0]; r.Failure.Kind != ErrConnect || r.StartNS != dead.StartNS {
			t.Errorf("dead request %+v", r)
		}
		if got.end.NotRun != 1+3 {
			t.Errorf("%d batches not run, want 1 of a and 3 of the missing model", got.end.NotRun)
		}
	})
}

func TestOneOfTwoConnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		d.dial = func(n int64) error {
			if n%2 == 0 {
				return Failf(ErrConnect, "connection refused")
			}
			return nil
		}
		got := runAll(t.Context(), d, Spec{PP: []int64{1}, TG: []int64{2}, Concurrency: []int64{2}, Repeat: 3, Warmup: ptr(0)})
		if len(got.batches) != 3 || len(got.errs) != 0 {
			t.Errorf("%d batches, errors %v", len(got.batches), got.errs)
		}
	})
}

func TestUndescribedTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		d.describeErr = Failf(ErrConnect, "connection refused")
		got := runAll(t.Context(), d, Spec{PP: []int64{1}, TG: []int64{2}})
		if len(got.errs) != 1 || got.session != nil || got.end != nil {
			t.Errorf("errors %v, session %v, end %+v", got.errs, got.session, got.end)
		}
	})
}

func TestCancelKeepsWhatWasMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(75*time.Millisecond, cancel) // in the second batch
		got := runAll(ctx, d, Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 5, Warmup: ptr(0), Pause: -1, GroupPause: -1})
		if len(got.batches) != 2 || got.batches[1].Requests[0].Failure.Kind != ErrCancelled {
			t.Fatalf("%d batches", len(got.batches))
		}
		if got.end == nil || got.end.Status != StatusInterrupted || got.end.NotRun != 3 {
			t.Errorf("end %+v", got.end)
		}
		if d.closed != 1 {
			t.Error("target not closed")
		}
	})
}

func TestConsumerMayStopAnywhere(t *testing.T) {
	for n := range 8 {
		synctest.Test(t, func(t *testing.T) {
			left := n
			for range fakeRunner().Run(t.Context(), Job{Driver: newFake(), Spec: Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 2}}) {
				if left == 0 {
					break
				}
				left--
			}
		})
	}
}

func TestPromptsThatCantBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := fakeRunner()
		r.Prompts = func(TargetInfo, Engine, bool) (Prompter, string) {
			return &fakePrompter{bad: map[int64]error{7: errors.New("too short"), 9: Failf(ErrHTTP, "404")}}, ""
		}
		got := runWith(t.Context(), r, newFake(), Spec{PP: []int64{7, 9, 64}, TG: []int64{2}, Concurrency: []int64{1, 2}, Repeat: 2, Warmup: ptr(0)})
		if len(got.errs) != 1 || len(got.cases) != 4 || len(got.batches) != 8 || got.end.NotRun != 4 {
			t.Errorf("errors %v, %d cases, %d batches, %d not run", got.errs, len(got.cases), len(got.batches), got.end.NotRun)
		}
		if len(got.warnings) != 1 {
			t.Errorf("warnings %q, want one for the length that could not be verified", got.warnings)
		}
	})
}

func TestCaseSaysHowItWasCold(t *testing.T) {
	for name, c := range map[string]struct {
		cold string
		spec Spec
		want [2]string
	}{
		"engine": {"engine", Spec{PP: []int64{1}}, [2]string{"cold", "engine"}},
		"nonce":  {"", Spec{PP: []int64{1}}, [2]string{"cold", "nonce"}},
		"own":    {"", Spec{Prompts: []Text{{Text: "hi"}}}, [2]string{"cold", ""}},
		"prefix": {"engine", Spec{PP: []int64{1}, Cache: CachePrefix}, [2]string{"prefix", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake()
				d.cold = c.cold
				c.spec.TG, c.spec.Repeat = []int64{2}, 1
				k := runAll(t.Context(), d, c.spec).cases[0]
				if got := [2]string{string(k.CacheMode), k.ColdMethod}; got != c.want {
					t.Errorf("%v, want %v", got, c.want)
				}
				if d.calls[0].Cold == (c.spec.Cache == CachePrefix) {
					t.Error("the call says otherwise")
				}
			})
		})
	}
}

func TestShapes(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		want []string
	}{
		"zip":      {Spec{PP: []int64{1, 2}, TG: []int64{8, 9}}, []string{"1/8/1", "2/9/1"}},
		"all":      {Spec{PP: []int64{1, 2}, TG: []int64{8, 9}, AllCombinations: true}, []string{"1/8/1", "1/9/1", "2/8/1", "2/9/1"}},
		"product":  {Spec{PP: []int64{1, 2, 3}, TG: []int64{8}, Concurrency: []int64{1, 4}}, []string{"1/8/1", "1/8/4", "2/8/1", "2/8/4", "3/8/1", "3/8/4"}},
		"own":      {Spec{Prompts: []Text{{Text: "x"}}}, []string{"0/128/1"}},
		"own, two": {Spec{Prompts: []Text{{Text: "x"}, {Text: "y"}}, TG: []int64{5}}, []string{"0/5/1", "0/5/1"}},
	} {
		var got []string
		for _, s := range c.spec.Shapes() {
			got = append(got, fmt.Sprintf("%d/%d/%d", s.PP, s.TG, s.Concurrency))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	err := Spec{PP: []int64{0}, TG: []int64{1, -3}, Prompts: []Text{{Text: "x"}}, Concurrency: []int64{0}, Repeat: -1, Warmup: ptr(-1), Order: "odd", Temperature: ptr(math.NaN())}.Validate()
	for _, want := range []string{"exclude each other", "--pp 0", "--tg 1:", "--tg -3", "--concurrency 0", "--repeat", "--warmup", "--order odd", "--temperature"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in: %v", want, err)
		}
	}
	for _, s := range []Spec{{}, {PP: []int64{5}}, {PP: []int64{1 << 40}, TG: []int64{2}}, {PP: []int64{5}, TG: []int64{1 << 40}},
		{PP: []int64{5}, TG: []int64{2}, Concurrency: []int64{1 << 40}}, {PP: []int64{5}, TG: []int64{2}, Repeat: 1 << 40}} {
		if s.Validate() == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	if err := (Spec{PP: []int64{5}, TG: []int64{2}}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestHiddenOutput: what came together is one chunk; all of it counts, and what
// can be seen is shown.
func TestHiddenOutput(t *testing.T) {
	rec := recorder{req: &Request{}}
	rec.add(Arrival{Chunk: Chunk{Bytes: 9, Kind: KindContent}, Text: "äb", Hidden: 3})
	if r := rec.req; r.OutputChars != 5 || len(r.Chunks) != 1 || rec.preview.String() != "äb" {
		t.Errorf("%d code points in %d chunks, shown %q", r.OutputChars, len(r.Chunks), rec.preview.String())
	}
}
