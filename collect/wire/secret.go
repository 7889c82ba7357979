package wire

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tokwatt/collect"
)

// Redacted stands for what is secret in a text.
const Redacted = "[hidden]"

// leastSecret is the shortest text that is taken for a secret, in bytes: a
// shorter one is in every other sentence.
const leastSecret = 4

// secrets are the texts that went out to a server and must not come back into
// a store or onto a screen, the longest first: a server may repeat what it was
// sent, in an error for instance.
type secrets []string

// add takes a secret in the forms in which a server may repeat it.
func (s *secrets) add(text string) {
	quoted, _ := json.Marshal(text) // a string always can be
	for _, form := range []string{text, url.QueryEscape(text), url.PathEscape(text), strings.Trim(string(quoted), `"`)} {
		if len(form) >= leastSecret && !slices.Contains(*s, form) {
			*s = append(*s, form)
		}
	}
	slices.SortStableFunc(*s, func(a, b string) int { return len(b) - len(a) })
}

// header takes the value of a header, and behind a scheme, as in "Bearer key",
// what follows that.
func (s *secrets) header(value string) {
	s.add(value)
	if _, rest, ok := strings.Cut(value, " "); ok {
		s.add(rest)
	}
}

// query takes the values of a URL's query.
func (s *secrets) query(u *url.URL) {
	for _, values := range u.Query() {
		for _, v := range values {
			s.add(v)
		}
	}
}

// Redact hides in a server's words what went out to it and is nobody else's:
// the key, the user's own headers, the user and the query of the URL. Of one
// that a cut text ends with, the beginning is hidden too.
func (s *Server) Redact(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, Redacted)
	}
	if len(s.secrets) == 0 || !strings.Contains(text, "…") {
		return text
	}
	for n := len(s.secrets[0]) - 1; n >= leastSecret; n-- {
		for _, secret := range s.secrets {
			if n < len(secret) {
				text = strings.ReplaceAll(text, secret[:n]+"…", Redacted+"…")
			}
		}
	}
	return text
}

// Redact is Server.Redact.
func (x *Exchange) Redact(text string) string { return x.srv.Redact(text) }

// reasons are those for which answers end as they should: they are read.
var reasons = []string{"stop", "length"}

// value is a string in JSON that is no key.
var value = regexp.MustCompile(`([:\[,]\s*)("(?:[^"\\]|\\.)*")`)

// Own hides the same in what a server says of itself at the end of an answer.
// Keys and numbers of its statistics stay as they came.
func (x *Exchange) Own(r *collect.Report) {
	if r == nil || len(x.srv.secrets) == 0 {
		return
	}
	if !slices.Contains(reasons, r.FinishReason) {
		r.FinishReason = x.Redact(r.FinishReason)
	}
	r.JSON = value.ReplaceAllStringFunc(r.JSON, x.Redact)
}

// shownURL is an address as it may be shown: without user, query and fragment.
func shownURL(u *url.URL) string {
	bare := *u
	bare.User, bare.RawQuery, bare.ForceQuery, bare.Fragment, bare.RawFragment = nil, "", false, "", ""
	return bare.String()
}

// userinfo is what stands before the host in an address, as far as it can be
// told in one that is none.
var userinfo = regexp.MustCompile(`^([A-Za-z][\w+.-]*://|//)?[^/]*@`)

// shownAddress is shownURL of a text that may be no URL.
func shownAddress(text string) string {
	if u, err := url.Parse(text); err == nil && (u.Host != "" || u.Opaque == "" && u.Scheme == "") {
		return shownURL(u)
	}
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		text = text[:i]
	}
	return userinfo.ReplaceAllString(text, "$1")
}
