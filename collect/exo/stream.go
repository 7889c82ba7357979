package exo

import (
	"context"
	"iter"
	"net/http"
	"sync"

	"tokwatt/collect"
)

// stream is one request. The dialogue is openai's; here is what exo adds: how
// it says that it gave up, and how it is told to.
type stream struct {
	collect.Stream
	engine *engine
	ctx    context.Context
	call   collect.Call
	batch  bool // it is measured

	before  map[string]task  // what ran when it was opened; nil: not known
	elder   map[*stream]bool // ours that had been sent by then
	claimed bool             // a task was cancelled for it; guarded by the engine's lock

	mu     sync.Mutex
	sent   bool
	over   bool // the answer is complete, or was refused: nothing runs on
	closed bool
}

var _ collect.Stream = (*stream)(nil)

// Arrivals writes the request and yields what comes back, the report last.
func (s *stream) Arrivals() iter.Seq2[collect.Arrival, error] {
	return func(yield func(collect.Arrival, error) bool) {
		s.set(&s.sent)
		arrived := s.engine.follow(s)
		defer arrived() // whatever ends it
		var verdict error
		for a, err := range s.Stream.Arrivals() {
			if err != nil {
				if status(err) >= http.StatusBadRequest {
					s.set(&s.over)
				}
				yield(a, err)
				return
			}
			if a.Report != nil {
				s.engine.known(a.Report, s.call)
				verdict = s.verdict(&a)
			}
			if !yield(a, nil) {
				return
			}
		}
		s.set(&s.over)
		if seen, f := arrived(); f != nil {
			verdict = f
		} else if !seen {
			s.engine.unseen()
		}
		if verdict != nil {
			yield(collect.Arrival{}, verdict)
		}
	}
}

// set is for flags that Close reads, which may come at any time.
func (s *stream) set(flag *bool) {
	s.mu.Lock()
	*flag = true
	s.mu.Unlock()
}

// running reports whether exo may still work on it.
func (s *stream) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent && !s.over
}

// verdict judges an answer that ended well. A request that was cancelled, or
// whose instance was deleted, ends with status 200, without an error, a finish
// reason and statistics.
func (s *stream) verdict(a *collect.Arrival) error {
	r := a.Report
	var f *collect.Failure
	switch {
	case r.FinishReason == "":
		f = collect.Failf(collect.ErrTruncated, "exo gave the answer up: it has no finish_reason, as when a request is cancelled or its instance deleted")
	case !s.engine.target.plain && r.PromptTPS == nil && r.GenerationTPS == nil && r.PeakMemoryBytes == nil && r.PrefixCacheHit == "":
		f = collect.Failf(collect.ErrTruncated, "exo gave the answer up: it has no generation_stats")
	default:
		return nil
	}
	f.HTTPStatus = a.HTTPStatus
	return f
}

// Close frees the connection. exo cancels a stream by itself when its
// connection is closed, and nothing else: that is told to.
func (s *stream) Close() error {
	err := s.Stream.Close()
	s.mu.Lock()
	first, orphan := !s.closed, s.sent && !s.over && !s.call.Stream
	s.closed = true
	s.mu.Unlock()
	if first && orphan {
		s.engine.cancel(s.ctx, s)
	}
	if first {
		s.engine.leave(s)
	}
	return err
}

// known corrects a report by what is known of the engine that answered. An
// answer that is no stream has no usage, by which it could tell: the
// sequential engine counts one prompt token more in its statistics.
func (e *engine) known(r *collect.Report, c collect.Call) {
	if !e.sequential || r.GenerationTPS == nil {
		return
	}
	r.GenerationRule = collect.RateTokens
	if !c.Stream && !e.target.plain && r.PromptTokens != nil {
		n := *r.PromptTokens - 1
		r.PromptTokens = &n
	}
}
