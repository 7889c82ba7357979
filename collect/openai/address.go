package openai

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"tokwatt/collect"
)

// bodyLimit bounds what is read of an answer to a control request, in bytes.
const bodyLimit = 4 << 20

// controlTimeout bounds a GET. A busy single-threaded server answers late.
const controlTimeout = 30 * time.Second

// server is one address and what goes out with every request to it.
type server struct {
	base   *url.URL // ends in /v1 or another version; no user, keeps its query
	header http.Header
	client *http.Client
	roots  *x509.CertPool // nil: the system's
}

// newServer reads the options; the API key is taken from the environment here
// and lives in the header only.
func newServer(o Options) (*server, error) {
	base, err := parseBase(o.URL)
	if err != nil {
		return nil, err
	}
	h := http.Header{"User-Agent": {"tokwatt"}}
	if u := base.User; u != nil {
		pass, _ := u.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+pass)))
		base.User = nil
	}
	for k, v := range o.Headers {
		h.Set(k, v)
	}
	if o.APIKeyEnv != "" {
		key := os.Getenv(o.APIKeyEnv)
		if key == "" {
			return nil, fmt.Errorf("the environment variable %s is not set: put the API key into it", o.APIKeyEnv)
		}
		h.Set("Authorization", "Bearer "+key)
	}
	s := &server{base: base, header: h}
	// A kept connection would block a single-threaded server for the streams
	// that are measured.
	tr := &http.Transport{DisableKeepAlives: true, DialContext: s.dialFor("http"), DialTLSContext: s.dialFor("https")}
	tr.MaxResponseHeaderBytes = maxHead
	// get follows redirects itself, so that no key goes astray.
	s.client = &http.Client{Transport: tr, Timeout: controlTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, nil
}

var version = regexp.MustCompile(`/v[0-9]+$`)

// parseBase turns what users give into the URL that paths are joined to:
// http where no scheme is given, /v1 where no version ends the path.
func parseBase(raw string) (*url.URL, error) {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL of a server: give one like http://127.0.0.1:8080", raw)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q: the scheme must be http or https", raw)
	}
	p := strings.TrimRight(u.Path, "/")
	for _, tail := range []string{"/chat/completions", "/completions", "/models"} {
		p = strings.TrimSuffix(p, tail)
	}
	if !version.MatchString(p) {
		p += "/v1"
	}
	u.Path, u.RawPath, u.Fragment = p, "", ""
	return u, nil
}

// endpoint is the base for people and the store: without user and query.
func (s *server) endpoint() string {
	u := url.URL{Scheme: s.base.Scheme, Host: s.base.Host, Path: s.base.Path}
	return u.String()
}

// at is the URL of a path under the base.
func (s *server) at(p string) *url.URL {
	u := *s.base
	u.Path += p
	return &u
}

// atRoot is the URL of a path beside the version: llama.cpp's /props and
// everybody's /health live there.
func (s *server) atRoot(p string) *url.URL {
	u := *s.base
	u.Path = path.Dir(u.Path)
	u.Path = strings.TrimRight(u.Path, "/") + p
	return &u
}

// reply is an answer to a control request.
type reply struct {
	status int
	header http.Header
	body   []byte
	url    *url.URL // that gave it, after redirects
}

// get asks, and follows redirects as far as they lead; any answer of HTTP is
// an answer, whatever its status. The error is a *collect.Failure or the
// context's.
func (s *server) get(ctx context.Context, u *url.URL) (reply, error) {
	r, err := s.getOnce(ctx, u)
	for hop := 0; err == nil && hop < maxHops; hop++ {
		to := redirect(r.header, r.status, r.url)
		if to == nil {
			break
		}
		next, bad := s.getOnce(ctx, to)
		if bad != nil {
			break // the redirect is the answer
		}
		r = next
	}
	if ctx.Err() != nil {
		return reply{}, ctx.Err()
	}
	return r, err
}

func (s *server) getOnce(ctx context.Context, u *url.URL) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return reply{}, collect.Failf(collect.ErrProtocol, "%s is no address", u.Redacted())
	}
	req.Header = s.headerFor(u)
	resp, err := s.client.Do(req)
	if err != nil {
		return reply{}, s.unreachable(ctx, u, err)
	}
	defer resp.Body.Close()
	// A body that breaks off is as good as an empty one: the server is alive.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, bodyLimit))
	return reply{resp.StatusCode, resp.Header, body, u}, nil
}
