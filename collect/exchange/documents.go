package exchange

import (
	"bufio"
	"io"
)

// document is one of several JSON objects in a file.
type document struct {
	part
	line int // where it begins, from 1
}

// section is a part of the file.
func (in *Input) section(p part) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(in.R, p.from, p.to-p.from), 1<<16)
}

// documents finds the objects of a file to which runs are appended. One begins
// with a { at the start of a line, wherever the one before stopped: a run that
// was cut off does not take the next with it.
func documents(in *Input) ([]document, error) {
	r := in.reader()
	var docs []document
	at, n, fresh := int64(0), 1, true
	for {
		b, err := r.ReadByte()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if fresh && b == '{' {
			if k := len(docs); k > 0 {
				docs[k-1].to = at
			}
			docs = append(docs, document{part{at, in.Size}, n})
		}
		switch b {
		case '\n':
			n, fresh = n+1, true
		case '\r':
		default:
			fresh = false
		}
		at++
	}
	return docs, nil
}

// pythonJSON is JSON as Python writes it, made JSON: its NaN, Infinity and
// -Infinity become strings.
func pythonJSON(r io.Reader) io.Reader { return &pythonReader{r: bufio.NewReaderSize(r, 1<<16)} }

type pythonReader struct {
	r      *bufio.Reader
	rest   []byte // to be handed out first
	quoted bool   // within a string
	back   bool   // behind a backslash
}

func (p *pythonReader) Read(to []byte) (int, error) {
	if len(p.rest) > 0 {
		n := copy(to, p.rest)
		p.rest = p.rest[n:]
		return n, nil
	}
	for n := range to {
		b, err := p.r.ReadByte()
		if err != nil {
			if n > 0 && err == io.EOF {
				return n, nil
			}
			return n, err
		}
		if !p.quoted && (b == 'N' || b == 'I' || b == '-') {
			if p.word(b); len(p.rest) > 0 {
				if n == 0 {
					return p.Read(to)
				}
				return n, nil
			}
		}
		switch {
		case p.back:
			p.back = false
		case p.quoted && b == '\\':
			p.back = true
		case b == '"':
			p.quoted = !p.quoted
		}
		to[n] = b
	}
	return len(to), nil
}

// word reads the rest of a word that is no JSON and begins with b, if one is
// there, and puts it in quotes.
func (p *pythonReader) word(b byte) {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if word[0] != b {
			continue
		}
		if next, _ := p.r.Peek(len(word) - 1); string(next) == word[1:] {
			p.r.Discard(len(next))
			p.rest = []byte(`"` + word + `"`)
			return
		}
	}
}
