package openai

import (
	"bytes"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// event is one event of a stream.
type event struct {
	name string
	data []byte // valid until the next call of next
	at   int64  // arrival of its last data line
	tail bool   // the blank line that ends an event is missing: it may be cut
	bare bool   // a line that is no field of an event stream, as it stands
	note bool   // a comment that says something, as it stands
}

// decoder reads an event stream by the WHATWG rules (HTML Living Standard,
// 9.2.6 "Interpreting an event stream"): a byte order mark, any line end,
// comments, data in several lines, a missing space after the colon. It
// departs from them in two places, because servers do:
//
//   - an event that the end of the stream cuts off is given out, since many
//     close right after "data: [DONE]" or their last chunk without the blank
//     line; the caller decides whether it is whole;
//   - a line that opens a JSON value or a tag is given out as bare instead of
//     being skipped as an unknown field: it is an error message or a whole
//     answer that some backend wrote past its own framing.
//
// Comments that say something are given out as notes: exo puts its statistics
// there. One inside an event waits until the event is over.
//
// The fields id and retry serve reconnecting, which a measurement never does.
type decoder struct {
	lines *collect.LineReader
	began bool
	name  []byte
	data  []byte
	lots  int // data lines in data
	at    int64
	held  []event // bare lines and notes that came before the event in front of them was over
	junk  string  // the first line that no event stream has: not even "name:"
}

// next returns the next event, and at last the reader's error.
func (d *decoder) next() (event, error) {
	d.name, d.data, d.lots = d.name[:0], d.data[:0], 0
	if len(d.held) > 0 {
		ev := d.held[0]
		d.held = d.held[1:]
		return ev, nil
	}
	for {
		line, at, err := d.line()
		if err != nil {
			if d.lots > 0 {
				return d.event(true), nil
			}
			return event{}, err
		}
		if len(line) == 0 {
			if d.lots > 0 {
				return d.event(false), nil
			}
			d.name = d.name[:0]
			continue
		}
		if bare(line) {
			if d.lots > 0 {
				ev := d.event(true)
				d.hold(event{data: line, at: at, bare: true})
				return ev, nil
			}
			return event{data: line, at: at, bare: true}, nil
		}
		if isNote(line) {
			ev := event{data: line, at: at, note: true}
			if d.lots == 0 {
				return ev, nil
			}
			d.hold(ev)
			continue
		}
		if err := d.field(line, at); err != nil {
			return event{}, err
		}
	}
}

// maxHeld bounds what is held of comments inside one event.
const maxHeld = 16

// hold keeps an event until the one in front of it has been given out.
func (d *decoder) hold(ev event) {
	if len(d.held) < maxHeld {
		ev.data = bytes.Clone(ev.data)
		d.held = append(d.held, ev)
	}
}

// line reads a line, the first without its byte order mark.
func (d *decoder) line() ([]byte, int64, error) {
	line, at, err := d.lines.Next()
	if !d.began && err == nil {
		d.began = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line, at, err
}

// bare reports whether a line can be no field: JSON, HTML or gzip.
func bare(line []byte) bool {
	switch line[0] {
	case '{', '[', '<', 0x1f:
		return true
	}
	return false
}

// field takes one line of an event. All data lines of an event together are
// bounded as one line is.
func (d *decoder) field(line []byte, at int64) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		if len(d.data)+len(value) > collect.MaxLine {
			return collect.Failf(collect.ErrProtocol, "an event of over %d MiB", collect.MaxLine>>20)
		}
		if d.lots > 0 {
			d.data = append(d.data, '\n')
		}
		d.data = append(d.data, value...)
		d.lots++
		d.at = at
	case "event":
		d.name = append(d.name[:0], value...)
	case "id", "retry":
	default:
		if d.junk == "" && bytes.IndexByte(line, ':') < 0 {
			d.junk = wire.Plain(line[:min(len(line), 1<<10)])
		}
	}
	return nil
}

func (d *decoder) event(tail bool) event {
	return event{name: string(d.name), data: d.data, at: d.at, tail: tail}
}

// rest reads the stream to its end as one body that begins with first.
func (d *decoder) rest(first []byte) ([]byte, error) {
	body := append([]byte(nil), first...)
	for {
		line, _, err := d.lines.Next()
		if err != nil {
			return body, err
		}
		if len(body)+len(line) > collect.MaxLine {
			return body, collect.Failf(collect.ErrProtocol, "an answer of over %d MiB", collect.MaxLine>>20)
		}
		body = append(append(body, '\n'), line...)
	}
}
