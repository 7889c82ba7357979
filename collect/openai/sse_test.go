package openai

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"tokwatt/collect"
)

func decodeAll(r io.Reader) (out []string, err error) {
	d := &decoder{lines: collect.NewLineReader(collect.NewClock(), r)}
	for {
		ev, err := d.next()
		if err != nil {
			return out, err
		}
		if ev.note {
			continue // for exo's statistics: TestExoStatistics
		}
		text := string(ev.data)
		if ev.name != "" {
			text = ev.name + "=" + text
		}
		if ev.tail {
			text += "(tail)"
		}
		if ev.bare {
			text = "bare:" + text
		}
		out = append(out, text)
	}
}

func TestDecoder(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "data: a\n\ndata: b\n\n", "a|b"},
		{"no space", "data:a\n\n", "a"},
		{"one space only", "data:  a\n\n", " a"},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", "a|b"},
		{"cr", "data: a\r\rdata: b\r\r", "a|b"},
		{"mixed ends", "data: a\n\r\ndata: b\r\n\n", "a|b"},
		{"bom", "\xef\xbb\xbfdata: a\n\n", "a"},
		{"bom only at the start", "data: a\n\n\xef\xbb\xbfdata: b\n\n", "a"},
		{"comments", ": hi\ndata: a\n:\n\n:x\n\n", "a"},
		{"many lines", "data: a\ndata\ndata: c\n\n", "a\n\nc"},
		{"name", "event: error\ndata: a\n\ndata: b\n\n", "error=a|b"},
		{"name without data", "event: error\n\ndata: b\n\n", "b"},
		{"last name counts", "event: x\nevent: y\ndata: b\n\n", "y=b"},
		{"id and retry", "id: 1\nretry: 5\ndata: a\n\n", "a"},
		{"unknown field", "foo: 1\nfoo\ndata: a\n\n", "a"},
		{"field with a space before the colon", "data : a\n\n", ""},
		{"empty data", "data:\n\n", ""},
		{"end without blank line", "data: a\n", "a(tail)"},
		{"end without line end", "data: a", "a(tail)"},
		{"bare json", "{\"error\":1}\n", "bare:{\"error\":1}"},
		{"bare between events", "data: a\n\n{\"error\":1}\ndata: b\n\n", "a|bare:{\"error\":1}|b"},
		{"bare right behind an event", "data: a\n{\"error\":1}\ndata: b\n\n", "a(tail)|bare:{\"error\":1}|b"},
		{"html", "<p>data: a</p>\n", "bare:<p>data: a</p>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for way, r := range map[string]io.Reader{
				"whole":     strings.NewReader(c.in),
				"by bytes":  iotest.OneByteReader(strings.NewReader(c.in)),
				"err early": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				got, err := decodeAll(r)
				if strings.Join(got, "|") != c.want || err != io.EOF {
					t.Errorf("%s: %q, %v; want %q", way, got, err, c.want)
				}
			}
		})
	}
}

func TestDecoderLongLine(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	got, err := decodeAll(strings.NewReader("data: " + long + "\n\ndata: b\n\n"))
	if len(got) != 2 || got[0] != long || got[1] != "b" || err != io.EOF {
		t.Errorf("%d events, %v", len(got), err)
	}
}

func TestDecoderError(t *testing.T) {
	broken := errors.New("broken")
	got, err := decodeAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)))
	if !slices.Equal(got, []string{"a", "b(tail)"}) || err != broken {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzDecoder holds the decoder against a second reading of the rules that
// works on the whole text, however the text is cut.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfdata: a\r\n\r\nevent: error\rdata:b\ndata:  c\n\n: x\n{\"e\":1}\ndata: [DONE]"), uint8(3))
	f.Add([]byte("data\n\ndata:\n\nevent:\n\n\r\rdata: x"), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		got, err := decodeAll(&pieces{in, int(cut%16) + 1})
		if err != io.EOF {
			t.Fatal(err)
		}
		if want := reference(in); !slices.Equal(got, want) {
			t.Fatalf("%q gives %q, want %q", in, got, want)
		}
	})
}

// pieces reads n bytes at a time.
type pieces struct {
	left []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[:min(p.n, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}

func reference(in []byte) (out []string) {
	text := strings.TrimPrefix(string(in), "\xef\xbb\xbf")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var data []string
	name := ""
	give := func(end string) {
		// An event of empty data is given out too; the caller drops it.
		if data != nil {
			text := strings.Join(data, "\n") + end
			if name != "" {
				text = name + "=" + text
			}
			out = append(out, text)
		}
		data, name = nil, ""
	}
	for _, line := range lines {
		if line == "" {
			give("")
			continue
		}
		if bytes.IndexByte([]byte("{[<\x1f"), line[0]) >= 0 {
			give("(tail)")
			out = append(out, "bare:"+line)
			name = ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			name = value
		}
	}
	give("(tail)")
	return out
}
