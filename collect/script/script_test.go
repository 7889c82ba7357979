package script_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"tokwatt/collect/script"
)

func listen(t *testing.T, s script.Script) *script.Server {
	t.Helper()
	srv, err := script.Listen("127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv
}

// exchange sends one request and returns all that comes back, to the byte.
func exchange(t *testing.T, srv *script.Server, method, path, body string, headers ...string) (string, error) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(srv.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n%s\r\n%s", method, path, len(body), strings.Join(append(headers, ""), "\r\n"), body)
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if method != "POST" { // the connection is kept
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return "", err
		}
		all, err := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s", resp.StatusCode, all), err
	}
	all, err := io.ReadAll(c)
	return string(all), err
}

// TestFramings: the bytes on the wire are exactly these.
func TestFramings(t *testing.T) {
	pieces := []script.Piece{{Data: []byte("ab")}, {At: 3 * time.Millisecond, Data: []byte("cde")}}
	x := []script.Header{{Name: "X", Value: "y"}}
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		name string
		a    script.Answer
		want string
	}{
		{"chunked", script.Answer{Pieces: pieces}, ok + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n"},
		{"abrupt", script.Answer{Pieces: pieces, End: script.EndAbrupt}, ok + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n3\r\ncde\r\n"},
		{"length", script.Answer{Pieces: pieces, Framing: script.FramingLength, Headers: x}, ok + "X: y\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde"},
		{"close", script.Answer{Pieces: pieces, Framing: script.FramingClose}, ok + "Connection: close\r\n\r\nabcde"},
		{"http 1.0", script.Answer{Pieces: pieces, HTTP10: true}, "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nabcde"},
		{"as is", script.Answer{Pieces: pieces, Framing: script.FramingAsIs, Status: 418, Headers: x}, "HTTP/1.1 418 I'm a teapot\r\nX: y\r\n\r\nabcde"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := exchange(t, listen(t, script.Script{Answers: []script.Answer{c.a}}), "POST", "/x", "{}")
			if got != c.want || err != nil {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestSchedule: nothing goes out before its time, and the log says when it did.
func TestSchedule(t *testing.T) {
	a := script.Answer{HeadAt: 20 * time.Millisecond, EndAt: 60 * time.Millisecond}
	for i := range 5 {
		a.Pieces = append(a.Pieces, script.Piece{At: time.Duration(30+5*i) * time.Millisecond, Data: []byte("x")})
	}
	srv := listen(t, script.Script{Answers: []script.Answer{a}})
	begun := time.Now()
	if _, err := exchange(t, srv, "POST", "/x", "{}"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < a.EndAt {
		t.Errorf("the answer ended after %v", took)
	}
	x := srv.Log()[0]
	if len(x.Sent) != len(a.Pieces) || x.Broken || x.HeadAt.Before(begun) {
		t.Fatalf("%+v", x)
	}
	for i, at := range x.Sent {
		if at < a.Pieces[i].At {
			t.Errorf("piece %d went out at %v, before %v", i, at, a.Pieces[i].At)
		}
	}
}

// TestArrivals: the schedule begins when the request came in, whoever read it
// however late.
func TestArrivals(t *testing.T) {
	const late = time.Minute
	srv := listen(t, script.Script{
		Answer: func(r script.Request) script.Answer {
			return script.Tokens{N: 3, First: fmt.Sprintf("<%d>", r.N), Prefill: late - 10*time.Millisecond, Step: 10 * time.Millisecond}.Stream()
		},
		Arrivals: func(c net.Conn) (io.Reader, func() time.Duration) {
			return c, func() time.Duration { return late }
		},
	})
	begun := time.Now()
	got, err := exchange(t, srv, "POST", "/x", "{}")
	if err != nil || !strings.Contains(got, `"\u003c0\u003e"`) {
		t.Errorf("%q, %v", got, err)
	}
	x := srv.Log()[0]
	if x.HeadAt.After(time.Now().Add(-late)) || x.HeadAt.Before(begun.Add(-late)) || x.Sent[0] < late || x.Sent[2] < late+10*time.Millisecond {
		t.Errorf("begun at %v, sent %v", x.HeadAt.Sub(begun), x.Sent)
	}
}

func TestReset(t *testing.T) {
	a := script.Answer{Pieces: []script.Piece{{Data: []byte("ab")}}, End: script.EndReset, EndAt: 30 * time.Millisecond}
	got, err := exchange(t, listen(t, script.Script{Answers: []script.Answer{a}}), "POST", "/x", "{}")
	if !errors.Is(err, syscall.ECONNRESET) || !strings.HasSuffix(got, "2\r\nab\r\n") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestHang: the silence ends when the client goes, and Close does not wait
// for it.
func TestHang(t *testing.T) {
	srv := listen(t, script.Script{Answers: []script.Answer{{End: script.EndHang}}})
	c, err := net.Dial("tcp", strings.TrimPrefix(srv.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST / HTTP/1.1\r\n\r\n")
	c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if got, err := io.ReadAll(c); err == nil || strings.Contains(string(got), "0\r\n\r\n") {
		t.Errorf("the answer ended: %q", got)
	}
	begun := time.Now()
	srv.Close()
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("Close took %v", took)
	}
}

// TestPicky: what the server answers besides its script.
func TestPicky(t *testing.T) {
	srv := listen(t, script.Script{
		RequireAuth: "Bearer k", OnlyPath: "/v1/chat/completions", RejectFields: []string{"ignore_eos", "num_ctx"}, RejectStatus: 422,
		Redirect: &script.Redirect{From: "/old", To: "/v1/chat/completions"}, Model: "m", PoliteProbes: true,
		Get:     map[string]json.RawMessage{"/props": json.RawMessage(`{"a":1}`)},
		Answers: []script.Answer{{Pieces: []script.Piece{{Data: []byte("first {{PP}} {{TG}}")}}}, {Pieces: []script.Piece{{Data: []byte("later")}}}},
	})
	const chat, key = "/v1/chat/completions", "Authorization: Bearer k"
	for _, c := range []struct{ method, path, body, auth, want string }{
		{"GET", "/v1/models", "", "X: y", "401 "},
		{"GET", "/v1/models", "", key, `"id":"m"`},
		{"GET", "/props?x=1", "", key, `200 {"a":1}`},
		{"GET", "/health", "", key, `{"status":"ok"}`},
		{"GET", "/nothing", "", key, "404 "},
	} {
		got, err := exchange(t, srv, c.method, c.path, c.body, c.auth)
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, %v; want %q", c.method, c.path, got, err, c.want)
		}
	}
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/other", "{}", 404, "no route /v1/other"},
		{"/old", "{}", 307, ""},
		{chat, `{"ignore_eos":true}`, 422, "unknown field: ignore_eos"},
		{chat, `{"options":{"num_ctx":1}}`, 422, "unknown field: num_ctx"},
		{chat, `{"max_tokens":1,"messages":[{"content":"a b c"}]}`, 200, `"prompt_tokens":12`},
		{chat, `{"max_tokens":1,"stream":true,"prompt":"a b"}`, 200, "data: [DONE]"},
		{chat, `{"max_tokens":7,"messages":[{"content":"a b c"}]}`, 200, "first 12 7"},
		{chat, `{"max_tokens":7}`, 200, "later"},
		{chat, `{"max_tokens":7}`, 200, "later"},
	} {
		req, _ := http.NewRequest("POST", srv.URL()+c.path, strings.NewReader(c.body))
		req.Header.Set("Authorization", "Bearer k")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(all), c.want) {
			t.Errorf("%s %s: %d %q %v, want %d %q", c.path, c.body, resp.StatusCode, all, err, c.status, c.want)
		}
		if c.status == 307 && resp.Header.Get("Location") != chat {
			t.Errorf("sent to %q", resp.Header.Get("Location"))
		}
	}
}

// TestCaseFields: repeated, filled and encoded chunks, in order of time.
func TestCaseFields(t *testing.T) {
	var c script.Case
	err := json.Unmarshal([]byte(`{"id":"x","server":{"http":"1.0","framing":"close","end":"abrupt","chunks":[
		{"at_ms":30,"text":"<@>","fill":{"mark":"@","unit":"ab","times":2}},
		{"at_ms":1.5,"every_ms":2,"times":2,"text":"x"},
		{"at_ms":2,"b64":"AP8="}]}}`), &c)
	if err != nil {
		t.Fatal(err)
	}
	play, err := c.Play()
	if err != nil {
		t.Fatal(err)
	}
	a := play.Answers[0]
	got := ""
	for _, p := range a.Pieces {
		got += fmt.Sprintf("%v %q ", p.At, p.Data)
	}
	if want := `1.5ms "x" 2ms "\x00\xff" 3.5ms "x" 30ms "<abab>" `; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !a.HTTP10 || a.Framing != script.FramingClose || a.End != script.EndAbrupt {
		t.Errorf("%+v", a)
	}
}
