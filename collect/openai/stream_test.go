package openai

import (
	"bufio"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/collect"
)

// onPipe is a stream whose connection is a pipe, so that time can be the
// test's own; serve is the other end.
func onPipe(ctx context.Context, clock *collect.Clock, serve func(c net.Conn)) *stream {
	ours, theirs := net.Pipe()
	srv, err := newServer(Options{URL: "h"})
	if err != nil {
		panic(err) // h is a URL
	}
	srv.Dial = func(context.Context, string, string) (net.Conn, error) { return ours, nil }
	s, err := (&engine{srv: srv, clock: clock, url: srv.At("/")}).open(ctx, true, false, nil)
	if err != nil {
		panic(err) // the pipe is open
	}
	go func() {
		defer theirs.Close()
		if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
			serve(theirs)
		}
	}()
	return s
}

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

// TestStamps: on a clock that only moves when everybody waits, each arrival is
// stamped with the very instant at which its data line was complete: not with
// that of the blank line that ends the event, nor of the parsing.
func TestStamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := collect.NewClock()
		s := onPipe(t.Context(), clock, func(c net.Conn) {
			io.WriteString(c, okHead)
			for i := range 3 {
				time.Sleep(10 * time.Millisecond)
				io.WriteString(c, `data: {"choices":[{"delta":`)
				time.Sleep(time.Millisecond)
				fmt.Fprintf(c, "{\"content\":\"%d\"}}]}\n", i)
				time.Sleep(2 * time.Millisecond)
				io.WriteString(c, "\n")
			}
			io.WriteString(c, finished+endMark)
		})
		defer s.Close()
		var at []time.Duration
		for a, err := range s.Arrivals() {
			if err != nil {
				t.Fatal(err)
			}
			if a.Kind.Output() {
				at = append(at, time.Duration(a.T))
			}
		}
		want := []time.Duration{11 * time.Millisecond, 24 * time.Millisecond, 37 * time.Millisecond}
		if fmt.Sprint(at) != fmt.Sprint(want) {
			t.Errorf("stamped %v, want %v", at, want)
		}
	})
}

// TestKeptOpen: a server that keeps the connection open after the end mark
// costs half a second and a flag, not the answer.
func TestKeptOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		clock := collect.NewClock()
		s := onPipe(ctx, clock, func(c net.Conn) {
			io.WriteString(c, okHead+delta(`"content":"a"`)+endMark)
			<-ctx.Done()
		})
		defer s.Close()
		var report *collect.Arrival
		for a, err := range s.Arrivals() {
			if err != nil {
				t.Fatal(err)
			}
			if a.Report != nil {
				report = &a
			}
		}
		if report == nil || !report.UncleanEnd || time.Duration(clock.Now()) != endGrace {
			t.Errorf("%+v after %v", report, time.Duration(clock.Now()))
		}
	})
}

// TestEndIsKnown: the end of a complete answer is the instant at which it was
// known, and neither the wait for the transfer's end nor a missing end mark
// counts as response or as silence.
func TestEndIsKnown(t *testing.T) {
	usage := `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}` + "\n\n"
	for name, c := range map[string]struct {
		sent  []string // 10 ms apart, the first at 10 ms
		keep  bool     // the connection stays open
		end   time.Duration
		taken time.Duration
		marks bool // unclean
	}{
		"all":                  {[]string{delta(`"content":"a"`), finished, usage, endMark}, false, 40 * time.Millisecond, 50 * time.Millisecond, false},
		"kept open":            {[]string{delta(`"content":"a"`), finished, usage, endMark}, true, 40 * time.Millisecond, 40*time.Millisecond + endGrace, true},
		"no mark":              {[]string{delta(`"content":"a"`), finished, usage}, false, 30 * time.Millisecond, 40 * time.Millisecond, true},
		"no mark, kept open":   {[]string{delta(`"content":"a"`), finished, usage}, true, 30 * time.Millisecond, 30*time.Millisecond + finishGrace, true},
		"no counts, kept open": {[]string{delta(`"content":"a"`), finished}, true, 20 * time.Millisecond, 20*time.Millisecond + finishGrace, true},
		"comments, kept open":  {[]string{delta(`"content":"a"`), finished, ": hi\n\n"}, true, 20 * time.Millisecond, 20*time.Millisecond + finishGrace, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				clock := collect.NewClock()
				s := onPipe(ctx, clock, func(conn net.Conn) {
					io.WriteString(conn, okHead)
					for _, sent := range c.sent {
						time.Sleep(10 * time.Millisecond)
						io.WriteString(conn, sent)
					}
					time.Sleep(10 * time.Millisecond)
					if c.keep {
						<-ctx.Done()
					}
				})
				defer s.Close()
				var last collect.Arrival
				for a, err := range s.Arrivals() {
					if err != nil {
						t.Fatal(err)
					}
					last = a
				}
				if took := time.Duration(clock.Now()); time.Duration(last.T) != c.end || took != c.taken || last.UncleanEnd != c.marks {
					t.Errorf("the end is %v, known after %v, unclean %v", time.Duration(last.T), took, last.UncleanEnd)
				}
			})
		})
	}
}

