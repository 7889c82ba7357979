package wire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
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

// maxHead bounds the head of an answer in bytes.
const maxHead = 1 << 20

// Message is a POST to be sent.
type Message struct {
	URL     *url.URL
	Body    []byte
	Accept  string // media type
	Fellows bool   // other exchanges run beside this one
}

// Exchange is one POST and its answer on a connection of their own.
type Exchange struct {
	srv    *Server
	ctx    context.Context
	clock  *collect.Clock
	msg    Message // its URL moves behind redirects
	wire   []byte  // the whole request
	stamps *collect.StampedReader
	hops   int // redirects that were followed

	mu     sync.Mutex // guards what Close may meet while the answer is read
	conn   net.Conn
	unbind func() bool
	closed bool
}

// Open dials and encodes, so that all that is left to do is one write. The
// exchange is bound to ctx until Close. The error is a *collect.Failure or the
// context's.
func (s *Server) Open(ctx context.Context, clock *collect.Clock, m Message) (*Exchange, error) {
	conn, err := s.dial(ctx, m.URL)
	if err != nil && ctx.Err() == nil && !SameOrigin(m.URL, s.Base) {
		return nil, astray(m.URL, err)
	}
	if err != nil {
		return nil, err
	}
	x := &Exchange{srv: s, ctx: ctx, clock: clock, msg: m}
	x.take(conn)
	if x.wire, err = s.encode(m); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// encode makes a whole request as it goes over the wire. Its connection is
// closed behind it: a kept one would block a single-threaded server.
func (s *Server) encode(m Message) ([]byte, error) {
	req, err := http.NewRequest(http.MethodPost, m.URL.String(), bytes.NewReader(m.Body))
	if err != nil {
		return nil, collect.Failf(collect.ErrProtocol, "%s is no address", shownURL(m.URL))
	}
	req.Header = s.headerFor(m.URL)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", m.Accept)
	req.Header.Set("Accept-Encoding", "identity")
	req.Close = true
	var wire bytes.Buffer
	if err := req.Write(&wire); err != nil {
		return nil, collect.Failf(collect.ErrProtocol, "a header can't be sent: %v", err)
	}
	return wire.Bytes(), nil
}

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

// take makes conn the exchange's connection: its reads are stamped, and they
// and its writes fail when the context ends.
func (x *Exchange) take(conn net.Conn) {
	x.conn = conn
	x.stamps = collect.NewStampedReader(x.clock, conn)
	x.unbind = context.AfterFunc(x.ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
}

// Close frees the connection; whoever reads the answer gets an error.
func (x *Exchange) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	x.unbind()
	return x.conn.Close()
}

// URL is where the request went, behind redirects.
func (x *Exchange) URL() *url.URL { return x.msg.URL }

// Answer sends the request, and again where a redirect sends it, and
// returns the head of the answer. A redirect that can't be followed is an
// answer.
func (x *Exchange) Answer() (*http.Response, error) {
	for {
		resp, err := x.roundTrip()
		if err != nil {
			return nil, err
		}
		if code := resp.StatusCode; code != http.StatusTemporaryRedirect && code != http.StatusPermanentRedirect {
			return resp, nil
		}
		to := leads(resp.Header, x.msg.URL)
		if to == nil || x.hops == maxHops {
			return resp, nil
		}
		x.hops++
		if err := x.follow(to); err != nil {
			return nil, err
		}
	}
}

// roundTrip writes the request and reads the head of the response.
func (x *Exchange) roundTrip() (*http.Response, error) {
	// A server may answer and close before it has read a long request: then
	// the write fails, and the answer says why.
	_, writeErr := x.conn.Write(x.wire)
	head := &io.LimitedReader{R: yielding{x.stamps, x.msg.Fellows}, N: maxHead}
	br := bufio.NewReaderSize(head, 4<<10)
	for {
		resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodPost, URL: x.msg.URL})
		switch {
		case err != nil && writeErr != nil:
			return nil, Broken(writeErr, "before the request was sent")
		case err != nil && head.N <= 0:
			return nil, collect.Failf(collect.ErrProtocol, "the head of the answer is over %d KiB long", maxHead>>10)
		case err != nil:
			return nil, Broken(err, "before an answer came")
		case resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols:
			head.N = math.MaxInt64 // a body is bounded by its lines
			return resp, nil
		}
	}
}

// follow moves the stream to another address: the request goes there whole.
func (x *Exchange) follow(to *url.URL) error {
	conn, err := x.srv.dial(x.ctx, to)
	if err != nil && x.ctx.Err() == nil {
		err = astray(to, err)
	}
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		conn.Close()
		return net.ErrClosed
	}
	x.unbind()
	x.conn.Close()
	x.msg.URL = to
	x.take(conn)
	x.wire, err = x.srv.encode(x.msg)
	return err
}

// Body is the body of an answer as text. The error is a *collect.Failure where
// the status is none of success, and where a page came instead of data. The
// body must not be closed: that would first read it to its end, however long
// that takes. It goes with its connection.
func (x *Exchange) Body(resp *http.Response) (io.Reader, error) {
	body, err := decoded(resp)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		raw, _ := io.ReadAll(io.LimitReader(body, 1<<20)) // as much as came
		return nil, x.refusal(resp, raw)
	}
	if mediaType(resp) == "text/html" {
		return nil, collect.Failf(collect.ErrProtocol, "the answer is a page of type text/html, not of an API: %s", snippet(body))
	}
	return body, nil
}

// Lines splits a body into lines, each with the stamp of the read that
// completed it.
func (x *Exchange) Lines(body io.Reader) *collect.LineReader {
	return collect.NewStampedLineReader(x.stamps, body)
}

// Stamps says who stamped what was read of the answer.
func (x *Exchange) Stamps() collect.StampSource { return x.stamps.Source() }

// Hurry bounds how long is waited for what may still come.
func (x *Exchange) Hurry(grace time.Duration) {
	x.conn.SetReadDeadline(time.Now().Add(grace))
	if x.ctx.Err() != nil { // the line above may have undone what take set
		x.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// decoded is the body as text.
func decoded(resp *http.Response) (io.Reader, error) {
	switch enc := strings.ToLower(resp.Header.Get("Content-Encoding")); enc {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			return nil, Broken(err, "in the head of a gzip body")
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

// Broken classifies the end of a connection that came too early.
func Broken(err error, where string) error {
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
	return collect.Failf(collect.ErrProtocol, "%s: %s", where, OneLine(err.Error()))
}

// snippet is the text of a page, short.
func snippet(body io.Reader) string {
	raw, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // as much as came
	return Plain(bytes.ToValidUTF8(raw, nil))
}
