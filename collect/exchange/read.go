package exchange

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"time"

	"tokwatt/collect"
)

// Input is a file to be read.
type Input struct {
	Name   string // of the file; what stands before its last part is not kept
	Format string // one of Formats; empty: told by the content
	Host   string // host name of sessions whose file has none
	Now    time.Time
	R      io.ReaderAt
	Size   int64
}

// reader is the file from its beginning.
func (in *Input) reader() *bufio.Reader {
	return in.section(in.whole())
}

// Read reads the sessions of a file: for each its *collect.Session with its
// Imported, then what collect would have recorded, an *collect.End last. Their
// ids, and the numbers of all that is in them, depend on the file's content
// alone: the same session of the same file has the same id wherever and
// whenever it is read.
//
// A *RowError is a row that was left out; the rest goes in. Any other error
// ends the file, and an *UnknownFormatError comes before anything else. Memory
// does not grow with the file but by its largest row, unless the format's own
// comment says so.
func Read(ctx context.Context, in Input) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		f, err := in.format()
		if err != nil {
			yield(nil, err)
			return
		}
		out := &sink{ctx: ctx, in: &in, format: f.Name, yield: yield}
		if err := f.read(&in, out); err != nil && out.more() {
			yield(nil, fmt.Errorf("%s: %w", filepath.Base(in.Name), err))
			return
		}
		if ctx.Err() != nil && !out.stopped {
			out.end(collect.StatusInterrupted)
			if !out.stopped {
				yield(nil, context.Cause(ctx))
			}
			return
		}
		out.end(collect.StatusComplete)
	}
}

// part is a stretch of a file: a session's own bytes, by which it is known
// again.
type part struct{ from, to int64 }

// whole is the whole file.
func (in *Input) whole() part { return part{0, in.Size} }

// digest is the SHA-256 of a part, without the white space around it.
func (in *Input) digest(format string, p part) ([sha256.Size]byte, error) {
	h := sha256.New()
	io.WriteString(h, format+"\n")
	trim := trimmer{w: h}
	_, err := io.Copy(&trim, io.NewSectionReader(in.R, p.from, p.to-p.from))
	return [sha256.Size]byte(h.Sum(nil)), err
}

// trimmer drops white space at both ends.
type trimmer struct {
	w       io.Writer
	begun   bool
	pending []byte // white space that may be the end
}

func (t *trimmer) Write(p []byte) (int, error) {
	n := len(p)
	if !t.begun {
		p = bytes.TrimLeft(p, " \t\r\n")
	}
	if len(p) == 0 {
		return n, nil
	}
	t.begun = true
	body := bytes.TrimRight(p, " \t\r\n")
	if len(body) == 0 {
		t.pending = append(t.pending, p...)
		return n, nil
	}
	t.w.Write(t.pending)
	t.w.Write(body)
	t.pending = append(t.pending[:0], p[len(body):]...)
	return n, nil
}

// sessionID is a UUIDv7 of a digest. Its time is the start of the session, with
// milliseconds of the digest where the file has whole seconds; without a start
// it is within the first minute of 1970, so that the first characters of two
// ids differ.
func sessionID(start time.Time, digest [sha256.Size]byte) string {
	noise := int64(digest[30])<<8 | int64(digest[31])
	ms := noise
	if !start.IsZero() {
		if ms = max(start.UnixMilli(), 0); ms%1000 == 0 {
			ms += noise % 1000
		}
	}
	var id [16]byte
	copy(id[6:], digest[:10])
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	t := hex.EncodeToString(id[:])
	return t[:8] + "-" + t[8:12] + "-" + t[12:16] + "-" + t[16:20] + "-" + t[20:]
}
