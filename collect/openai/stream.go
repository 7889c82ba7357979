package openai

import (
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// How long is waited for more once the answer is complete: after the end mark
// for the end of the transfer, and after the finish reason, from one event to
// the next, for the counts and the end mark. Some servers keep the connection
// open, and some never send a mark.
const (
	endGrace    = 500 * time.Millisecond
	finishGrace = 2 * time.Second
)

// stream is one request on its own connection.
type stream struct {
	*wire.Exchange
	model    string // as the server names it
	streamed bool
	tokens   int64               // max_tokens of the request
	hurry    func(time.Duration) // bounds the wait for what may still come
}

var _ collect.Stream = (*stream)(nil)

// Arrivals writes the request and yields what comes back, the report last.
func (s *stream) Arrivals() iter.Seq2[collect.Arrival, error] {
	return func(yield func(collect.Arrival, error) bool) {
		a := &answer{streamed: s.streamed, tokens: s.tokens, stats: stats{asked: s.model}, emit: func(x collect.Arrival) bool { return yield(x, nil) }}
		err := s.exchange(a)
		if !a.stopped {
			s.Deliver(yield, a.last(), err)
		}
	}
}

// exchange sends the request and reads the answer into a.
func (s *stream) exchange(a *answer) error {
	resp, err := s.Answer()
	if err != nil {
		return err
	}
	return s.read(resp, a)
}

// read reads one response to its end.
func (s *stream) read(resp *http.Response, a *answer) error {
	status := int64(resp.StatusCode)
	a.status = &status
	body, err := s.Body(resp)
	if err != nil {
		return err
	}
	d := &decoder{lines: s.Lines(body)}
	first, err := d.next()
	for err == nil && first.note && !a.stopped {
		if fault := a.event(first); fault != nil {
			return fault
		}
		first, err = d.next()
	}
	if err == nil && first.bare {
		return s.whole(d, first, a)
	}
	return s.events(d, first, err, a)
}

// events reads an event stream from its first event on.
func (s *stream) events(d *decoder, ev event, err error, a *answer) error {
	for ; err == nil; ev, err = d.next() {
		if a.done {
			continue // nothing counts behind the end mark
		}
		if fault := a.event(ev); fault != nil || a.stopped {
			return fault
		}
		switch {
		case a.done:
			s.hurry(endGrace)
		case a.finish != "":
			s.hurry(finishGrace)
		}
	}
	if a.events == 0 && !a.done && d.junk != "" && errors.Is(err, io.EOF) {
		return wire.Nonsense([]byte(d.junk))
	}
	return a.end(err)
}

// whole reads an answer that is a single body.
func (s *stream) whole(d *decoder, first event, a *answer) error {
	body, err := d.rest(first.data)
	a.whole = true
	return a.body(body, d.lines.At(), err)
}
