package ollama

import (
	"bytes"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// endGrace is how long is waited for the end of the transfer once the answer is
// complete: some servers keep the connection open.
const endGrace = 500 * time.Millisecond

// stream is one request on its own connection.
type stream struct {
	*wire.Exchange
	model    string // as asked
	streamed bool
	tokens   int64               // num_predict of the request
	hurry    func(time.Duration) // bounds the wait for what may still come
}

var _ collect.Stream = (*stream)(nil)

// Arrivals writes the request and yields what comes back, the report last.
func (s *stream) Arrivals() iter.Seq2[collect.Arrival, error] {
	return func(yield func(collect.Arrival, error) bool) {
		a := &answer{asked: s.streamed, tokens: s.tokens, stats: stats{asked: s.model}, emit: func(x collect.Arrival) bool { return yield(x, nil) }}
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
	status := int64(resp.StatusCode)
	a.status = &status
	body, err := s.Body(resp)
	if err != nil {
		return err
	}
	a.single = isSingle(resp)
	return s.read(s.Lines(body), a)
}

// isSingle reports whether the server calls its answer one JSON value: Ollama
// calls a stream application/x-ndjson.
func isSingle(resp *http.Response) bool {
	return strings.HasPrefix(strings.ToLower(resp.Header.Get("Content-Type")), "application/json")
}

// read reads the lines of an answer to their end.
func (s *stream) read(lines *collect.LineReader, a *answer) error {
	for {
		line, at, err := lines.Next()
		if err != nil {
			return a.end(err)
		}
		if a.objects == 0 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if line = bytes.TrimSpace(line); len(line) == 0 || a.done {
			continue // nothing counts behind the last object
		}
		if a.objects == 0 && a.cut != nil {
			return s.whole(lines, line, a)
		}
		if fault := a.line(line, at); fault != nil || a.stopped {
			return fault
		}
		if a.done {
			s.hurry(endGrace)
		}
	}
}

// whole reads on an answer that is one object over several lines, of which the
// first is a.cut and the second line.
func (s *stream) whole(lines *collect.LineReader, line []byte, a *answer) error {
	body := a.cut
	for {
		if len(body)+len(line) > collect.MaxLine {
			return collect.Failf(collect.ErrProtocol, "an answer of over %d MiB", collect.MaxLine>>20)
		}
		body = append(append(body, '\n'), line...)
		var err error
		if line, _, err = lines.Next(); err != nil {
			return a.body(body, lines.At(), err)
		}
	}
}

// where says at which point of an answer a connection broke.
const where = "before the answer was complete"

// isEnd reports whether a transfer ended as it should.
func isEnd(err error) bool { return err == io.EOF }
