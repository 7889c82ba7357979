package openai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/openai"
	"tokwatt/collect/script"
)

// witness is a server that notes whether it was shown anything.
type witness struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // requests that bore a secret or said where they came from
	hits int
}

const secretKey, secretHeader = "sk-secret", "team-secret"

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hits++
	all := fmt.Sprint(r.Header, r.URL, string(body))
	if strings.Contains(all, secretKey) || strings.Contains(all, secretHeader) || r.Header.Get("Referer") != "" || r.Header.Get("Authorization") != "" {
		w.seen = append(w.seen, r.Method+" "+r.URL.Path)
	}
	if r.Method == http.MethodGet {
		io.WriteString(rw, `{"data":[{"id":"m"}]}`)
		return
	}
	io.WriteString(rw, `{"choices":[{"message":{"content":"abc"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`)
}

func (w *witness) said() (hits int, seen []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hits, w.seen
}

func newWitness(t *testing.T) *witness {
	w := &witness{}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

// TestSecretsStay: keys and headers go to the origin that the user named, and
// along no redirect to another, of whatever status, for GETs as for POSTs.
func TestSecretsStay(t *testing.T) {
	t.Setenv("TOKWATT_TEST_SECRET", secretKey)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, host := range []string{"127.0.0.1", "localhost"} { // another port, and another host as well
			w := newWitness(t)
			goal := strings.Replace(w.URL, "127.0.0.1", host, 1)
			var own atomic.Int64
			front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "Bearer "+secretKey && r.Header.Get("X-Team") == secretHeader {
					own.Add(1)
				}
				if r.Header.Get("Referer") != "" {
					t.Error("a referer was sent")
				}
				if strings.HasPrefix(r.URL.Path, "/v1/") { // a step within the origin first
					rw.Header().Set("Location", "/step"+r.URL.Path)
				} else {
					rw.Header().Set("Location", goal+"/moved"+strings.TrimPrefix(r.URL.Path, "/step"))
				}
				rw.WriteHeader(status)
			}))
			defer front.Close()
			o := openai.Options{URL: front.URL, APIKeyEnv: "TOKWATT_TEST_SECRET", Headers: map[string]string{"X-Team": secretHeader}}
			tg := target(t, o, "m")
			info, err := tg.Describe(t.Context())
			if err != nil || info.Endpoint != front.URL+"/v1" {
				t.Errorf("%d: the base moved to %s, %v", status, info.Endpoint, err)
			}
			e, err := tg.Open(t.Context(), collect.NewClock())
			if err != nil {
				t.Fatal(err)
			}
			fail := ask(t, e)
			if followed := status >= 307; followed != (fail == nil) {
				t.Errorf("%d: %v", status, fail)
			}
			if hits, seen := w.said(); len(seen) > 0 || hits == 0 {
				t.Errorf("%d to %s: %d requests, and secrets in %q", status, host, hits, seen)
			}
			if own.Load() < 4 {
				t.Errorf("%d: the named origin got its key %d times", status, own.Load())
			}
		}
	}
}

// ask sends one request; nil where its answer was complete.
func ask(t *testing.T, e collect.Engine) *collect.Failure {
	t.Helper()
	s, err := e.Open(t.Context(), collect.Call{MaxTokens: 4, Stream: true, Streams: 1})
	if err != nil {
		return collect.AsFailure(err, "none")
	}
	defer s.Close()
	for _, err := range s.Arrivals() {
		if err != nil {
			return collect.AsFailure(err, "none")
		}
	}
	return nil
}

// TestRedirectToNowhere: a redirect that can't be followed is an answer of a
// living server: of kind http, naming the address, and never the end of the
// target.
func TestRedirectToNowhere(t *testing.T) {
	secure := httptest.NewTLSServer(nil)
	secure.Config.ErrorLog = quiet
	defer secure.Close()
	for name, to := range map[string]string{
		"dead port":    "http://127.0.0.1:1/v1/chat/completions",
		"other scheme": "ftp://127.0.0.1/v1", "no scheme": "localhost:1", "bad certificate": secure.URL + "/v1",
		"loop": "/v1/chat/completions", "none": "", "no address": "http://[::1/", "file": "file:///v1",
	} {
		for _, status := range []int{301, 307, 308} {
			srv := listen(t, script.Script{Redirect: &script.Redirect{From: "/v1/chat/completions", To: to, Status: status}})
			e, err := target(t, openai.Options{URL: srv.URL()}, "demo-model").Open(t.Context(), collect.NewClock())
			if err != nil {
				t.Fatal(err)
			}
			f := ask(t, e)
			if f == nil || f.Kind != collect.ErrHTTP || !strings.Contains(f.Message, to) || !strings.Contains(f.Message, fmt.Sprint("answered ", status)) && !strings.Contains(f.Message, "sends") {
				t.Errorf("%s, %d: %v", name, status, f)
			}
		}
	}
}

// TestListRedirectToNowhere: so too for the model list.
func TestListRedirectToNowhere(t *testing.T) {
	for _, to := range []string{"http://127.0.0.1:1/v1/models", "ftp://h/", "/v1/models", ""} {
		srv := listen(t, script.Script{Heads: map[string]script.Answer{"/models": {Status: 307, Headers: []script.Header{{Name: "Location", Value: to}}}}})
		_, err := target(t, openai.Options{URL: srv.URL()}, "m").Describe(t.Context())
		var f *collect.Failure
		if errors.As(err, &f) {
			t.Errorf("%q: %v", to, err)
		}
	}
}
