package inproc

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"strings"
	"sync"

	"tokwatt/collect"
	"tokwatt/mlx/engine"
)

// stream is one request.
type stream struct {
	ctx     context.Context
	session *session
	id      int64
	request []byte // the line to write
	model   string
	whole   bool    // one body is wanted, no stream
	decoder Decoder // nil: the engine's own text is shown
	box     *mailbox
	closed  chan struct{}
	close   sync.Once

	over   bool            // nothing more will come, so there is nothing to cancel
	last   int64           // stamp of the newest line
	size   int             // bytes of the line with the report
	held   strings.Builder // the text, where the whole is wanted
	report collect.Report  // what is known so far
}

// Open readies a request; the first pull of its arrivals writes it.
func (e *reference) Open(ctx context.Context, call collect.Call) (collect.Stream, error) {
	s, err := e.session(ctx)
	if err != nil {
		return nil, err
	}
	st := &stream{ctx: ctx, session: s, model: e.model, whole: !call.Stream, box: newMailbox(), closed: make(chan struct{}),
		report: collect.Report{Source: collect.ReportEngine, Model: e.model}}
	request := engine.Request{
		Streams: int(max(call.Streams, 1)), System: call.Prompt.System, User: call.Prompt.User,
		MaxTokens: int(min(call.MaxTokens, math.MaxInt32)), BanEOS: call.BanEOS, Prefix: e.prefix && !call.Cold,
	}
	if e.text.Decode != nil {
		st.decoder = e.text.Decode()
	}
	if e.text.Encode != nil {
		request.System, request.User = "", ""
		if request.IDs, err = e.text.Encode(call.Prompt); err != nil {
			return nil, err
		}
	}
	st.id = s.add(st)
	request.ID = st.id
	st.request, err = engine.Encode(request)
	if err != nil {
		s.remove(st.id)
		return nil, err
	}
	return st, nil
}

// Arrivals writes the request and yields a chunk for each token, for each part
// of a prompt that is done, and at last the engine's statistics.
func (s *stream) Arrivals() iter.Seq2[collect.Arrival, error] {
	return func(yield func(collect.Arrival, error) bool) {
		defer s.finish()
		// A failed write is that of a worker that has ended, of which the
		// mailbox says why.
		s.session.worker.Write(s.request)
		err := s.follow(yield)
		if err == nil && s.whole {
			err = s.body(yield)
		}
		if err != errStopped && yield(s.ending(), nil) && err != nil {
			yield(collect.Arrival{}, err)
		}
	}
}

// follow yields until the request is over; nil if it is complete.
func (s *stream) follow(yield func(collect.Arrival, error) bool) error {
	for {
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-s.closed:
			return collect.Failf(collect.ErrCancelled, "the stream was closed")
		case <-s.box.more:
		}
		lines, end := s.box.take()
		for _, l := range lines {
			if err := s.line(l, yield); err != nil || s.over {
				return err
			}
		}
		if end != nil {
			s.over = true
			return end
		}
	}
}

// errStopped says that the consumer wants no more.
var errStopped = errors.New("stopped")

// line takes in one line.
func (s *stream) line(l line, yield func(collect.Arrival, error) bool) error {
	s.last = l.at
	f, err := engine.Decode(l.text)
	if err != nil {
		return collect.Failf(collect.ErrProtocol, "%v", err)
	}
	if f.Token != nil && s.decoder != nil {
		f.Text = s.decoder.Next(*f.Token)
	}
	chunk := collect.Chunk{T: l.at, Bytes: int32(len(l.text)), Tokens: collect.TokensUnknown, Kind: collect.KindProgress}
	switch {
	case f.Error != "":
		s.over = true
		return collect.Failf(collect.ErrServer, "%s", f.Error)
	case f.Done != nil:
		s.over, s.size = true, len(l.text)
		s.statistics(f.Done)
		if s.whole {
			s.held.WriteString(s.rest())
		}
		return nil
	case f.Token != nil && s.whole:
		s.held.WriteString(f.Text)
		return nil
	case f.Token != nil:
		chunk.Kind, chunk.Tokens = collect.KindContent, 1
	}
	if !s.whole && !yield(collect.Arrival{Chunk: chunk, Text: f.Text}, nil) {
		return errStopped
	}
	return nil
}

// statistics takes in what the engine measured.
func (s *stream) statistics(done *engine.Stats) {
	r := &s.report
	r.FinishReason, r.PrefixCacheHit = done.FinishReason, done.PrefixCacheHit
	r.PromptTokens, r.CompletionTokens, r.CachedTokens = &done.PromptTokens, &done.GenerationTokens, &done.CachedTokens
	r.PromptTPS, r.GenerationTPS, r.GenerationRule = done.PromptTPS, done.GenerationTPS, collect.RateIntervals
	prefill := done.PrefillS * 1e9
	r.PromptEvalNS = &prefill
	r.PeakMemoryBytes = done.PeakMemoryBytes
	if text, err := json.Marshal(done); err == nil { // as it came, for it came by the same type
		r.JSON = string(text)
	}
}

// body yields the whole answer as one output.
func (s *stream) body(yield func(collect.Arrival, error) bool) error {
	if s.held.Len() == 0 {
		return nil
	}
	chunk := collect.Chunk{T: s.last, Bytes: int32(s.held.Len()), Tokens: int32(*s.report.CompletionTokens), Kind: collect.KindContent}
	if !yield(collect.Arrival{Chunk: chunk, Text: s.held.String()}, nil) {
		return errStopped
	}
	return nil
}

// rest is the text that was held back for a character that no token completed.
// It comes only once.
func (s *stream) rest() string {
	if s.decoder == nil {
		return ""
	}
	text := s.decoder.End()
	s.decoder = nil
	return text
}

// ending is the last arrival, with the report of what is known.
func (s *stream) ending() collect.Arrival {
	text := ""
	if !s.whole {
		text = s.rest()
	}
	return collect.Arrival{
		Text:        text,
		Chunk:       collect.Chunk{T: s.last, Bytes: int32(s.size), Tokens: collect.TokensUnknown, Kind: collect.KindReport},
		Report:      &s.report,
		NotStreamed: s.whole,
	}
}

// finish lets go a request that has been written.
func (s *stream) finish() {
	s.session.remove(s.id)
	if !s.over {
		s.session.worker.Cancel(s.id)
	}
}

// Close ends the request, if it runs still.
func (s *stream) Close() error {
	s.close.Do(func() {
		close(s.closed)
		s.session.remove(s.id)
	})
	return nil
}
