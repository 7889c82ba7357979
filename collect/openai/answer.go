package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"unicode/utf8"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// answer turns events into arrivals and gathers the report. It keeps no text
// but a piece of a character.
type answer struct {
	streamed bool  // a stream was asked for
	tokens   int64 // max_tokens of the request
	emit     func(collect.Arrival) bool
	stopped  bool // emit wants no more

	status  *int64
	whole   bool // a single body came
	done    bool // [DONE] was seen
	finish  string
	unclean bool
	spoilt  bool // an event could not be read
	deltas  bool // output came as deltas, so a message is a repetition
	events  int64
	texts   [3]wire.Joiner // content, reasoning, tool calls
	outputs int64          // events that brought output
	totals  totals
	stats   stats
	at      int64 // newest arrival
	scratch chunk
}

// event takes one event of a stream.
func (a *answer) event(ev event) error {
	if ev.note {
		return a.note(ev)
	}
	data := bytes.TrimSpace(ev.data)
	switch {
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		a.done, a.at = true, ev.at
		return nil
	case ev.name == "error":
		return serverError(data)
	}
	c := a.reset()
	if err := c.parse(data); err != nil {
		// A cut event at the end is no nonsense but a truncation, and a line
		// outside the framing may be anything.
		// Behind the finish reason the answer is whole, whatever it is.
		if ev.tail || ev.bare || a.finish != "" {
			a.spoilt = a.spoilt || a.finish != "" && !ev.bare
			return nil
		}
		return collect.Failf(collect.ErrProtocol, "an event is no JSON: %s", wire.Clip(wire.Plain(data), 80))
	}
	if fault := c.fault(data); fault != nil {
		return fault
	}
	if ev.bare {
		return nil
	}
	a.events++
	a.at = ev.at
	a.chunk(c, len(ev.data), ev.at)
	return a.excess()
}

// What a server may send: no token comes in more pieces than it has bytes, and
// the longest tokens have about 64. What is over that is a server that does
// not stop, and each event costs memory. Events without output, as pings and
// prefill progress, are no more than a few a second.
const (
	eventsPerToken = 64
	freeOutputs    = 1000
	freeEvents     = 1 << 16
)

// excess is the failure of a server that sends without end.
func (a *answer) excess() error {
	most := eventsPerToken * min(a.tokens, math.MaxInt64/(2*eventsPerToken))
	if a.outputs > most+freeOutputs || a.events > most+freeEvents {
		return collect.Failf(collect.ErrProtocol, "the server does not stop: it sent over %d events for %d tokens asked", a.events-1, a.tokens)
	}
	return nil
}

// reset gives out the scratch chunk, emptied: encoding/json merges into what
// stands in reused elements.
func (a *answer) reset() *chunk {
	choices := a.scratch.Choices[:cap(a.scratch.Choices)]
	clear(choices)
	a.scratch = chunk{Choices: choices[:0]}
	return &a.scratch
}

// chunk emits what one event brought, as one arrival.
func (a *answer) chunk(c *chunk, size int, at int64) {
	ch := c.first()
	raw := c.Usage
	if ch != nil && !isObject(raw) {
		raw = ch.Usage
	}
	n := readCounts(raw)
	a.stats.take(c, n, raw)
	var said *said
	repeated := false
	if ch != nil {
		if r := ch.FinishReason; r != nil && *r != "" {
			a.finish = shownFact(*r)
		}
		said, repeated = a.said(ch)
	}
	out := collect.Arrival{Chunk: collect.Chunk{T: at, Bytes: int32(size), Tokens: collect.TokensUnknown}}
	switch {
	case repeated:
		out.Kind = collect.KindReport
	case said != nil && a.output(out, said, n):
		return
	case len(c.Choices) == 0 && n != nil:
		out.Kind = collect.KindUsage
	case isObject(c.Progress):
		out.Kind = collect.KindProgress
	}
	a.send(out)
}

// first is the choice that was asked for: never more than one is.
func (c *chunk) first() *choice {
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			return &c.Choices[i]
		}
	}
	return nil
}

