package wire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"tokwatt/collect"
)

// sent are the secrets of a server with all of them.
var sent = []string{"key-SEKRIT+/1", "bWU6cGFzcy1TRUtSSVQ=", "pass-SEKRIT", "header SEKRIT&", "query/SEKRIT", "team-SEKRIT"}

// guarded is a server with all kinds of secrets, and a second one whose header
// Authorization is made of the URL's user.
func guarded(t *testing.T, host string) (byKey, byUser *Server) {
	t.Helper()
	t.Setenv("TOKWATT_TEST_KEY", sent[0])
	o := Options{URL: "http://me:pass-SEKRIT@" + host + "/v1?token=query%2FSEKRIT&n=1", Headers: map[string]string{"X-A": sent[3], "X-B": "Token " + sent[5], "X-C": "abc"}}
	byUser, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	o.APIKeyEnv = "TOKWATT_TEST_KEY"
	if byKey, err = New(o); err != nil {
		t.Fatal(err)
	}
	return byKey, byUser
}

// TestRedact: no secret survives, in whatever form it is repeated, cut at
// whatever place; what is none does.
func TestRedact(t *testing.T) {
	byKey, byUser := guarded(t, "h")
	for i, secret := range sent {
		s := byKey
		if i == 1 {
			s = byUser
		}
		var forms secrets
		forms.add(secret)
		for _, form := range append(forms, "Bearer "+secret) {
			for _, text := range []string{form, "bad " + form + ", take another", `{"error":"` + form + `"}`, form + form} {
				got := s.Redact(text)
				if strings.Contains(got, form) || strings.Contains(got, "SEKRIT") || !strings.Contains(got, Redacted) {
					t.Errorf("%q shows %q", text, got)
				}
			}
		}
		long := strings.Repeat("x ", 145) + secret
		for n := range MaxReason {
			if got := s.Redact(Clip(Clip(long, n+2)+" more of it", MaxReason)); strings.Contains(got, secret[:leastSecret]) {
				t.Errorf("cut at %d: %q", n, got)
			}
		}
	}
	for _, text := range []string{"", "abc", "me", "the server answered 401", "tokwatt", "…", "is it …"} {
		if got := byKey.Redact(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// TestServersRepeat: what a server repeats of what it was sent is in none of
// the errors that are made of its answers.
func TestServersRepeat(t *testing.T) {
	for _, status := range []int{301, 307, 400, 401, 403, 500} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://you:pass-SEKRIT@127.0.0.1:1/x?back=SEKRIT#SEKRIT")
			w.WriteHeader(status)
			w.Write([]byte(`{"error":{"message":"bad ` + r.Header.Get("Authorization") + " " + r.Header.Get("X-A") + " " + r.URL.RawQuery + `"}}`))
		}))
		byKey, byUser := guarded(t, strings.TrimPrefix(srv.URL, "http://"))
		for _, s := range []*Server{byKey, byUser} {
			r, err := s.Do(t.Context(), http.MethodPost, s.At("/x"), nil)
			if err != nil {
				t.Fatal(err)
			}
			err = asked(t, s)
			for _, text := range []string{r.Failure().Message, err.Error()} {
				if strings.Contains(text, "SEKRIT") || strings.Contains(text, "U0VLUklU") {
					t.Errorf("%d: %s", status, text)
				}
			}
		}
		srv.Close()
	}
}

// asked is the error of an exchange.
func asked(t *testing.T, s *Server) error {
	t.Helper()
	x, err := s.Open(t.Context(), collect.NewClock(), Message{URL: s.At("/x"), Accept: "text/plain"})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	resp, err := x.Answer()
	if err == nil {
		_, err = x.Body(resp)
	}
	if err == nil {
		t.Fatal("no error")
	}
	return err
}

// TestOwn: what a server says of itself is hidden in its texts, not in its
// keys and numbers.
func TestOwn(t *testing.T) {
	t.Setenv("TOKWATT_TEST_KEY", "prompt")
	s, err := New(Options{URL: "h", APIKeyEnv: "TOKWATT_TEST_KEY", Headers: map[string]string{"A": "1234", "B": "length"}})
	if err != nil {
		t.Fatal(err)
	}
	x := &Exchange{srv: s}
	for _, c := range []struct{ json, want string }{
		{`{"prompt":1234,"a":["prompt","x"], "b" : "a 1234 b"}`, `{"prompt":1234,"a":["[hidden]","x"], "b" : "a [hidden] b"}`},
		{`{"usage":{"prompt_tokens":12345},"u":null}`, `{"usage":{"prompt_tokens":12345},"u":null}`},
		{``, ``},
	} {
		r := &collect.Report{JSON: c.json, FinishReason: "length"}
		if x.Own(r); r.JSON != c.want || r.FinishReason != "length" {
			t.Errorf("%s becomes %s, %s", c.json, r.JSON, r.FinishReason)
		}
	}
	r := &collect.Report{FinishReason: "bad prompt"}
	if x.Own(r); r.FinishReason != "bad [hidden]" {
		t.Errorf("%q", r.FinishReason)
	}
	x.Own(nil)
}

// TestShownAddress: an address is shown without what may be secret, also where
// it is none.
func TestShownAddress(t *testing.T) {
	for text, want := range map[string]string{
		"http://u:p@h:1/x?q=1#f": "http://h:1/x", "/x?q=1": "/x", "//u:p@h/x?q": "//h/x", "http://u r:p@h:1": "http://h:1",
		"u:p@h:1": "h:1", "http://u:p@[::1%zz]/?q": "http://[::1%zz]/", "": "", "x": "x", "https://h/v1": "https://h/v1",
		"http://h/a@b": "http://h/a@b",
	} {
		if got := shownAddress(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	for _, raw := range []string{"http://u r:SEKRIT@h", "ftp://u:SEKRIT@h?k=SEKRIT", "http://u:SEKRIT@"} {
		if _, err := New(Options{URL: raw}); err == nil || strings.Contains(err.Error(), "SEKRIT") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

// TestOneLine: a line has no character that is not seen and changes how the
// others are.
func TestOneLine(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		got := OneLine("a" + string(r) + "b")
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && got != "ab" && got != "a b" {
			t.Errorf("%U becomes %q", r, got)
		}
	}
	if got := OneLine("\u202e0.9\u2066 x\ufeff\u200b"); got != "0.9 x" {
		t.Errorf("%q", got)
	}
}
