package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is the bench endpoint over one model.
type Server struct {
	opts    Options
	card    card
	context int    // tokens
	node    string // the id of this machine
	runner  *runner
	cluster cluster
	log     *journal
	reading chan struct{} // holds one element a body that is read

	life context.Context
	end  context.CancelFunc

	mu   sync.Mutex
	live map[string]*call // by id
}

// New loads the model. ctx bounds the wait for that, and the server's life.
func New(ctx context.Context, o Options) (*Server, error) {
	card, err := newCard(o.Load, o.Name, o.Encode != nil)
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts: o, card: card, context: card.context(), node: nodeID(o.Node.Name), reading: make(chan struct{}, MaxBatch), live: map[string]*call{},
		log: &journal{w: o.Log, notify: o.notify},
	}
	s.life, s.end = context.WithCancel(ctx)
	s.runner = newRunner(s.life, o.Load)
	if _, err := s.runner.start(); err != nil {
		s.end()
		return nil, fmt.Errorf("%s: %w", card.id(), err)
	}
	if _, err := s.instance(true); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	go s.runner.work()
	return s, nil
}

// nodeID is an id like exo's that stays the same: a name's hash.
func nodeID(name string) string {
	sum := sha256.Sum256([]byte("tokwatt node " + name))
	return hex.EncodeToString(sum[:16])
}

// Model is the model's id.
func (s *Server) Model() string { return s.card.id() }

// lastWords is how long the handlers have to tell their clients that the
// server ends.
const lastWords = 300 * time.Millisecond

// Serve answers on a listener until ctx, or the server, ends. Requests that
// still run are told. It takes under a second; nil is a clean end.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: forgetAfter, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // what clients do wrong on the wire is theirs
	}
	over := make(chan error, 1)
	go func() { over <- srv.Serve(limited(ln, maxConnections)) }()
	select {
	case err := <-over:
		return errors.Join(err, s.Close())
	case <-ctx.Done():
	case <-s.life.Done():
	}
	s.hush()
	bye, stop := context.WithTimeout(context.Background(), lastWords)
	defer stop()
	if srv.Shutdown(bye) != nil { // somebody does not listen
		_ = srv.Close()
	}
	return s.Close()
}

// hush ends all calls, and lets in no more.
func (s *Server) hush() {
	s.runner.queue.close()
	for _, c := range s.calls() {
		s.runner.end(c, closing)
	}
}

// Close ends what runs, and the worker.
func (s *Server) Close() error {
	s.hush()
	s.end()
	s.runner.stop(func() bool { return false })
	return nil
}

func (s *Server) remember(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[c.id] = c
}

// forget lets a call go; one that still runs is ended.
func (s *Server) forget(c *call) {
	s.runner.end(c, left)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, c.id)
}

// calls are those that wait or run.
func (s *Server) calls() []*call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.live))
}

// asFault is an error as it is answered.
func asFault(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	return faultf(http.StatusInternalServerError, "%v", err)
}

// Loopback reports whether an address, with or without a port, is one of this
// machine only.
func Loopback(addr string) bool {
	host := addr
	if h, _, err := net.SplitHostPort(addr); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// limited accepts so many connections at once and lets the others wait.
func limited(ln net.Listener, most int) net.Listener {
	return &limitedListener{Listener: ln, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: c, done: func() { <-l.slots }}, nil
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	once sync.Once
	done func()
}

func (c *limitedConn) Close() error {
	defer c.once.Do(c.done)
	return c.Conn.Close()
}
