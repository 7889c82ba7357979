package openai

import (
	"strings"
	"testing"
)

func TestBase(t *testing.T) {
	for _, c := range []struct{ in, chat, health string }{
		{"127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions", "http://127.0.0.1:8080/health"},
		{"http://h", "http://h/v1/chat/completions", "http://h/health"},
		{"http://h/", "http://h/v1/chat/completions", "http://h/health"},
		{"http://h/v1", "http://h/v1/chat/completions", "http://h/health"},
		{"http://h/v1/", "http://h/v1/chat/completions", "http://h/health"},
		{"http://h/v1/chat/completions", "http://h/v1/chat/completions", "http://h/health"},
		{"http://h/v1/models", "http://h/v1/chat/completions", "http://h/health"},
		{"http://h/proxy", "http://h/proxy/v1/chat/completions", "http://h/proxy/health"},
		{"http://h/proxy/v1/", "http://h/proxy/v1/chat/completions", "http://h/proxy/health"},
		{"https://h/api/v3", "https://h/api/v3/chat/completions", "https://h/api/health"},
		{"https://h/v1?api-version=2", "https://h/v1/chat/completions?api-version=2", "https://h/health?api-version=2"},
		{"http://[::1]:8080", "http://[::1]:8080/v1/chat/completions", "http://[::1]:8080/health"},
	} {
		s, err := newServer(Options{URL: c.in})
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := s.At("/chat/completions").String(); got != c.chat {
			t.Errorf("%s gives %s, want %s", c.in, got, c.chat)
		}
		if got := s.atRoot("/health").String(); got != c.health {
			t.Errorf("%s gives %s, want %s", c.in, got, c.health)
		}
	}
	for _, bad := range []string{"", "ftp://h", "http://", "http://a b"} {
		if _, err := newServer(Options{URL: bad}); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// TestSecrets: user, password and query go out, but are not in what is stored.
func TestSecrets(t *testing.T) {
	t.Setenv("TOKWATT_TEST_KEY", "hush")
	s, err := newServer(Options{URL: "http://me:hush@h/v1?key=hush", APIKeyEnv: "TOKWATT_TEST_KEY", Headers: map[string]string{"X-Team": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Endpoint(); got != "http://h/v1" {
		t.Errorf("endpoint %s", got)
	}
	_, err = newServer(Options{URL: "http://h", APIKeyEnv: "TOKWATT_NO_SUCH_KEY"})
	if err == nil || !strings.Contains(err.Error(), "TOKWATT_NO_SUCH_KEY") {
		t.Errorf("a missing key gives %v", err)
	}
}

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"demo": "demo", "org/name": "org/name", "llama3.2:1b": "llama3.2:1b",
		"/srv/models/demo": "demo", "/srv/models/demo/": "demo", "~/demo": "demo", "./demo": "demo",
		`C:\models\demo`: "demo", "models/7B/demo.gguf": "demo.gguf",
	} {
		if got := shown(in); got != want {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
}

func TestFindModel(t *testing.T) {
	l := listing{models: []model{{ID: "llama3.2:3b"}, {ID: "/srv/models/demo"}, {ID: "x", Aliases: []string{"y"}}, {ID: "org/demo2"}}}
	for asked, want := range map[string]string{
		"llama3.2:3b": "llama3.2:3b", "demo": "/srv/models/demo", "/srv/models/demo": "/srv/models/demo", "y": "x",
		"llama3.2:1b": "", "llama3.2": "", "demo2": "", "Demo": "",
	} {
		m, ok := find(l.models, asked)
		if m.ID != want || ok != (want != "") {
			t.Errorf("%s finds %q, want %q", asked, m.ID, want)
		}
	}
}
