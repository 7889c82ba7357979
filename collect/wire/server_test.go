package wire

import (
	"net/url"
	"testing"
)

// TestHeaders: what the user gave goes out to the origin that the user named,
// the key over the user name in the URL, and to no other.
func TestHeaders(t *testing.T) {
	t.Setenv("TOKWATT_TEST_KEY", "hush")
	s, err := New(Options{URL: "http://me:pass@h/v1?key=hush", APIKeyEnv: "TOKWATT_TEST_KEY", Headers: map[string]string{"X-Team": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	if h := s.headerFor(s.At("/x")); h.Get("Authorization") != "Bearer hush" || h.Get("X-Team") != "a" {
		t.Errorf("headers %v", h)
	}
	if h := s.headerFor(&url.URL{Scheme: "http", Host: "other"}); len(h) != 1 || h.Get("User-Agent") != "tokwatt" {
		t.Errorf("headers for another host %v", h)
	}
	s, err = New(Options{URL: "me:pass@h"})
	if err != nil {
		t.Fatal(err)
	}
	if h := s.headerFor(s.At("/x")); h.Get("Authorization") != "Basic bWU6cGFzcw==" {
		t.Errorf("headers %v", h)
	}
}
