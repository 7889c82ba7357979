package local

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestMacmonServe: a URL is a macmon serve, beside the sources of this machine.
func TestMacmonServe(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"timestamp":"2026-08-10T09:00:01.000123+00:00","cpu_power":4.5,"gpu_power":33,"ane_power":0,"all_power":37.5,"sys_power":62,"ram_power":5.9}`)
	}))
	defer web.Close()
	s, made := of(false, "good", nil)
	sources, err := s.choose(t.Context(), []string{"good", web.URL})
	if err != nil || len(sources) != 2 || made["good"] == nil {
		t.Fatalf("%v, %v", sources, err)
	}
	defer Close(sources)
	if !Readable(sources[1].Probe(t.Context())) {
		t.Errorf("%+v", sources[1].Probe(t.Context()))
	}
	for name, say := range map[string]string{"ftp://h": "no address of a macmon serve", "magic": "URL of a macmon serve"} {
		if err := s.check([]string{name}); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
