package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"

	"tokwatt/collect"
)

// dialTimeout bounds the connection and the TLS handshake.
const dialTimeout = 30 * time.Second

// dial opens a connection to the host of u, the TLS handshake included. The
// error is a *collect.Failure or the context's.
func (s *Server) dial(ctx context.Context, u *url.URL) (net.Conn, error) {
	dial := s.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port(u)))
	if err != nil {
		return nil, s.unreachable(ctx, u, err)
	}
	if u.Scheme != "https" {
		return conn, nil
	}
	// HTTP/2 would put all streams of a batch on shared flow control.
	secure := tls.Client(conn, &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}, RootCAs: s.Roots})
	shake, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := secure.HandshakeContext(shake); err != nil {
		conn.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, collect.Failf(collect.ErrTLS, "no TLS connection to %s: %s", u.Host, reason(err))
	}
	return secure, nil
}

// dialFor is dial for an http.Transport, so that control requests and streams
// fail alike.
func (s *Server) dialFor(scheme string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		return s.dial(ctx, &url.URL{Scheme: scheme, Host: addr})
	}
}

// unreachable says why there is no connection to u.
func (s *Server) unreachable(ctx context.Context, u *url.URL, err error) error {
	var f *collect.Failure
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &f):
		return f
	}
	return collect.Failf(collect.ErrConnect, "no connection to %s: %s", u.Host, reason(err))
}

// reason is the innermost cause that means something to a user.
func reason(err error) string {
	var dns *net.DNSError
	var sys syscall.Errno
	switch {
	case errors.As(err, &dns):
		return "the host name " + dns.Name + " can't be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there; start the server or give its address with --url"
	case errors.As(err, &sys):
		return sys.Error()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return OneLine(err.Error())
}
