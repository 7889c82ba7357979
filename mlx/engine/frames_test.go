package engine

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"tokwatt/mlx/model"
)

func TestEveryTokenFrameReadsBack(t *testing.T) {
	for id := int32(0); id < 300; id++ {
		line := appendToken(nil, 12, id, model.TokenText(id))
		f, err := Decode(line)
		if err != nil || f.Stream != 12 || f.Token == nil || *f.Token != id || f.Text != model.TokenText(id) {
			t.Fatalf("token %d: %s, %+v, %v", id, line, f, err)
		}
	}
}

func TestFramesStartWithTheirStream(t *testing.T) {
	zero := int32(0)
	for _, f := range []Frame{{}, {Stream: 3, Token: &zero, Text: "x"}, {Stream: 1 << 40, Error: "no"}, {Stream: 9, Done: &Stats{}}} {
		line := appendFrame(nil, f)
		if s, ok := StreamOf(line); !ok || s != f.Stream {
			t.Errorf("%s: stream %d, %v", line, s, ok)
		}
	}
	nan := math.NaN()
	line := appendFrame(nil, Frame{Stream: 5, Done: &Stats{PromptTPS: &nan}})
	if f, err := Decode(line); err != nil || f.Stream != 5 || f.Error == "" {
		t.Errorf("a figure that is none: %s, %v", line, err)
	}
}

func TestStreamOfRefuses(t *testing.T) {
	for _, line := range []string{"", "{", `{"s":`, `{"s":-1}`, `{"s":"1"}`, `{"t":1,"s":2}`, "panic: no", "<html>", `x"s":1`} {
		if s, ok := StreamOf([]byte(line)); ok {
			t.Errorf("%q is of stream %d", line, s)
		}
	}
}

// FuzzFrame holds what a line of a known stream is at least.
func FuzzFrame(f *testing.F) {
	f.Add([]byte(`{"s":1,"t":65,"x":"A"}`))
	f.Add([]byte(`{"s":1,"done":{"prompt_tokens":3,"prompt_tps":1.5}}`))
	f.Add([]byte(`{"s":99999999999999999999}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		Decode(line)
		stream, ok := StreamOf(line)
		if !ok {
			return
		}
		rest, found := bytes.CutPrefix(line, []byte(prefix))
		rest = bytes.TrimLeft(rest[:min(len(rest), 17)], "0")
		if number := strconv.AppendInt(nil, stream, 10); !found || stream < 0 || stream > 0 && !bytes.HasPrefix(rest, number[:min(len(number), len(rest))]) {
			t.Fatalf("%q is of stream %d", line, stream)
		}
	})
}

func TestLastWords(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"one\ntwo\n\n", "two"},
		{"one\nno end", "no end"},
		{"note\npanic: it broke\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/y.go:3\nexit status 2\n", "panic: it broke"},
		{"fatal error: out of memory\nstack\n", "fatal error: out of memory"},
		{strings.Repeat("x", 1000) + "\n", strings.Repeat("x", longest)},
	} {
		for cut := range len(c.in) + 1 {
			var l lastWords
			l.Write([]byte(c.in[:cut]))
			l.Write([]byte(c.in[cut:]))
			if got := l.String(); got != c.want {
				t.Errorf("%.40q cut at %d: %q, want %q", c.in, cut, got, c.want)
			}
		}
	}
}

func TestExitErrorIsASentence(t *testing.T) {
	for want, e := range map[string]*ExitError{
		"the engine's worker ended with exit code 2; its last words: panic: x":                                 {Code: 2, Words: "panic: x"},
		"the engine's worker was ended by signal killed, by somebody or for want of memory":                    {Code: -1, Signal: "killed"},
		"the engine's worker was ended by signal segmentation fault; its last words: unexpected fault address": {Code: -1, Signal: "segmentation fault", Words: "unexpected fault address"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q\nwant %q", got, want)
		}
	}
}
