package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tokwatt/collect"
)

// maxHops bounds the redirects of one request.
const maxHops = 5

// ports are those of a URL that names none.
var ports = map[string]string{"http": "80", "https": "443"}

// port is the port that a URL leads to.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return ports[u.Scheme]
}

// SameOrigin reports whether two URLs lead to one server by one scheme (RFC
// 6454). What the user gave for one origin is for no other: another port may
// be another program, a name below a host another owner, and a step from
// https to http shows it to everybody on the way.
func SameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// headerFor are the headers of a request to u: keys and the user's own headers
// go to the origin that the user named, and nowhere else.
func (s *Server) headerFor(u *url.URL) http.Header {
	if SameOrigin(u, s.Base) {
		return s.header.Clone()
	}
	return http.Header{"User-Agent": s.header["User-Agent"]}
}

// redirect is where an answer to a GET sends, nil where it sends nowhere that
// can be gone to.
func redirect(h http.Header, status int, from *url.URL) *url.URL {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	return leads(h, from)
}

// leads is the header Location as a URL; nil where it is missing, or of a
// scheme other than HTTP's.
func leads(h http.Header, from *url.URL) *url.URL {
	to, err := from.Parse(h.Get("Location"))
	if h.Get("Location") == "" || err != nil || to.Host == "" || ports[to.Scheme] == "" {
		return nil
	}
	to.User, to.Fragment = nil, ""
	return to
}

// refusal makes a failure of an answer with a status that is none of success.
func (x *Exchange) refusal(resp *http.Response, body []byte) error {
	code := int64(resp.StatusCode)
	f := collect.Failf(collect.ErrHTTP, "the server answered %d", code)
	f.HTTPStatus = &code
	switch to := x.Redact(OneLine(shownAddress(resp.Header.Get("Location")))); {
	case code >= 400:
	case to == "":
		f.Message += ", a redirect that does not say where to"
	case x.hops == maxHops:
		f.Message = fmt.Sprintf("the server sends on and on, after %d redirects to %s", x.hops, Clip(to, MaxReason))
		return f
	default:
		f.Message += fmt.Sprintf(" and sends to %s, which a POST may not follow: give that address with --url", Clip(to, MaxReason))
		return f
	}
	if why := x.Redact(Reason(body)); why != "" {
		f.Message += ": " + why
	}
	if (code == http.StatusUnauthorized || code == http.StatusForbidden) && !SameOrigin(x.msg.URL, x.srv.Base) {
		f.Message += fmt.Sprintf(" (after a redirect to %s, to which keys are not sent: give that address with --url)", x.msg.URL.Host)
	}
	f.RetryAfter = retryAfter(resp.Header)
	return f
}

// astray is the failure of a request that was sent on to a place where nobody
// can be reached. It is the answer of a living server, so it is no failure to
// connect.
func astray(to *url.URL, err error) error {
	why := collect.AsFailure(err, collect.ErrConnect).Message
	return collect.Failf(collect.ErrHTTP, "the server sends to %s, which can't be reached (%s)", Clip(shownURL(to), MaxReason), why)
}
