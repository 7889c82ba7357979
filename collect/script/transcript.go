package script

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Transcript is a recorded exchange with a real server: the request as lines
// that begin with "> ", an empty line, and the response with its head. Chunked
// framing is taken off in the recording and put on again when it is played.
type Transcript struct {
	Method, Path string
	Request      []byte // its body
	Answer       Answer
}

// ReadTranscript reads a recording. Events of a stream are played step apart.
func ReadTranscript(file string, step time.Duration) (*Transcript, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the transcript can't be read: %w", err)
	}
	t := &Transcript{}
	for bytes.HasPrefix(raw, []byte("> ")) {
		line, rest, _ := bytes.Cut(raw[2:], []byte("\n"))
		raw = rest
		if t.Method != "" {
			t.Request = line
			continue
		}
		method, path, ok := strings.Cut(string(line), " ")
		if !ok {
			return nil, fmt.Errorf("%s: the first line is no request", file)
		}
		t.Method, t.Path = method, path
	}
	head, body, ok := bytes.Cut(bytes.TrimPrefix(raw, []byte("\n")), []byte("\r\n\r\n"))
	if !ok {
		return nil, fmt.Errorf("%s holds no response", file)
	}
	if err := t.head(append(head, "\r\n\r\n"...)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, event := range bytes.SplitAfter(body, []byte("\n\n")) {
		if len(event) > 0 {
			t.Answer.Pieces = append(t.Answer.Pieces, Piece{time.Duration(i) * step, event})
		}
	}
	return t, nil
}

// head takes over the status, the headers and the framing.
func (t *Transcript) head(raw []byte) error {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
	if err != nil {
		return fmt.Errorf("the response has no head: %w", err)
	}
	resp.Body.Close()
	a := &t.Answer
	a.Status, a.HTTP10, a.Framing = resp.StatusCode, resp.ProtoMinor == 0, FramingAsIs
	if len(resp.TransferEncoding) > 0 {
		a.Framing = FramingChunked
	}
	for line := range strings.SplitSeq(string(raw), "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		switch {
		case !ok || strings.EqualFold(name, "Transfer-Encoding") || strings.EqualFold(name, "Connection") || strings.EqualFold(name, "Keep-Alive"):
		case strings.EqualFold(name, "Content-Length"):
			if _, err := strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return fmt.Errorf("bad length %q", value)
			}
			a.Framing = FramingLength // counted anew below: names of machines were taken out
		default:
			a.Headers = append(a.Headers, Header{name, strings.TrimSpace(value)})
		}
	}
	return nil
}
