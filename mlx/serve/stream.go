package serve

import (
	"net/http"
	"time"

	"tokwatt/mlx/engine"
)

// eventStream writes server-sent events.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	call    *call
	written int    // tokens
	held    string // text that goes out with the end: that of the last token, and what was held back
	total   int64  // prompt tokens that there are to prefill
	done    int64  // of them, as was told; -1: nothing was
}

// stream answers a call token by token.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, c *call) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := &eventStream{w: w, control: http.NewResponseController(w), call: c, total: int64(c.prompt.tokens) - 1, done: -1}
	alive := func() error { return out.line(": keep-alive") }
	_ = alive() // whoever is gone by now is found to be so
	o := s.follow(r.Context(), c, out.event, alive)
	// What is left to say can reach nobody, or is said in vain: no error of it
	// matters.
	switch o.ending {
	case complete:
		_ = out.end(o.stats)
	case failed:
		_ = out.fail(faultf(http.StatusInternalServerError, "%v", o.err))
	case closing:
		_ = out.fail(errClosing())
	}
	s.account(c, &o)
	s.log.call(r.URL.Path, c, &o, http.StatusOK)
}

// line writes a line and the empty one that ends an event.
func (e *eventStream) line(parts ...string) error {
	_ = e.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // where there are none, a test asks
	var text string
	for _, p := range parts {
		text += p
	}
	if _, err := e.w.Write([]byte(text + "\n\n")); err != nil {
		return err
	}
	return e.control.Flush()
}

// event tells what has happened.
func (e *eventStream) event(ev event) error {
	switch {
	case ev.begun:
		return e.progress(0)
	case ev.done > 0:
		return e.progress(min(ev.done, e.total))
	case ev.ending != "":
		e.held += ev.text
		return nil
	case !ev.token:
		return nil
	}
	if err := e.progress(e.total); err != nil {
		return err
	}
	e.written++
	if e.written == e.call.maxTokens { // its end is on its way already
		e.held = ev.text
		return nil
	}
	if ev.text == "" { // it ends within a character
		return nil
	}
	return e.chunk(ev.text, nil)
}

func (e *eventStream) progress(done int64) error {
	if done <= e.done {
		return nil
	}
	e.done = done
	return e.line(": prefill_progress ", string(document(progress{progressChunk{e.call.model, done, e.total}})))
}

func (e *eventStream) chunk(text string, last *engine.Stats) error {
	return e.line("data: ", string(document(e.call.chunk(text, last))))
}

// end tells the end of a complete answer.
func (e *eventStream) end(s *engine.Stats) error {
	if err := e.chunk(e.held, s); err != nil {
		return err
	}
	if err := e.line(": generation_stats ", string(document(statsFrom(s).streamed()))); err != nil {
		return err
	}
	return e.line("data: [DONE]")
}

// fail tells an error, as the status has been sent already.
func (e *eventStream) fail(f *fault) error {
	if err := e.line("data: ", string(document(f.body()))); err != nil {
		return err
	}
	return e.line("data: [DONE]")
}
