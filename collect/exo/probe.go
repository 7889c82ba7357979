package exo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tokwatt/collect"
)

// probeLimit bounds the first request to an instance, which may have to read
// the weights from disk once more.
const probeLimit = 5 * time.Minute

// probeTokens are the lengths of the probes, until one ran long enough to be
// seen among the tasks.
var probeTokens = []int64{2, 16, 64}

// probe asks for a few tokens: that wakes the runner up, and shows which
// engine runs, how it samples, and whether it is ours. Where it fails, that
// ends no target: the measured requests will say so. The errors are the
// context's and that of requests which go to another instance.
func (e *engine) probe(ctx context.Context) error {
	e.before = e.quiet(ctx)
	e.meet(ctx)
	var found *task
	for _, n := range probeTokens {
		prompt := collect.Prompt{User: fmt.Sprintf("tokwatt %08x", rand.Uint32())}
		seen := e.watch(ctx, e.call(prompt, n))
		r, err := e.ask(ctx, prompt, n, probeLimit)
		t, watched := seen()
		found = t
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			e.target.opts.notify("the first short request to %s failed (%v); it is measured all the same", e.target.model.ID, err)
			return e.routed(found)
		}
		if r.GenerationRule == collect.RateTokens {
			e.sequential = true
			e.target.info.Engine, e.target.info.MaxStreams = sequentialEngine, new(admittedSequential)
		}
		if found != nil {
			e.target.info.Sampling = e.target.sampling(found.Params.sampling())
		}
		if found != nil || !watched {
			break
		}
	}
	return e.routed(found)
}

// watch looks for a request among the tasks until seen is called, which
// returns its task; nil, where it was not seen, and watched false, where exo
// does not list its tasks.
func (e *engine) watch(ctx context.Context, c collect.Call) (seen func() (found *task, watched bool)) {
	ctx, stop := context.WithCancel(ctx)
	var found *task
	listed := true
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
			all, err := e.target.running(ctx)
			if err == nil && all == nil {
				listed = false
				return
			}
			for id, t := range all {
				if _, before := e.before[id]; !before && t.Params.asks(e, c) {
					found = &t
					return
				}
			}
			if !sleep(ctx, pause) {
				return
			}
		}
	}()
	return func() (*task, bool) {
		stop()
		<-done
		return found, listed
	}
}

// call is a short request beside the measured ones. It is a stream, since exo
// cancels that when its connection is closed.
func (e *engine) call(p collect.Prompt, tokens int64) collect.Call {
	return collect.Call{Prompt: p, MaxTokens: tokens, Temperature: e.target.temperature, Seed: e.target.seed, Stream: true, Cold: true, BanEOS: true, Streams: 1}
}

// ask sends a short request and returns the report of its answer. It may take
// as long as a first token may, and no longer than most, if that is not 0:
// then the error is a *collect.Failure of kind stall.
func (e *engine) ask(ctx context.Context, p collect.Prompt, tokens int64, most time.Duration) (collect.Report, error) {
	limit := e.target.limits.Answer(most)
	short, cancel := context.WithCancel(ctx)
	if limit > 0 {
		short, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	r, err := e.answer(short, e.call(p, tokens))
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		err = collect.Failf(collect.ErrStall, "no answer to a request of %d tokens within %v", tokens, limit)
	}
	return r, err
}

func (e *engine) answer(ctx context.Context, c collect.Call) (r collect.Report, err error) {
	s, err := e.open(ctx, c, false)
	if err != nil {
		return r, err
	}
	defer s.Close()
	for a, err := range s.Arrivals() {
		if err != nil {
			return r, err
		}
		if a.Report != nil {
			r = *a.Report
		}
	}
	return r, nil
}