// said is what a choice brings; repeated, where it is the whole message after
// its deltas.
func (a *answer) said(ch *choice) (s *said, repeated bool) {
	switch {
	case ch.Delta != nil:
		return ch.Delta, false
	case ch.Message != nil:
		return ch.Message, a.deltas
	case ch.Text.S != "":
		return &said{Content: ch.Text}, false
	}
	return nil, false
}

// output emits the output of an event, and reports whether there was any. It
// is one arrival, whatever came in it together: of the kind that can be seen.
func (a *answer) output(out collect.Arrival, s *said, n *usage) bool {
	any := false
	for _, t := range [...]struct {
		kind collect.ChunkKind
		text string
		join *wire.Joiner
	}{
		{collect.KindContent, s.text(), &a.texts[0]},
		{collect.KindReasoning, s.reasoning(), &a.texts[1]},
		{collect.KindTool, s.tool(), &a.texts[2]},
	} {
		if t.text == "" {
			continue
		}
		text := t.join.Add(t.text)
		if any {
			out.Hidden += int64(utf8.RuneCountInString(text))
			continue
		}
		any = true
		out.Kind, out.Text = t.kind, text
	}
	if !any {
		return false
	}
	if !a.whole {
		out.Tokens = a.totals.step(n)
		a.deltas = true
	}
	a.outputs++
	a.send(out)
	return true
}

func (a *answer) send(x collect.Arrival) {
	if !a.stopped && !a.emit(x) {
		a.stopped = true
	}
}

// body takes an answer that is a single body; err is how its reading ended.
func (a *answer) body(data []byte, at int64, err error) error {
	a.at = at
	data = bytes.TrimSpace(data)
	if data[0] != '{' && data[0] != '[' {
		return wire.Nonsense(data)
	}
	c := &chunk{}
	if bad := c.parse(data); bad != nil {
		if !errors.Is(err, io.EOF) {
			return wire.Broken(err, "in the middle of its answer")
		}
		if !json.Valid(data) && cut(bad) {
			return collect.Failf(collect.ErrTruncated, "the answer is JSON that breaks off after %d bytes", len(data))
		}
		return collect.Failf(collect.ErrProtocol, "the answer is broken JSON: %s", wire.OneLine(bad.Error()))
	}
	if fault := c.fault(data); fault != nil {
		return fault
	}
	if c.Choices == nil {
		return collect.Failf(collect.ErrProtocol, "the answer is JSON without choices: %s", wire.Clip(wire.Plain(data), 80))
	}
	a.unclean = !errors.Is(err, io.EOF)
	a.chunk(c, len(data), at)
	return a.verdict()
}

// cut tells JSON that breaks off from JSON that is wrong.
func cut(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input"
}

// end judges a stream by how it ended. The answer is complete with a finish
// reason or the end mark, whatever became of the transfer after that.
func (a *answer) end(err error) error {
	if a.finish == "" && !a.done {
		switch {
		case !errors.Is(err, io.EOF):
			return wire.Broken(err, "before the answer was complete")
		case a.events == 0:
			return collect.Failf(collect.ErrTruncated, "the answer holds no event")
		}
		return collect.Failf(collect.ErrTruncated, "the answer ended with neither finish_reason nor [DONE]")
	}
	a.unclean = !a.done || a.spoilt || !errors.Is(err, io.EOF)
	return a.verdict()
}

// verdict judges a complete answer by its finish reason.
func (a *answer) verdict() error {
	if a.finish == "abort" || a.finish == "error" {
		return collect.Failf(collect.ErrServer, "the server gave up: finish_reason is %q", a.finish)
	}
	return nil
}

// last is the arrival with the report.
func (a *answer) last() collect.Arrival {
	r := a.stats.report()
	r.FinishReason = a.finish
	return collect.Arrival{
		Chunk:       collect.Chunk{T: a.at, Tokens: collect.TokensUnknown, Kind: collect.KindReport},
		Hidden:      a.texts[0].Rest() + a.texts[1].Rest() + a.texts[2].Rest(),
		Report:      &r,
		HTTPStatus:  a.status,
		NotStreamed: a.whole || !a.streamed && a.events == 0,
		UncleanEnd:  a.unclean,
	}
}
