package collect

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"tokwatt/power"
)

// fakeDriver is an engine in memory on whatever clock the test runs: n tokens,
// the first after prefill, then one each step.
type fakeDriver struct {
	models      []string
	prefill     time.Duration
	step        time.Duration
	cold        string
	describeErr error
	says        func(model string) TargetInfo // instead of engine and model alone
	sources     []power.Source
	dial        func(n int64) error // by number of the call
	answer      func(n int64, c Call) fakeAnswer
	count       func(n int64) error // by number of the probe

	mu      sync.Mutex
	calls   []Call
	sent    []int64 // when each call was written
	openErr error
	opened  []string
	probes  int64
	closed  int
	flying  atomic.Int64 // requests under way
}

// fakeAnswer overrides what a call gets.
type fakeAnswer struct {
	tokens int64         // 0: as asked
	err    error         // after the tokens
	hang   bool          // after the tokens, until the context ends
	late   bool          // an hour of prefill
	linger time.Duration // from the end of the answer to that of the transfer
	lead   []ChunkKind   // one each minute before the output
	silent bool          // no output at all
	hidden int64         // of each token
	report *Report       // instead of the usual one
	rest   string        // text that comes with the report
}

func (d *fakeDriver) Targets(_ context.Context, spec Spec) iter.Seq2[Target, error] {
	return func(yield func(Target, error) bool) {
		for _, m := range d.models {
			if m == "missing" {
				if !yield(nil, fmt.Errorf("no model %s", m)) {
					return
				}
				continue
			}
			if !yield(&fakeTarget{d, m}, nil) {
				return
			}
		}
	}
}

type fakeTarget struct {
	*fakeDriver
	model string
}

func (t *fakeTarget) Describe(context.Context) (TargetInfo, error) {
	if t.says != nil {
		return t.says(t.model), t.describeErr
	}
	return TargetInfo{Engine: "fake", ModelID: t.model}, t.describeErr
}
func (t *fakeTarget) Open(_ context.Context, clock *Clock) (Engine, error) {
	if t.openErr != nil {
		return nil, t.openErr
	}
	t.opened = append(t.opened, t.model)
	return &fakeEngine{t.fakeDriver, clock}, nil
}
func (t *fakeTarget) Close(context.Context) error { t.closed++; return nil }

type fakeEngine struct {
	*fakeDriver
	clock *Clock
}

func (e *fakeEngine) Abilities() Abilities { return Abilities{ColdMethod: e.cold, EOSBan: "fake"} }

func (e *fakeEngine) Count(context.Context, Prompt) (Counted, error) {
	e.probes++
	if e.count != nil {
		return Counted{PromptTokens: 1}, e.count(e.probes)
	}
	return Counted{PromptTokens: 1}, nil
}

func (e *fakeEngine) Sources() []power.Source { return e.sources }

func (e *fakeEngine) Open(ctx context.Context, c Call) (Stream, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, c)
	e.sent = append(e.sent, 0)
	n := int64(len(e.calls))
	if e.dial != nil {
		if err := e.dial(n); err != nil {
			return nil, err
		}
	}
	var a fakeAnswer
	if e.answer != nil {
		a = e.answer(n, c)
	}
	if a.tokens == 0 && !a.silent {
		a.tokens = c.MaxTokens
	}
	return &fakeStream{e, ctx, n, a}, nil
}

type fakeStream struct {
	e   *fakeEngine
	ctx context.Context
	n   int64
	a   fakeAnswer
}

func (s *fakeStream) Close() error { return nil }

func (s *fakeStream) Arrivals() iter.Seq2[Arrival, error] {
	return func(yield func(Arrival, error) bool) {
		s.e.mu.Lock()
		s.e.sent[s.n-1] = s.e.clock.Now()
		s.e.mu.Unlock()
		s.e.flying.Add(1)
		defer s.e.flying.Add(-1)
		for _, kind := range s.a.lead {
			if sleep(s.ctx, time.Minute); s.ctx.Err() != nil {
				yield(Arrival{}, s.ctx.Err())
				return
			}
			if !yield(Arrival{Chunk: Chunk{T: s.e.clock.Now(), Bytes: 1, Kind: kind}}, nil) {
				return
			}
		}
		wait := s.e.prefill
		if s.a.late {
			wait = time.Hour
		}
		for range s.a.tokens {
			if sleep(s.ctx, wait); s.ctx.Err() != nil {
				yield(Arrival{}, s.ctx.Err())
				return
			}
			wait = s.e.step
			c := Chunk{T: s.e.clock.Now(), Bytes: 10, Tokens: 1, Kind: KindContent}
			if !yield(Arrival{Chunk: c, Text: "tok ", Hidden: s.a.hidden}, nil) {
				return
			}
		}
		if s.a.hang {
			<-s.ctx.Done()
			yield(Arrival{}, s.ctx.Err())
			return
		}
		report := Report{CompletionTokens: &s.a.tokens, FinishReason: "length"}
		if s.a.report != nil {
			report = *s.a.report
		}
		end := s.e.clock.Now()
		sleep(s.ctx, s.a.linger)
		if yield(Arrival{Chunk: Chunk{T: end, Kind: KindReport}, Report: &report, Text: s.a.rest}, nil) && s.a.err != nil {
			yield(Arrival{}, s.a.err)
		}
	}
}

// fakePrompter makes prompts of any length but those in bad.
type fakePrompter struct {
	bad   map[int64]error
	fresh bool
	built int
}

func (p *fakePrompter) Size(_ context.Context, pp int64) error { return p.bad[pp] }
func (p *fakePrompter) Build(pp int64) (Prompt, *int64) {
	p.built++
	return Prompt{User: fmt.Sprint(pp, " ", p.built)}, &pp
}
func (p *fakePrompter) Head() *int64         { return nil }
func (p *fakePrompter) Source() PromptSource { return PromptTokenizer }
