package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"tokwatt/collect"
)

// TestRefusal: each error body that servers write becomes one sentence that
// keeps their reason and none of their machine.
func TestRefusal(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"error":{"message":"slow down","type":"rate_limit_error"}}`, "slow down"},
		{`{"error":"no model id could be identified","src":"swap"}`, "no model id could be identified"},
		{`{"error":{"error":{"message":"inner"}}}`, "inner"},
		{`{"error":{"type":"overloaded"}}`, "overloaded"},
		{`{"message":"plain"}`, "plain"},
		{`{"detail":"Not Found"}`, "Not Found"},
		{`{"detail":[{"type":"extra_forbidden","loc":["body","ignore_eos"],"msg":"Extra inputs are not permitted"},{"loc":["body",0],"msg":"bad"}]}`,
			"body.ignore_eos: Extra inputs are not permitted; body.0: bad"},
		{"APP PATH NOT REGISTERED\n", "APP PATH NOT REGISTERED"},
		{"<html>\n<head><title>502 Bad Gateway</title></head>\n<body><h1>502 Bad Gateway</h1><hr>nginx</body></html>", "502 Bad Gateway nginx"},
		{"<html><head><title>Gone</title><style>b{}</style></head><body></body></html>", "Gone"},
		{`{"error":"Cannot open /home/me/models/x.gguf for POST /v1/chat/completions"}`, "Cannot open x.gguf for POST /v1/chat/completions"},
		{`{"error":{"message":"1 error:\n  bad\n  File \"/srv/env/lib/python3.12/app.py\", line 376, in create\n    POST /v1/x"}}`, "1 error: bad POST /v1/x"},
		{`{"error":"at C:\\models\\x.gguf"}`, "at x.gguf"},
		{"", ""},
		{"\x00\xff", ""},
		{strings.Repeat("é", 1000), strings.Repeat("é", 299) + "…"},
	} {
		resp := &http.Response{StatusCode: 500, Header: http.Header{}}
		err := atHome().refusal(resp, []byte(c.body))
		f := collect.AsFailure(err, "none")
		want := "the server answered 500"
		if c.want != "" {
			want += ": " + c.want
		}
		if f.Kind != collect.ErrHTTP || f.Message != want || *f.HTTPStatus != 500 {
			t.Errorf("%.60q gives %q, want %q", c.body, f.Message, want)
		}
	}
}

func TestRefusedRedirect(t *testing.T) {
	resp := &http.Response{StatusCode: 301, Header: http.Header{"Location": {"https://h/v1/chat/completions"}}}
	f := collect.AsFailure(atHome().refusal(resp, nil), "none")
	if f.Kind != collect.ErrHTTP || !strings.Contains(f.Message, "https://h/") || !strings.Contains(f.Message, "--url") {
		t.Errorf("%v", f)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct{ after, date, want string }{
		{"1", "", "1"}, {"0", "", "0"}, {"2.5", "", "2.5"}, {"", "", "nil"}, {"soon", "", "nil"}, {"-1", "", "nil"},
		{"Sun, 29 Nov 2026 21:16:45 GMT", "Sun, 29 Nov 2026 21:16:15 GMT", "30"},
		{"Sun, 29 Nov 2026 21:16:00 GMT", "Sun, 29 Nov 2026 21:16:15 GMT", "0"},
	} {
		got := "nil"
		if s := retryAfter(http.Header{"Retry-After": {c.after}, "Date": {c.date}}); s != nil {
			got = fmt.Sprint(*s)
		}
		if got != c.want {
			t.Errorf("%q gives %s, want %s", c.after, got, c.want)
		}
	}
}

// atHome is an exchange that no redirect has moved.
func atHome() *Exchange {
	u := &url.URL{Scheme: "http", Host: "h"}
	return &Exchange{srv: &Server{Base: u}, msg: Message{URL: u}}
}
