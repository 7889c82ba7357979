package collect

import (
	"bytes"
	"io"
)

// MaxLine is the longest line a LineReader gives out, in bytes. It only keeps
// a runaway server from filling the memory.
const MaxLine = 64 << 20

// LineReader splits a stream into lines and stamps each with the arrival of
// the read that completed it: before that nobody could have known the line,
// and after that only our own work is added. A read arrived when the kernel
// took its bytes in, where a [StampedReader] knows that, else when it
// returned. It is the one place where arrivals are stamped, for HTTP bodies
// and worker frames alike.
//
// A line ends in LF, CR or CR LF (the WHATWG rule for event streams); the end
// is not part of the line. Lines of one read share one stamp, so events that
// were read together can be told by that.
type LineReader struct {
	r    io.Reader
	now  func() int64 // when the newest bytes of r arrived
	buf  []byte
	head int   // start of the next line in buf
	seen int   // buf[head:seen] holds no line end
	at   int64 // when the newest bytes arrived
	err  error
	cr   bool // the last line ended in CR: a LF that follows belongs to it
}

// NewLineReader reads lines from r and stamps them with clock.
func NewLineReader(clock *Clock, r io.Reader) *LineReader {
	return &LineReader{now: clock.Now, r: r, buf: make([]byte, 0, 4<<10)}
}

// NewStampedLineReader reads lines from r, whose bytes come from source by way
// of some decoding: a line bears the stamp of the read of source that
// completed it, before the decoding.
func NewStampedLineReader(source *StampedReader, r io.Reader) *LineReader {
	return &LineReader{now: source.At, r: r, buf: make([]byte, 0, 4<<10)}
}

// Next returns the next line and its arrival. The line is valid until the
// next call. The error is the reader's own (io.EOF at a clean end); a last
// line without an end is given out, with the stamp of the read that brought
// it, before the error is. A line over MaxLine fails with ErrProtocol.
func (l *LineReader) Next() (line []byte, at int64, err error) {
	for {
		if line, ok := l.cut(); ok {
			return line, l.at, nil
		}
		if l.err != nil {
			if l.head < len(l.buf) {
				line, l.head, l.seen = l.buf[l.head:], len(l.buf), len(l.buf)
				return line, l.at, nil
			}
			return nil, l.at, l.err
		}
		if len(l.buf)-l.head > MaxLine {
			return nil, l.at, Failf(ErrProtocol, "a line of over %d MiB", MaxLine>>20)
		}
		l.fill()
	}
}

// At is when the newest bytes arrived; at the end of the stream, when the end
// was known.
func (l *LineReader) At() int64 { return l.at }

// cut takes one whole line off the buffer.
func (l *LineReader) cut() ([]byte, bool) {
	if l.cr && l.head < len(l.buf) {
		l.cr = false
		if l.buf[l.head] == '\n' {
			l.head++
			l.seen = max(l.seen, l.head)
		}
	}
	i := lineEnd(l.buf[l.seen:])
	if i < 0 {
		l.seen = len(l.buf)
		return nil, false
	}
	end := l.seen + i
	line := l.buf[l.head:end]
	l.cr = l.buf[end] == '\r'
	l.head = end + 1
	l.seen = l.head
	return line, true
}

// lineEnd is the index of the first LF or CR, -1 where there is none.
// (bytes.IndexAny looks at each byte on its own, three times as slowly.)
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads once, after making room.
func (l *LineReader) fill() {
	if l.head > 0 {
		n := copy(l.buf, l.buf[l.head:])
		l.buf = l.buf[:n]
		l.seen -= l.head
		l.head = 0
	}
	if cap(l.buf)-len(l.buf) < 1<<10 {
		l.buf = append(make([]byte, 0, 2*cap(l.buf)), l.buf...)
	}
	n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
	l.at = l.now()
	l.buf = l.buf[:len(l.buf)+n]
	l.err = err
}
