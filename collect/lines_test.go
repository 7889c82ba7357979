package collect

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func readLines(r io.Reader) (lines []string, err error) {
	l := NewLineReader(NewClock(), r)
	for {
		line, _, err := l.Next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(line))
	}
}

func TestLines(t *testing.T) {
	for in, want := range map[string][]string{
		"":                 nil,
		"a":                {"a"},
		"a\n":              {"a"},
		"a\r\nb\rc\n\nd":   {"a", "b", "c", "", "d"},
		"\r\r\n\n":         {"", "", ""},
		"a\r\n\r\n\r\rb\n": {"a", "", "", "", "b"},
	} {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(in), "bytewise": iotest.OneByteReader(strings.NewReader(in)),
			"with the end": iotest.DataErrReader(strings.NewReader(in)),
		} {
			got, err := readLines(r)
			if !reflect.DeepEqual(got, want) || err != io.EOF {
				t.Errorf("%q %s: %q, %v, want %q", in, name, got, err, want)
			}
		}
	}
}

func TestLineOfAnyLength(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	got, err := readLines(strings.NewReader("a\n" + long + "\nb\n"))
	if len(got) != 3 || got[1] != long || err != io.EOF {
		t.Errorf("%d lines, %v", len(got), err)
	}
	_, err = readLines(io.LimitReader(endless{}, MaxLine+1<<20))
	if f := (*Failure)(nil); !errors.As(err, &f) || f.Kind != ErrProtocol {
		t.Errorf("a line without end gives %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A line is stamped when the read that completed it returned, not when it
// began to arrive and not when it is asked for.
func TestLineStamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		clock := NewClock()
		go func() {
			for _, s := range []string{"one\ntw", "o\n", "three\nfour\n"} {
				time.Sleep(10 * time.Millisecond)
				io.WriteString(w, s)
			}
			time.Sleep(10 * time.Millisecond)
			w.Close()
		}()
		l := NewLineReader(clock, r)
		for _, want := range []int64{10, 20, 30, 30} {
			if _, at, err := l.Next(); at != want*1e6 || err != nil {
				t.Errorf("stamp %d ns, %v, want %d ms", at, err, want)
			}
			time.Sleep(time.Millisecond)
		}
		if _, _, err := l.Next(); err != io.EOF || l.At() != 40e6 {
			t.Errorf("end %v at %d", err, l.At())
		}
	})
}

// However the bytes are cut into reads, the lines are the same.
func FuzzLines(f *testing.F) {
	f.Add("a\r\nb\rc\n", uint8(1))
	f.Add("\r\n\r\n", uint8(3))
	f.Fuzz(func(t *testing.T, in string, cut uint8) {
		want, _ := readLines(strings.NewReader(in))
		got, _ := readLines(&cutReader{in, int(cut)%7 + 1})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q cut by %d: %q, want %q", in, cut, got, want)
		}
		flat := strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
		if joined := strings.Join(want, "\n"); joined != flat && joined+"\n" != flat {
			t.Errorf("%q: lines %q lose bytes", in, want)
		}
	})
}

type cutReader struct {
	s string
	n int
}

func (r *cutReader) Read(p []byte) (int, error) {
	if r.s == "" {
		return 0, io.EOF
	}
	n := copy(p, r.s[:min(r.n, len(r.s))])
	r.s = r.s[n:]
	return n, nil
}
