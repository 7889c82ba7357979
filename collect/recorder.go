package collect

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// previewRunes is how much of the visible text a record keeps.
const previewRunes = 200

// Limits bound one request; zero means none.
type Limits struct {
	Total time.Duration // the whole request
	First time.Duration // from the start to the first progress
	Stall time.Duration // between two outputs
}

// Answer is how long the answer to a request of one token may take, and no
// longer than most; 0 where neither bounds it.
func (l Limits) Answer(most time.Duration) time.Duration {
	for _, d := range []time.Duration{l.First, l.Total} {
		if d > 0 && (most <= 0 || d < most) {
			most = d
		}
	}
	return max(most, 0)
}

// errors that a watchdog cancels a request with
var (
	errTimeout = errors.New("the whole request took too long")
	errFirst   = errors.New("no output and no prefill progress in time")
	errStalled = errors.New("no further output in time")
)

// watch bounds a request in time: its context ends with one of the errors
// above as its cause when a limit is met.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer // First, and after the first output Stall
	limits Limits
	output bool
}

func newWatch(ctx context.Context, limits Limits) *watch {
	w := &watch{limits: limits}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	return w
}

// start begins to count; before it, a request may wait for the barrier.
func (w *watch) start() (stop func()) {
	var timers []*time.Timer
	if w.limits.Total > 0 {
		timers = append(timers, time.AfterFunc(w.limits.Total, func() { w.cancel(errTimeout) }))
	}
	if w.limits.First > 0 || w.limits.Stall > 0 {
		w.timer = time.AfterFunc(noLimit(w.limits.First), func() { w.cancel(w.lateness()) })
		timers = append(timers, w.timer)
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
		w.cancel(nil)
	}
}

func (w *watch) lateness() error {
	if w.output {
		return errStalled
	}
	return errFirst
}

// progress is told of each chunk.
func (w *watch) progress(k ChunkKind) {
	switch {
	case w.timer == nil:
	case k.Output():
		w.output = true
		w.timer.Reset(noLimit(w.limits.Stall))
	case k == KindProgress && !w.output:
		w.timer.Reset(noLimit(w.limits.First))
	}
}

func noLimit(d time.Duration) time.Duration {
	if d <= 0 {
		return 1 << 62
	}
	return d
}

// recorder turns the arrivals of one stream into a Request. It keeps what is
// needed and drops the text as it goes, unless it is to be counted.
type recorder struct {
	req     *Request
	said    *spoken
	first   func() // called at the first output; nil: was, or need not be
	preview strings.Builder
	runes   int
}

// record runs the stream to its end. It stamps the start, so it is called
// after the barrier, and it never fails: a failure is part of the request.
func record(clock *Clock, s *inFlight) {
	w, req := s.watch, s.req
	defer s.stream.Close()
	defer w.start()()
	rec := recorder{req: req, said: s.said, first: s.first}
	req.StartNS = clock.Now()
	for a, err := range s.stream.Arrivals() {
		if err != nil {
			req.Failure = w.failure(err, ErrProtocol)
			break
		}
		w.progress(a.Kind)
		rec.add(a)
	}
	if req.Failure != nil || req.EndNS <= req.StartNS {
		req.EndNS = clock.Now()
	}
	req.Preview = rec.preview.String()
	if f := req.Failure; f != nil && f.HTTPStatus != nil {
		req.HTTPStatus = f.HTTPStatus
	}
	if req.Failure == nil && req.OutputChars == 0 && isZero(req.Report.CompletionTokens) {
		req.Failure = Failf(ErrEmpty, "the answer was complete, without any output and without a token count")
	}
}

// failure says what ended the stream: a watchdog or the user where they did,
// else what the driver says, of kind fallback where that carries none.
func (w *watch) failure(err error, fallback ErrorKind) *Failure {
	cause := context.Cause(w.ctx)
	switch {
	case errors.Is(cause, errTimeout):
		return Failf(ErrTimeout, "no complete answer within %v", w.limits.Total)
	case errors.Is(cause, errFirst):
		return Failf(ErrStall, "no output and no prefill progress within %v", w.limits.First)
	case errors.Is(cause, errStalled):
		return Failf(ErrStall, "no further output within %v", w.limits.Stall)
	case cause != nil:
		return Failf(ErrCancelled, "cancelled by the user")
	}
	return AsFailure(err, fallback)
}

func (r *recorder) add(a Arrival) {
	req := r.req
	if a.Report != nil {
		req.Report = *a.Report
		req.HTTPStatus = a.HTTPStatus
		req.Streamed = !a.NotStreamed
		req.UncleanEnd = a.UncleanEnd
		req.StampSource = cmp.Or(a.Stamps, StampUser)
		req.EndNS = a.T
	}
	if a.Bytes > 0 || a.Kind.Output() {
		c := a.Chunk
		c.T = max(0, c.T-req.StartNS) // a server may speak before it is asked
		req.Chunks = append(req.Chunks, c)
	}
	if a.Kind.Output() {
		if r.first != nil {
			r.first()
			r.first = nil
		}
	}
	if a.Kind.Output() || a.Text != "" {
		r.said.add(a.Text, a.Hidden > 0)
	}
	req.OutputChars += a.Hidden
	if a.Text == "" {
		return
	}
	req.OutputChars += int64(utf8.RuneCountInString(a.Text))
	if a.Kind == KindContent || a.Report != nil {
		r.show(a.Text)
	}
}

// show appends to the preview.
func (r *recorder) show(text string) {
	for _, c := range text {
		if r.runes == previewRunes {
			return
		}
		r.preview.WriteRune(c)
		r.runes++
	}
}

func isZero(n *int64) bool { return n == nil || *n == 0 }
