package script

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// maxBody bounds a request's body.
const maxBody = 64 << 20

// readRequest reads one request; at is when its head was there, which is age
// before it has been read.
func readRequest(br *bufio.Reader, c net.Conn, age func() time.Duration) (r Request, at time.Time, err error) {
	tp := textproto.NewReader(br)
	line, err := tp.ReadLine()
	if err != nil {
		return r, at, err
	}
	head, err := tp.ReadMIMEHeader()
	at = time.Now().Add(-age())
	if err != nil {
		return r, at, err
	}
	method, rest, _ := strings.Cut(line, " ")
	path, _, _ := strings.Cut(rest, " ")
	path, _, _ = strings.Cut(path, "?")
	r = Request{Method: method, Path: path, Header: map[string]string{}}
	for k, v := range head {
		r.Header[strings.ToLower(k)] = v[0]
	}
	if strings.EqualFold(r.Header["expect"], "100-continue") {
		fmt.Fprint(c, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	if r.Body, err = readBody(br, r.Header); err != nil {
		return r, at, err
	}
	_ = json.Unmarshal(r.Body, &r.fields) // a body that is no object has no fields
	return r, at, nil
}

func readBody(br *bufio.Reader, header map[string]string) ([]byte, error) {
	if strings.Contains(strings.ToLower(header["transfer-encoding"]), "chunked") {
		return io.ReadAll(io.LimitReader(httputil.NewChunkedReader(br), maxBody))
	}
	n, _ := strconv.Atoi(header["content-length"]) // none: 0
	if n < 0 || n > maxBody {
		return nil, fmt.Errorf("a body of %d bytes", n)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(br, body)
	return body, err
}

// filled is the answer with {{PP}} and {{TG}} replaced by the prompt size and
// max_tokens of the request.
func (a Answer) filled(r Request) Answer {
	var pieces []Piece
	for i, p := range a.Pieces {
		if !bytes.Contains(p.Data, []byte("{{")) {
			continue
		}
		if pieces == nil {
			pieces = append(pieces, a.Pieces...)
		}
		data := bytes.ReplaceAll(p.Data, []byte("{{PP}}"), strconv.AppendInt(nil, int64(r.PromptTokens()), 10))
		pieces[i].Data = bytes.ReplaceAll(data, []byte("{{TG}}"), strconv.AppendInt(nil, int64(r.MaxTokens()), 10))
	}
	if pieces != nil {
		a.Pieces = pieces
	}
	return a
}
