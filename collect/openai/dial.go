package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"tokwatt/collect"
)

// dialTimeout bounds the connection and the TLS handshake.
const dialTimeout = 30 * time.Second

// dial opens a connection to the host of u, the TLS handshake included. The
// error is a *collect.Failure or the context's.
func (s *server) dial(ctx context.Context, u *url.URL) (net.Conn, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, s.unreachable(ctx, err)
	}
	if u.Scheme != "https" {
		return conn, nil
	}
	// HTTP/2 would put all streams of a batch on shared flow control.
	secure := tls.Client(conn, &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}})
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

// unreachable says why there is no connection.
func (s *server) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if isTLS(err) {
		return collect.Failf(collect.ErrTLS, "no TLS connection to %s: %s", s.base.Host, reason(err))
	}
	return collect.Failf(collect.ErrConnect, "no connection to %s: %s", s.base.Host, reason(err))
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var host x509.HostnameError
	var alert tls.AlertError
	return errors.As(err, &record) || errors.As(err, &cert) || errors.As(err, &host) || errors.As(err, &alert) ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// reason is the innermost cause that means something to a user.
func reason(err error) string {
	var dns *net.DNSError
	var sys syscall.Errno
	switch {
	case errors.As(err, &dns):
		return "the host name " + dns.Name + " can't be resolved"
	case errors.As(err, &sys):
		return sys.Error()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return oneLine(err.Error())
}
