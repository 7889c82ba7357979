package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tokwatt/collect"
)

// MaxReason is how much of a server's words an error carries, in code points.
const MaxReason = 300

// Reason is why a server refuses, from the body of its answer.
func Reason(raw []byte) string {
	if why := errorText(raw); why != "" {
		return why
	}
	return Plain(raw)
}

// retryAfter is the header in seconds; it may be a number or a date.
func retryAfter(h http.Header) *float64 {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 {
		return &s
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return nil
	}
	now, err := http.ParseTime(h.Get("Date")) // the server's clock, as the date is
	if err != nil {
		now = time.Now()
	}
	s := max(0, at.Sub(now).Seconds())
	return &s
}

// Nonsense is the failure of a body that is no answer of an API.
func Nonsense(data []byte) error {
	if len(data) > 1 && data[0] == 0x1f && data[1] == 0x8b {
		return collect.Failf(collect.ErrProtocol, "the answer is gzip without a Content-Encoding header that says so")
	}
	return collect.Failf(collect.ErrProtocol, "the answer is no JSON and no event stream: %s", Plain(data))
}

// errorText finds the message in the error bodies that servers write: error as
// an object or a string, detail as a string or FastAPI's list, a bare message.
// Empty where the body is of no such form.
func errorText(raw []byte) string {
	var body struct {
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(raw, &body) != nil && body.Error == nil && body.Detail == nil {
		return ""
	}
	for _, part := range []json.RawMessage{body.Error, body.Detail} {
		if m := told(part); m != "" {
			return m
		}
	}
	return Tidy(body.Message)
}

// told reads one error value.
func told(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return Tidy(text)
	}
	var object struct {
		Message, Msg, Type string
		Error              json.RawMessage
		Loc                []any
	}
	if raw[0] == '{' {
		_ = json.Unmarshal(raw, &object) // fields of odd types are not told
		m := cmp.Or(object.Message, object.Msg, told(object.Error), object.Type)
		if len(object.Loc) > 0 {
			m = location(object.Loc) + ": " + m
		}
		return Tidy(m)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // neither text nor object nor list: no words
	var all []string
	for _, one := range list {
		all = append(all, told(one))
	}
	if all == nil {
		return Tidy(string(raw))
	}
	return Clip(strings.Join(all, "; "), MaxReason)
}

// location names the field that FastAPI complains about.
func location(loc []any) string {
	var parts []string
	for _, l := range loc {
		parts = append(parts, fmt.Sprint(l))
	}
	return strings.Join(parts, ".")
}

var (
	hidden = regexp.MustCompile(`(?is)<(script|style|head)\b.*?</(script|style|head)>`)
	title  = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	tag    = regexp.MustCompile(`(?s)<[^>]*>`)
	// A stack frame, and paths below folders that only a machine has. Paths of
	// URLs are left alone: they help.
	frame = regexp.MustCompile(`File "[^"]*", line \d+(, in \S+)?`)
	local = regexp.MustCompile(`(?:[A-Za-z]:\\[\w .\\+-]+|/(?:Users|home|root|opt|usr|var|tmp|private|mnt|data|srv|work|workspace|app|content|Volumes|Library)(?:/[\w.@+-]+)+)`)
)

// Plain is the text of a body of any form: tags dropped, one line, not long.
func Plain(raw []byte) string {
	text := string(raw)
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		head := title.FindStringSubmatch(text)
		text = tag.ReplaceAllString(hidden.ReplaceAllString(text, " "), " ")
		if strings.TrimSpace(text) == "" && head != nil {
			text = head[1]
		}
	}
	return Tidy(text)
}

// Tidy makes a server's words fit for a row: one line, no paths of its
// machine, not long.
func Tidy(text string) string {
	text = frame.ReplaceAllString(text, "")
	text = local.ReplaceAllStringFunc(text, func(p string) string {
		return path.Base(strings.ReplaceAll(p, `\`, "/"))
	})
	return Clip(OneLine(text), MaxReason)
}

// OneLine joins lines and drops what can't be shown, and what is not seen but
// changes how the rest is: marks of direction, joiners, tags.
func OneLine(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Clip cuts a text to n code points.
func Clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
