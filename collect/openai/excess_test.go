package openai

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"tokwatt/collect"
)

// TestEndless: a server that sends without end, wherever it does, is stopped
// with a failure of kind protocol before it has cost much memory.
func TestEndless(t *testing.T) {
	pad := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct{ once, again, want string }{
		"header line":     {"HTTP/1.1 200 OK\r\nX: ", pad, "head of the answer"},
		"header lines":    {"HTTP/1.1 200 OK\r\n", "X: " + pad + "\r\n", "head of the answer"},
		"status line":     {"HTTP/1.1 200 ", pad, "head of the answer"},
		"interim answers": {"", "HTTP/1.1 103 Early Hints\r\nLink: " + pad + "\r\n\r\n", "head of the answer"},
		"data lines":      {okHead, "data: " + pad + "\n", "an event of over"},
		"one line":        {okHead + "data: ", pad, "a line of over"},
		"one body":        {okHead + "{", pad + "\n", "an answer of over"},
		"output":          {okHead, strings.Repeat(delta(`"content":"a"`), 100), "does not stop"},
		"reasoning":       {okHead, strings.Repeat(delta(`"reasoning":"a"`), 100), "does not stop"},
		"empty deltas":    {okHead, strings.Repeat(delta(`"content":""`), 1000), "does not stop"},
		"usage":           {okHead, strings.Repeat(`data: {"choices":[],"usage":{"completion_tokens":1}}`+"\n\n", 1000), "does not stop"},
		"after finish":    {okHead + finished, strings.Repeat(delta(``), 1000), "does not stop"},
	} {
		t.Run(name, func(t *testing.T) {
			s := onPipe(t.Context(), collect.NewClock(), func(conn net.Conn) {
				_, err := io.WriteString(conn, c.once)
				for err == nil {
					_, err = io.WriteString(conn, c.again)
				}
			})
			defer s.Close()
			s.tokens = 4
			chunks := 0
			var failure error
			for a, err := range s.Arrivals() {
				if failure = err; err == nil && a.Bytes > 0 {
					chunks++
				}
			}
			var f *collect.Failure
			if !errors.As(failure, &f) || f.Kind != collect.ErrProtocol || !strings.Contains(f.Message, c.want) {
				t.Errorf("%v", failure)
			}
			if chunks > freeEvents+5*eventsPerToken {
				t.Errorf("%d chunks", chunks)
			}
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.HeapAlloc > 8*collect.MaxLine {
				t.Errorf("%d MiB in use", m.HeapAlloc>>20)
			}
		})
	}
}

// TestLongOutput: a server that sends more than was asked, within reason, is
// heard to its end: the row says so.
func TestLongOutput(t *testing.T) {
	events := strings.Repeat(delta(`"content":"a"`), 1200) + finished + endMark
	s := onPipe(t.Context(), collect.NewClock(), func(conn net.Conn) { io.WriteString(conn, okHead+events) })
	defer s.Close()
	s.tokens = 4
	n := 0
	for a, err := range s.Arrivals() {
		if err != nil {
			t.Fatal(err)
		}
		if a.Kind.Output() {
			n++
		}
	}
	if n != 1200 {
		t.Errorf("%d outputs", n)
	}
}
