package script

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server plays a script on a port of its own.
type Server struct {
	script Script
	ln     net.Listener
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	log   []*Exchange
	posts int
	done  chan struct{}
}

// Exchange is what happened to one request.
type Exchange struct {
	Request
	Status int
	HeadAt time.Time       // the head of the request was there: the schedule's zero
	Sent   []time.Duration // just before the write of each piece, from HeadAt
	Broken bool            // the client went away before the end
}

// Listen starts to play s on addr; "127.0.0.1:0" takes a free port.
func Listen(addr string, s Script) (*Server, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("the scripted server can't listen on %s: %w", addr, err)
	}
	srv := &Server{script: s, ln: ln, conns: map[net.Conn]bool{}, done: make(chan struct{})}
	srv.wg.Go(srv.accept)
	return srv, nil
}

// URL is the address of the server, without a path.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() }

// Close ends all connections and waits for them.
func (s *Server) Close() error {
	err := s.ln.Close()
	s.mu.Lock()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

// Log is what has been answered so far, in order of arrival; requests that
// are still answered are among it, with what was sent of them.
func (s *Server) Log() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Exchange, len(s.log))
	for i, x := range s.log {
		out[i] = *x
		out[i].Sent = slices.Clone(x.Sent)
	}
	return out
}

// Connections is the number of open connections.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Go(func() {
			s.serve(c)
			c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// serve answers the requests of one connection.
func (s *Server) serve(c net.Conn) {
	in, age := s.script.arrivals(c)
	br := bufio.NewReader(in)
	for {
		r, at, err := readRequest(br, c, age)
		if err != nil {
			return
		}
		x := &Exchange{Request: r, HeadAt: at}
		a, scripted := s.choose(&x.Request)
		x.Status = cmp.Or(a.Status, 200)
		s.mu.Lock()
		x.Sent = make([]time.Duration, 0, len(a.Pieces)) // nothing grows between a stamp and its write
		s.log = append(s.log, x)
		s.mu.Unlock()
		if scripted || !a.has("Content-Length") {
			s.perform(c, br, a, x)
			return
		}
		if !s.play(c, a, x, nil) {
			return
		}
	}
}

// choose is the answer to a request; scripted, where it is one of the
// script's own, which ends the connection.
func (s *Server) choose(r *Request) (a Answer, scripted bool) {
	sc := &s.script
	switch {
	case sc.RequireAuth != "" && r.Header["authorization"] != sc.RequireAuth:
		return small(401, []byte(`{"error":{"message":"missing or wrong API key"}}`)), false
	case r.Method != "POST" || strings.HasSuffix(r.Path, "/api/show"):
		return sc.plausible(r), false
	case sc.Redirect != nil && r.Path == sc.Redirect.From:
		a = small(sc.Redirect.Status, nil)
		if a.Status == 0 {
			a.Status = 307
		}
		a.Headers = append(a.Headers, Header{"Location", sc.Redirect.To})
		return a, false
	case sc.OnlyPath != "" && r.Path != sc.OnlyPath:
		return small(404, fmt.Appendf(nil, `{"error":{"message":"no route %s"}}`, r.Path)), false
	}
	if f := sc.rejected(*r); f != "" {
		a = small(sc.RejectStatus, fmt.Appendf(nil, `{"error":{"message":"unknown field: %s","type":"extra_forbidden"}}`, f))
		if a.Status == 0 {
			a.Status = 400
		}
		return a, false
	}
	if sc.PoliteProbes && r.MaxTokens() == 1 {
		return polite(*r), false
	}
	s.mu.Lock()
	r.N = s.posts
	s.posts++
	s.mu.Unlock()
	return sc.answer(*r).filled(*r), true
}

// perform plays a scripted answer, which is the last of its connection, and
// gives up when the client goes away.
func (s *Server) perform(c net.Conn, br *bufio.Reader, a Answer, x *Exchange) {
	gone := make(chan struct{})
	s.wg.Go(func() {
		defer close(gone)
		for {
			if _, err := br.Discard(1); err != nil {
				return
			}
		}
	})
	if s.play(c, a, x, gone) {
		s.end(c, a, gone)
	}
}

// play sends an answer on its schedule; false where the connection is over.
func (s *Server) play(c net.Conn, a Answer, x *Exchange, gone chan struct{}) bool {
	if !s.wait(x.HeadAt, a.HeadAt, gone) {
		return s.broken(x)
	}
	if _, err := c.Write(a.head()); err != nil {
		return s.broken(x)
	}
	for _, p := range a.Pieces {
		framed := a.frame(p.Data)
		if !s.wait(x.HeadAt, p.At, gone) {
			return s.broken(x)
		}
		s.mu.Lock()
		x.Sent = append(x.Sent, time.Since(x.HeadAt))
		s.mu.Unlock()
		if _, err := c.Write(framed); err != nil {
			return s.broken(x)
		}
	}
	return a.EndAt == 0 || s.wait(x.HeadAt, a.EndAt, gone)
}

// end finishes an answer.
func (s *Server) end(c net.Conn, a Answer, gone chan struct{}) {
	tcp := c.(*net.TCPConn)
	switch a.End {
	case EndReset:
		tcp.SetLinger(0) // the close that follows sends RST
		return
	case EndHang:
		if !s.wait(time.Now(), hang, gone) {
			return
		}
	case EndClose:
		if a.framing() == FramingChunked {
			c.Write([]byte("0\r\n\r\n"))
		}
	}
	tcp.CloseWrite()
	// The peer reads first: a close with unread input would send RST.
	s.wait(time.Now(), 2*time.Second, gone)
}

func (s *Server) broken(x *Exchange) bool {
	s.mu.Lock()
	x.Broken = true
	s.mu.Unlock()
	return false
}

// wait sleeps until d after zero; false when the client goes away before, or
// the server closes.
func (s *Server) wait(zero time.Time, d time.Duration, gone chan struct{}) bool {
	left := time.Until(zero.Add(d))
	if left <= 0 {
		return true
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-gone:
	case <-s.done:
	}
	return false
}

// small is an answer at once.
func small(status int, body []byte) Answer {
	return Answer{Status: status, Framing: FramingAsIs, Headers: []Header{
		{"Content-Type", "application/json"}, {"Content-Length", strconv.Itoa(len(body))}},
		Pieces: []Piece{{Data: body}}}
}
