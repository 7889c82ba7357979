package ollama

import (
	"strings"
	"testing"
)

// TestDefaultURL: the variable is read as Ollama reads it. The rows are those
// of its documentation and of the tests of its own reader.
func TestDefaultURL(t *testing.T) {
	for host, want := range map[string]string{
		"":                          "http://127.0.0.1:11434",
		"1.2.3.4":                   "http://1.2.3.4:11434",
		":1234":                     "http://127.0.0.1:1234",
		"1.2.3.4:1234":              "http://1.2.3.4:1234",
		"example.com":               "http://example.com:11434",
		"example.com:1234":          "http://example.com:1234",
		"http://example.com":        "http://example.com:80",
		"https://example.com":       "https://example.com:443",
		"https://example.com:1234":  "https://example.com:1234",
		"http://1.2.3.4:80/":        "http://1.2.3.4:80",
		"https://example.com/llm/x": "https://example.com:443/llm/x",
		"example.com/llm":           "http://example.com:11434/llm",
		"0.0.0.0":                   "http://127.0.0.1:11434",
		"0.0.0.0:8080":              "http://127.0.0.1:8080",
		"[::]:8080":                 "http://[::1]:8080",
		"::":                        "http://[::1]:11434",
		"[::1]":                     "http://[::1]:11434",
		"[2001:db8::1]:1":           "http://[2001:db8::1]:1",
		"::1":                       "http://[::1]:11434",
		"1.2.3.4:66000":             "http://1.2.3.4:11434",
		"1.2.3.4:-1":                "http://1.2.3.4:11434",
		" 1.2.3.4 ":                 "http://1.2.3.4:11434",
		"\"1.2.3.4\"":               "http://1.2.3.4:11434",
		" ' 1.2.3.4 ' ":             "http://1.2.3.4:11434",
	} {
		t.Setenv("OLLAMA_HOST", host)
		if got := DefaultURL(); got != want {
			t.Errorf("%q gives %s, want %s", host, got, want)
		}
	}
}

// TestBase: however users write the address, the API's paths are joined to its
// root.
func TestBase(t *testing.T) {
	t.Setenv("OLLAMA_HOST", "envhost")
	for given, want := range map[string]string{
		"":                              "http://envhost:11434/api/generate",
		"box":                           "http://box:11434/api/generate",
		"box:1":                         "http://box:1/api/generate",
		"http://box":                    "http://box/api/generate",
		"https://box/":                  "https://box/api/generate",
		"http://box:11434/v1":           "http://box:11434/api/generate",
		"http://box:11434/api/":         "http://box:11434/api/generate",
		"http://box:11434/api/generate": "http://box:11434/api/generate",
		"http://box/llm/api/chat":       "http://box/llm/api/generate",
		"me:word@box:7":                 "http://box:7/api/generate",
	} {
		srv, err := newServer(Options{URL: given})
		if err != nil {
			t.Fatalf("%q: %v", given, err)
		}
		if got := srv.At("/api/generate").String(); got != want {
			t.Errorf("%q leads to %s, want %s", given, got, want)
		}
	}
	for _, bad := range []string{"ftp://box", "http://"} {
		if _, err := newServer(Options{URL: bad}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
