package openai

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"tokwatt/collect"
)

// How long is waited for more once the answer is complete: after the end mark
// for the end of the transfer, and after the finish reason, from one event to
// the next, for the counts and the end mark. Some servers keep the connection
// open, and some never send a mark.
const (
	endGrace    = 500 * time.Millisecond
	finishGrace = 2 * time.Second
)

// maxHead bounds the head of an answer in bytes.
const maxHead = 1 << 20

// stream is one request on its own connection.
type stream struct {
	engine   *engine
	ctx      context.Context
	streamed bool
	tokens   int64 // max_tokens of the request
	url      *url.URL
	body     []byte // for a redirect
	wire     []byte // the whole request
	fellows  bool   // other streams run beside this one
	stamps   *collect.StampedReader
	hops     int // redirects that were followed

	mu     sync.Mutex // guards what Close may meet while Arrivals runs
	conn   net.Conn
	unbind func() bool
	closed bool
}

var _ collect.Stream = (*stream)(nil)

// yielding lets other streams run after each read. Those of a batch get their
// tokens at about the same instants: this one is stamped, so the others may
// take theirs off the sockets, and be stamped, before it spends time on its
// own.
type yielding struct {
	r       io.Reader
	fellows bool // there are other streams
}

func (y yielding) Read(p []byte) (int, error) {
	n, err := y.r.Read(p)
	if y.fellows {
		runtime.Gosched()
	}
	return n, err
}

// bind makes reads and writes of the connection fail when the context ends.
func (s *stream) bind() {
	conn := s.conn
	s.unbind = context.AfterFunc(s.ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
}

// Close frees the connection; Arrivals, if it runs, ends.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.unbind()
	return s.conn.Close()
}

// Arrivals writes the request and yields what comes back, the report last.
func (s *stream) Arrivals() iter.Seq2[collect.Arrival, error] {
	return func(yield func(collect.Arrival, error) bool) {
		a := &answer{streamed: s.streamed, tokens: s.tokens, stats: stats{asked: s.engine.model}, emit: func(x collect.Arrival) bool { return yield(x, nil) }}
		err := s.exchange(a)
		if a.stopped || !yield(a.last(), nil) {
			return
		}
		switch {
		case err == nil:
		case s.ctx.Err() != nil:
			yield(collect.Arrival{}, s.ctx.Err())
		default:
			f := collect.AsFailure(err, collect.ErrProtocol)
			if f.HTTPStatus == nil {
				f.HTTPStatus = a.status
			}
			yield(collect.Arrival{}, f)
		}
	}
}

// exchange sends the request and reads the answer into a.
func (s *stream) exchange(a *answer) error {
	resp, err := s.answered()
	if err != nil {
		return err
	}
	return s.read(resp, a)
}

// answered sends the request, and again where a redirect sends it, and
// returns the head of the answer. A redirect that can't be followed is an
// answer.
func (s *stream) answered() (*http.Response, error) {
	for {
		resp, err := s.roundTrip()
		if err != nil {
			return nil, err
		}
		if code := resp.StatusCode; code != http.StatusTemporaryRedirect && code != http.StatusPermanentRedirect {
			return resp, nil
		}
		to := leads(resp.Header, s.url)
		if to == nil || s.hops == maxHops {
			return resp, nil
		}
		s.hops++
		if err := s.follow(to); err != nil {
			return nil, err
		}
	}
}

// roundTrip writes the request and reads the head of the response.
func (s *stream) roundTrip() (*http.Response, error) {
	// A server may answer and close before it has read a long request: then
	// the write fails, and the answer says why.
	_, writeErr := s.conn.Write(s.wire)
	s.stamps = collect.NewStampedReader(s.engine.clock, s.conn)
	head := &io.LimitedReader{R: yielding{s.stamps, s.fellows}, N: maxHead}
	br := bufio.NewReaderSize(head, 4<<10)
	for {
		resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodPost, URL: s.url})
		switch {
		case err != nil && writeErr != nil:
			return nil, broken(writeErr, "before the request was sent")
		case err != nil && head.N <= 0:
			return nil, collect.Failf(collect.ErrProtocol, "the head of the answer is over %d KiB long", maxHead>>10)
		case err != nil:
			return nil, broken(err, "before an answer came")
		case resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols:
			head.N = math.MaxInt64 // a body is bounded by its lines
			return resp, nil
		}
	}
}

// follow moves the stream to another address: the request goes there whole.
func (s *stream) follow(to *url.URL) error {
	conn, err := s.engine.srv.dial(s.ctx, to)
	if err != nil && s.ctx.Err() == nil {
		err = astray(to, err)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		conn.Close()
		return net.ErrClosed
	}
	s.unbind()
	s.conn.Close()
	s.conn, s.url = conn, to
	s.bind()
	s.wire, err = s.engine.srv.post(to, s.streamed, s.body)
	return err
}

// read reads one response to its end. The body is not closed: that would
// first read it to its end, however long it takes. It goes with its connection.
func (s *stream) read(resp *http.Response, a *answer) error {
	status := int64(resp.StatusCode)
	a.status = &status
	body, err := decoded(resp)
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		raw, _ := io.ReadAll(io.LimitReader(body, 1<<20)) // as much as came
		return s.refusal(resp, raw)
	}
	if mediaType(resp) == "text/html" {
		return collect.Failf(collect.ErrProtocol, "the answer is a page of type text/html, not of an API: %s", snippet(body))
	}
	d := &decoder{lines: collect.NewStampedLineReader(s.stamps, body)}
	first, err := d.next()
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
		return nonsense([]byte(d.junk))
	}
	return a.end(err)
}

// hurry bounds how long is waited for what may still come.
func (s *stream) hurry(grace time.Duration) {
	s.conn.SetReadDeadline(time.Now().Add(grace))
	if s.ctx.Err() != nil { // the line above may have undone what bind set
		s.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// whole reads an answer that is a single body.
func (s *stream) whole(d *decoder, first event, a *answer) error {
	body, err := d.rest(first.data)
	a.whole = true
	return a.body(body, d.lines.At(), err)
}

// decoded is the body as text.
func decoded(resp *http.Response) (io.Reader, error) {
	switch enc := strings.ToLower(resp.Header.Get("Content-Encoding")); enc {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			return nil, broken(err, "in the head of a gzip body")
		}
		return z, nil
	default:
		return nil, collect.Failf(collect.ErrProtocol, "the answer is encoded as %q, which was not asked for", enc)
	}
}

func mediaType(resp *http.Response) string {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// broken classifies the end of a connection that came too early.
func broken(err error, where string) error {
	var f *collect.Failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return collect.Failf(collect.ErrReset, "the server reset the connection %s", where)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return collect.Failf(collect.ErrTruncated, "the server closed the connection %s", where)
	case errors.Is(err, net.ErrClosed):
		return collect.Failf(collect.ErrCancelled, "closed by the caller %s", where)
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return collect.Failf(collect.ErrTimeout, "nothing came in time %s", where)
	}
	return collect.Failf(collect.ErrProtocol, "%s: %s", where, oneLine(err.Error()))
}

// snippet is the text of a page, short.
func snippet(body io.Reader) string {
	raw, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // as much as came
	return plain(bytes.ToValidUTF8(raw, nil))
}
