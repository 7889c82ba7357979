package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"tokwatt/collect"
)

// bodyLimit bounds what is read of an answer to a control request, in bytes.
const bodyLimit = 64 << 20

// Reply is an answer to a control request.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	URL    *url.URL // that gave it, after redirects
	srv    *Server
}

// Get asks, and follows redirects as far as they lead; any answer of HTTP is
// an answer, whatever its status. The error is a *collect.Failure or the
// context's.
func (s *Server) Get(ctx context.Context, u *url.URL) (Reply, error) {
	r, err := s.once(ctx, http.MethodGet, u, nil)
	for hop := 0; err == nil && hop < maxHops; hop++ {
		to := redirect(r.Header, r.Status, r.URL)
		if to == nil {
			break
		}
		next, bad := s.once(ctx, http.MethodGet, to, nil)
		if bad != nil {
			break // the redirect is the answer
		}
		r = next
	}
	if ctx.Err() != nil {
		return Reply{}, ctx.Err()
	}
	return r, err
}

// Do sends a control request that may change something, with a body as JSON
// where there is one; a json.RawMessage goes out byte for byte. It follows no
// redirect. Any answer of HTTP is an answer.
func (s *Server) Do(ctx context.Context, method string, u *url.URL, body any) (Reply, error) {
	raw, asIs := body.(json.RawMessage)
	if body != nil && !asIs {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return Reply{}, err
		}
	}
	r, err := s.once(ctx, method, u, raw)
	if ctx.Err() != nil {
		return Reply{}, ctx.Err()
	}
	return r, err
}

func (s *Server) once(ctx context.Context, method string, u *url.URL, body []byte) (Reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return Reply{}, collect.Failf(collect.ErrProtocol, "%s is no address", shownURL(u))
	}
	req.Header = s.headerFor(u)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return Reply{}, s.unreachable(ctx, u, err)
	}
	defer resp.Body.Close()
	// A body that breaks off is as good as an empty one: the server is alive.
	got, _ := io.ReadAll(io.LimitReader(resp.Body, bodyLimit))
	return Reply{resp.StatusCode, resp.Header, got, u, s}, nil
}

// Failure makes a failure of an answer that is none of success: what the
// server says of it, with the status.
func (r Reply) Failure() *collect.Failure {
	code := int64(r.Status)
	f := collect.Failf(collect.ErrHTTP, "the server answered %d", code)
	f.HTTPStatus = &code
	if why := Reason(r.Body); why != "" {
		if r.srv != nil {
			why = r.srv.Redact(why)
		}
		f.Message += ": " + why
	}
	f.RetryAfter = retryAfter(r.Header)
	return f
}
