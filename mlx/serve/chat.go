package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"tokwatt/mlx/engine"
)

// Deadlines of a connection. A client that takes nothing for so long has gone.
const (
	bodyTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
	keepAlive    = 10 * time.Second // of silence, as exo has it
)

// outcome is how a call ended, with what it had made by then.
type outcome struct {
	ending ending
	err    error // of a failed one
	ended  time.Time
	stats  *engine.Stats // of a complete one
	text   strings.Builder
	begun  bool // a token has come
	power  powerUsage
}

// chat answers a chat, at the bench endpoint or at the other one.
func (s *Server) chat(bench bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		arrived := time.Now()
		asked, err := s.read(w, r, bench)
		var c *call
		if err == nil {
			c, err = s.admit(asked, arrived)
		}
		if err != nil {
			f := &fault{status: http.StatusInternalServerError, message: err.Error()}
			errors.As(err, &f)
			s.log.refused(r.URL.Path, asked, arrived, f)
			refuse(w, f)
			return
		}
		defer s.forget(c)
		if asked.stream {
			s.stream(w, r, c)
			return
		}
		s.answer(w, r, c)
	}
}

// read reads a body. As bodies are large, only a few are at a time.
func (s *Server) read(w http.ResponseWriter, r *http.Request, bench bool) (request, error) {
	select {
	case s.reading <- struct{}{}:
	case <-r.Context().Done():
		return request{}, r.Context().Err()
	}
	defer func() { <-s.reading }()
	body, err := readAll(w, r, MaxBody)
	if err != nil {
		return request{}, err
	}
	return parse(body, bench, s.context, s.opts.Encode)
}

// readAll reads a body of bounded size in a bounded time.
func readAll(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // where there are none, a test asks
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	_ = control.SetReadDeadline(time.Time{})
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, faultf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes, which is the most here", most)
	case err != nil:
		return nil, faultf(http.StatusBadRequest, "the body did not come whole: %v", err)
	}
	return body, nil
}

// admit queues a request for an instance of its model.
func (s *Server) admit(asked request, arrived time.Time) (*call, error) {
	if !s.card.is(asked.model) {
		return nil, faultf(http.StatusNotFound, "No instance found for model %s", asked.model)
	}
	in, err := s.instance(!asked.bench)
	if err != nil {
		return nil, err
	}
	c := newCall(asked, arrived)
	if s.opts.Decode != nil {
		c.decoder = s.opts.Decode()
	}
	c.instance = in.id
	s.remember(c)
	if err := s.runner.queue.add(c); err != nil {
		s.forget(c)
		return nil, err
	}
	s.mark()
	return c, nil
}

// answer waits for all of a call and sends one document.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, c *call) {
	o := s.follow(r.Context(), c, nil, nil)
	s.account(c, &o)
	status := http.StatusOK
	var f *fault
	switch o.ending {
	case left:
		s.log.call(r.URL.Path, c, &o, 0)
		return
	case failed:
		f = faultf(http.StatusInternalServerError, "%v", o.err)
	case closing:
		f = errClosing()
	}
	if f != nil {
		status = f.status
	}
	s.log.call(r.URL.Path, c, &o, status)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // as above
	if f != nil {
		refuse(w, f)
		return
	}
	send(w, status, c.document(o))
}

// follow takes the events of a call until it has ended. Each sees them; an
// error of its is that of a client that takes no more. Tick is called after a
// while of silence.
func (s *Server) follow(ctx context.Context, c *call, each func(event) error, tick func() error) outcome {
	var o outcome
	silence := time.NewTimer(keepAlive)
	defer silence.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-silence.C:
			if tick != nil {
				err = tick()
			}
		case <-c.more:
			err = s.events(c, each, &o)
		}
		if err != nil {
			s.runner.end(c, left)
			_ = s.events(c, nil, &o) // its end, which may have been another meanwhile
		}
		if o.ending != "" {
			return o
		}
		silence.Reset(keepAlive)
	}
}

// events takes those that have come. An error of each ends its being told.
func (s *Server) events(c *call, each func(event) error, o *outcome) (err error) {
	for _, e := range c.take() {
		if e.token && !o.begun {
			s.mark()
			o.begun = true
		}
		o.text.WriteString(e.text)
		if e.ending != "" {
			o.ending, o.err, o.stats, o.ended = e.ending, e.err, e.stats, e.at
		}
		if each != nil && err == nil {
			err = each(e)
		}
	}
	if o.ending != "" {
		return nil
	}
	return err
}

// account adds what a call took.
func (s *Server) account(c *call, o *outcome) {
	meter := s.opts.Meter
	if o.ending == closing { // there is no time to wait for a reading
		meter = nil
	}
	s.mark()
	_, first := c.times()
	o.power = usageOf(meter, s.node, c.arrived, first, o.ended)
}

func (s *Server) mark() {
	if s.opts.Meter != nil {
		s.opts.Meter.Mark()
	}
}