// TestCancelled: at the very instant at which the context ends, the stream
// does, whatever it waits for; an answer that was complete by then stays one.
func TestCancelled(t *testing.T) {
	for name, c := range map[string]struct {
		sent string
		err  error
	}{
		"head":     {"", context.Canceled},
		"output":   {okHead + delta(`"content":"a"`), context.Canceled},
		"finished": {okHead + delta(`"content":"a"`) + finished, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(70*time.Millisecond, cancel)
				clock := collect.NewClock()
				s := onPipe(ctx, clock, func(conn net.Conn) {
					io.WriteString(conn, c.sent)
					<-ctx.Done()
				})
				defer s.Close()
				var last error
				reports := 0
				for a, err := range s.Arrivals() {
					if err != nil {
						last = err
					} else if a.Report != nil {
						reports++
					}
				}
				if last != c.err || reports != 1 || time.Duration(clock.Now()) != 70*time.Millisecond {
					t.Errorf("%v and %d reports after %v", last, reports, time.Duration(clock.Now()))
				}
			})
		})
	}
}

// TestTLSStream: streams run over TLS, as HTTP/1.1 even where the server
// would rather speak HTTP/2.
func TestTLSStream(t *testing.T) {
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("spoke %s", r.Proto)
		}
		io.WriteString(w, delta(`"content":"a"`)+finished+endMark)
	}))
	web.EnableHTTP2 = true
	web.StartTLS()
	defer web.Close()
	srv, err := newServer(Options{URL: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	srv.Roots = x509.NewCertPool()
	srv.Roots.AddCert(web.Certificate())
	e, err := (&Target{srv: srv, asked: "m", wish: wishes{stream: true}}).Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), collect.Call{MaxTokens: 2, Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for a, err := range s.Arrivals() {
		if err != nil {
			t.Fatal(err)
		}
		if a.Kind.Output() {
			n++
		}
		if a.Report != nil && a.Stamps != collect.StampUser {
			t.Errorf("stamped by %q", a.Stamps)
		}
	}
	if n != 1 {
		t.Errorf("%d outputs", n)
	}
}

// TestWhoStamps: over plain TCP it is the kernel where it can, which begins
// some time after it was told to.
func TestWhoStamps(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, delta(`"content":"a"`)+finished+endMark)
	}))
	defer web.Close()
	e, err := (&Target{srv: mustServer(t, web.URL), asked: "m", wish: wishes{stream: true}}).Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	want := collect.StampUser
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		want = collect.StampKernel
	}
	var got collect.StampSource
	for range 100 {
		s, err := e.Open(t.Context(), collect.Call{MaxTokens: 2, Stream: true})
		if err != nil {
			t.Fatal(err)
		}
		for a, err := range s.Arrivals() {
			if err != nil {
				t.Fatal(err)
			}
			got = a.Stamps // of the last one
		}
		s.Close()
		if got == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("stamped by %q, want %q", got, want)
}

func mustServer(t *testing.T, url string) server {
	t.Helper()
	srv, err := newServer(Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

// TestEarlyRefusal: a server that answers before it has read a long request,
// and closes, is heard.
func TestEarlyRefusal(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.ReadFull(c, make([]byte, 1024))
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\n{\"error\":\"prompt too long\"}")
		c.(*net.TCPConn).CloseWrite()
		time.Sleep(20 * time.Millisecond)
		io.Copy(io.Discard, c)
	}()
	srv, err := newServer(Options{URL: ln.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{srv: srv, clock: collect.NewClock(), url: srv.At("/chat/completions")}
	s, err := e.open(t.Context(), true, false, make([]byte, 8<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, err := range s.Arrivals() {
		var f *collect.Failure
		if err != nil && (!errors.As(err, &f) || f.Kind != collect.ErrHTTP || *f.HTTPStatus != 413) {
			t.Error(err)
		}
	}
}
