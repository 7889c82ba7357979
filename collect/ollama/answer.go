package ollama

import (
	"hash/maphash"
	"math"
	"unicode/utf8"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// answer turns lines into arrivals and gathers the report. It keeps no text but
// a piece of a character.
type answer struct {
	asked   bool  // a stream was asked for
	tokens  int64 // num_predict of the request
	single  bool  // the server calls its answer one JSON value
	emit    func(collect.Arrival) bool
	stopped bool // emit wants no more

	status  *int64
	done    bool   // the last object was seen
	finish  string // done_reason
	whole   bool   // a single body came
	unclean bool
	cut     []byte // a line that breaks off: the end of a stream, or the first line of an indented body
	objects int64
	known   bool   // an object was one of Ollama's
	stray   []byte // the first that was not, short
	outputs int64  // objects that brought output
	texts   [3]wire.Joiner
	said    maphash.Hash // visible text so far
	stats   stats
	at      int64 // newest arrival
	scratch object
}

// line takes one line that is not empty.
func (a *answer) line(line []byte, at int64) error {
	if a.cut != nil {
		return broken(a.cut)
	}
	size := len(line)
	line = withoutContext(line)
	a.scratch = object{}
	err := a.scratch.parse(line)
	switch {
	case err == nil:
		return a.object(&a.scratch, line, size, at)
	case breaksOff(err):
		a.cut = append([]byte{}, line...)
		return nil
	case a.finish != "":
		a.unclean = true // behind the reason the answer is whole, whatever comes
		return nil
	}
	several := objects(line)
	if len(several) < 2 {
		return broken(line)
	}
	for _, one := range several {
		a.scratch = object{}
		if err := a.scratch.parse(one); err != nil {
			return broken(one)
		}
		if fault := a.object(&a.scratch, one, len(one), at); fault != nil || a.stopped || a.done {
			return fault
		}
	}
	return nil
}

// broken is the failure of a line that is no JSON object.
func broken(line []byte) error {
	if line[0] != '{' {
		return wire.Nonsense(line)
	}
	return collect.Failf(collect.ErrProtocol, "a line is no JSON: %s", wire.Clip(wire.Plain(line), 80))
}

// object takes one object of an answer, which had size bytes on the wire.
func (a *answer) object(o *object, data []byte, size int, at int64) error {
	if o.fault() {
		return collect.Failf(collect.ErrServer, "the server reported an error: %s", wire.Reason(data))
	}
	a.objects++
	a.at = at
	if o.known() {
		a.known = true
	} else if a.stray == nil {
		a.stray = append([]byte{}, data[:min(len(data), 1<<10)]...)
	}
	a.stats.take(o, data)
	if r := o.DoneReason.S; r != "" {
		a.finish = wire.Clip(wire.OneLine(r), wire.MaxReason)
	}
	out := collect.Arrival{Chunk: collect.Chunk{T: at, Bytes: int32(size), Tokens: collect.TokensUnknown}}
	if o.ended() {
		a.done = true
		// The last object of a stream has no text, but for what a parser held
		// back; one that is also the first is a whole answer.
		a.whole = a.objects == 1 && (a.single || !a.asked || o.text() != "")
	}
	a.output(out, o)
	return a.excess()
}

// What a server may send: no token comes in more pieces than it has bytes, and
// the longest tokens have about 64. What is over that is a server that does not
// stop, and each object costs memory. Objects without output are few.
const (
	objectsPerToken = 64
	freeOutputs     = 1000
	freeObjects     = 1 << 16
)

// excess is the failure of a server that sends without end.
func (a *answer) excess() error {
	most := objectsPerToken * min(max(a.tokens, 0), math.MaxInt64/(2*objectsPerToken))
	if a.outputs > most+freeOutputs || a.objects > most+freeObjects {
		return collect.Failf(collect.ErrProtocol, "the server does not stop: it sent over %d objects for %d tokens asked", a.objects-1, a.tokens)
	}
	return nil
}

// output emits what an object brought as one arrival, whatever came in it
// together: of the kind that can be seen.
func (a *answer) output(out collect.Arrival, o *object) {
	text := o.text()
	if o.ended() && a.repeats(text) {
		out.Kind = collect.KindReport
		a.send(out)
		return
	}
	a.said.WriteString(text)
	any := false
	for i, piece := range [...]string{text, o.reasoning(), o.tool()} {
		if piece == "" {
			continue
		}
		whole := a.texts[i].Add(piece)
		if any {
			out.Hidden += int64(utf8.RuneCountInString(whole))
			continue
		}
		any = true
		out.Kind, out.Text = [...]collect.ChunkKind{collect.KindContent, collect.KindReasoning, collect.KindTool}[i], whole
	}
	if any {
		a.outputs++
	} else if o.ended() {
		out.Kind = collect.KindReport
	}
	a.send(out)
}

// repeats reports whether a last object's text is that of all before it once
// more: then it is a report, not output.
func (a *answer) repeats(text string) bool {
	return text != "" && a.outputs > 0 && maphash.String(a.said.Seed(), text) == a.said.Sum64()
}

func (a *answer) send(x collect.Arrival) {
	if !a.stopped && !a.emit(x) {
		a.stopped = true
	}
}

// body takes an answer that is one object over several lines; err is how its
// reading ended.
func (a *answer) body(data []byte, at int64, err error) error {
	a.cut, a.single = nil, true
	var o object
	if bad := o.parse(data); bad != nil {
		switch {
		case !isEnd(err):
			return wire.Broken(err, "in the middle of its answer")
		case breaksOff(bad):
			return collect.Failf(collect.ErrTruncated, "the answer is JSON that breaks off after %d bytes", len(data))
		}
		return broken(data)
	}
	if fault := a.object(&o, data, len(data), at); fault != nil {
		return fault
	}
	return a.end(err)
}

// end judges an answer by how it ended. It is complete with its last object,
// whatever became of the transfer after that.
func (a *answer) end(err error) error {
	if a.done || a.finish != "" {
		a.unclean = a.unclean || !a.done || a.cut != nil || !isEnd(err)
		if a.finish == "error" || a.finish == "abort" {
			return collect.Failf(collect.ErrServer, "the server gave up: done_reason is %q", a.finish)
		}
		return nil
	}
	switch {
	case !isEnd(err):
		return wire.Broken(err, where)
	case a.objects == 0 && a.cut == nil:
		return collect.Failf(collect.ErrTruncated, "the answer is empty")
	case !a.known && a.stray != nil:
		return collect.Failf(collect.ErrProtocol, "the answer is JSON, but none of Ollama's: %s", wire.Clip(wire.Plain(a.stray), 80))
	}
	return collect.Failf(collect.ErrTruncated, "the answer ended without its last object, which says that it is done")
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
		NotStreamed: a.whole || !a.asked && a.objects == 0,
		UncleanEnd:  a.unclean,
	}
}
