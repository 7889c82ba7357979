package openai_test

import (
	"net/http/httptest"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/openai"
	"tokwatt/collect/script"
)

// TestReuseIsAskedFor: where the cache is to be used, an engine that has a
// switch for it is told so in each measured request and in none that only
// counts a prompt.
func TestReuseIsAskedFor(t *testing.T) {
	all, err := script.Fingerprints("../../testdata/fingerprints.json")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"tokwatt": "cache_prompt=true", "llama.cpp": "cache_prompt=true"}
	for _, fp := range all {
		g := &gate{fp: fp, keys: map[string]bool{}}
		srv := httptest.NewServer(g)
		spec := collect.Spec{Models: []string{"m"}, Cache: collect.CachePrefix, NoEOSBan: true}
		for tg, err := range (openai.Driver{Options: openai.Options{URL: srv.URL + "/gate"}}).Targets(t.Context(), spec) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := tg.Open(t.Context(), collect.NewClock())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.(collect.Counter).Count(t.Context(), collect.Prompt{User: "x"}); err != nil {
				t.Fatal(err)
			}
			s, err := e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 2, Streams: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range s.Arrivals() {
				if err != nil {
					t.Fatal(err)
				}
			}
			s.Close()
		}
		srv.Close()
		if len(g.sent) != 3 {
			t.Fatalf("%s: %d requests", fp.Engine, len(g.sent))
		}
		for i, line := range []string{want[fp.Engine], "", want[fp.Engine]} {
			if got := extras(g.sent[i]); got != line {
				t.Errorf("%s: request %d has %q, want %q", fp.Engine, i, got, line)
			}
		}
	}
}
