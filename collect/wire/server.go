package wire

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// Options say where a server is and what goes out with every request to it.
type Options struct {
	URL string // http where no scheme is given
	// APIKeyEnv names the environment variable that holds the API key. The
	// key goes out with every request and is never stored or printed.
	APIKeyEnv string
	Headers   map[string]string
	// Timeout bounds a control request; default 30 s: a busy single-threaded
	// server answers late.
	Timeout time.Duration
}

// ControlTimeout is the default of Options.Timeout.
const ControlTimeout = 30 * time.Second

// Server is one address and what goes out with every request to it.
type Server struct {
	Base    *url.URL       // no user; its path ends in no slash; keeps its query
	Roots   *x509.CertPool // nil: the system's
	header  http.Header
	secrets secrets // of what goes out
	client  *http.Client
	// Dial opens the connections; nil: TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// New reads the options. The API key is taken from the environment here and
// lives in the header only.
func New(o Options) (*Server, error) {
	base, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	h := http.Header{"User-Agent": {"tokwatt"}}
	var hush secrets
	hush.query(base)
	if u := base.User; u != nil {
		pass, _ := u.Password()
		hush.add(u.Username())
		hush.add(pass)
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+pass)))
		base.User = nil
	}
	for k, v := range o.Headers {
		h.Set(k, v)
		hush.header(v)
	}
	if o.APIKeyEnv != "" {
		key := os.Getenv(o.APIKeyEnv)
		if key == "" {
			return nil, fmt.Errorf("the environment variable %s is not set: put the API key into it", o.APIKeyEnv)
		}
		h.Set("Authorization", "Bearer "+key)
	}
	hush.header(h.Get("Authorization"))
	s := &Server{Base: base, header: h, secrets: hush}
	// A kept connection would block a single-threaded server for the streams
	// that are measured.
	tr := &http.Transport{DisableKeepAlives: true, DialContext: s.dialFor("http"), DialTLSContext: s.dialFor("https")}
	tr.MaxResponseHeaderBytes = maxHead
	// Redirects are followed by hand, so that no key goes astray.
	s.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.Limit(o.Timeout)
	return s, nil
}

// Limit bounds control requests; 0 is the default.
func (s *Server) Limit(d time.Duration) {
	if d <= 0 {
		d = ControlTimeout
	}
	s.client.Timeout = d
}

func parse(raw string) (*url.URL, error) {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s is no URL of a server: give one like http://127.0.0.1:8080", sayable(raw))
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: the scheme must be http or https", sayable(raw))
	}
	u.Path, u.RawPath, u.Fragment = strings.TrimRight(u.Path, "/"), "", ""
	return u, nil
}

// sayable is an address that is no URL, without what may be secret in it: of
// one with a user nobody knows where the password ends.
func sayable(raw string) string {
	if strings.Contains(raw, "@") {
		return "the address given (not shown, it names a user)"
	}
	raw, _, _ = strings.Cut(raw, "#")
	raw, _, _ = strings.Cut(raw, "?")
	return strconv.Quote(raw)
}

// Endpoint is the base for people and the store: without user and query.
func (s *Server) Endpoint() string {
	u := url.URL{Scheme: s.Base.Scheme, Host: s.Base.Host, Path: s.Base.Path}
	return u.String()
}

// At is the URL of a path under the base.
func (s *Server) At(p string) *url.URL {
	u := *s.Base
	u.Path += p
	return &u
}

// Beside is the URL of a path beside the last part of the base's path:
// /health beside /v1.
func (s *Server) Beside(p string) *url.URL {
	u := *s.Base
	u.Path = path.Dir(u.Path)
	u.Path = strings.TrimRight(u.Path, "/.") + p
	return &u
}
