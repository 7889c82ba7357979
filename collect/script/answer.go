package script

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Answer is one response. All times count from the moment the head of the
// request was there.
type Answer struct {
	Status  int      // 0: 200
	Headers []Header // in this order
	HTTP10  bool     // the status line says HTTP/1.0
	Framing Framing
	HeadAt  time.Duration // when the status line goes out
	Pieces  []Piece
	End     End
	EndAt   time.Duration // 0: right after the last piece
}

// Header is one line of the head.
type Header struct{ Name, Value string }

// Piece is a run of bytes that goes out in one write. Under chunked framing it
// is one HTTP chunk.
type Piece struct {
	At   time.Duration
	Data []byte
}

// Framing says how the body is delimited.
type Framing string

// The framings.
const (
	FramingDefault Framing = ""        // chunked, or close under HTTP/1.0
	FramingChunked Framing = "chunked" // HTTP chunks
	FramingClose   Framing = "close"   // the body ends with the connection
	FramingLength  Framing = "length"  // Content-Length of all pieces
	FramingAsIs    Framing = "asis"    // no header is added
)

// End says what happens after the last piece.
type End string

// The ends.
const (
	EndClose  End = ""       // the framing is finished, then FIN
	EndAbrupt End = "abrupt" // FIN without finishing the framing
	EndReset  End = "reset"  // RST
	EndHang   End = "hang"   // silence for 20 s, then as abrupt
)

// hang is how long EndHang is silent.
const hang = 20 * time.Second

func (a Answer) framing() Framing {
	switch {
	case a.Framing != FramingDefault:
		return a.Framing
	case a.HTTP10:
		return FramingClose
	}
	return FramingChunked
}

// head is the status line and the headers, framing included.
func (a Answer) head() []byte {
	status := cmp.Or(a.Status, http.StatusOK)
	version := "1.1"
	if a.HTTP10 {
		version = "1.0"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/%s %d %s\r\n", version, status, cmp.Or(http.StatusText(status), "X"))
	for _, h := range a.Headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	switch a.framing() {
	case FramingChunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case FramingLength:
		if !a.has("Content-Length") {
			fmt.Fprintf(&b, "Content-Length: %d\r\n", a.size())
		}
	}
	if a.framing() != FramingAsIs && !a.has("Connection") {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	return []byte(b.String())
}

func (a Answer) has(header string) bool {
	return slices.ContainsFunc(a.Headers, func(h Header) bool { return strings.EqualFold(h.Name, header) })
}

func (a Answer) size() int {
	n := 0
	for _, p := range a.Pieces {
		n += len(p.Data)
	}
	return n
}

// frame is a piece as it goes out.
func (a Answer) frame(data []byte) []byte {
	if a.framing() != FramingChunked {
		return data
	}
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data)
}
