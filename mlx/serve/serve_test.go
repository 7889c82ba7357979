package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tokwatt/mlx/engine"
)

func TestMain(m *testing.M) {
	engine.RunIfWorker()
	os.Exit(m.Run())
}

const tiny = "synthetic:tiny"

// lines is a log that can be read while it grows.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// entries waits until there are so many.
func (l *lines) entries(t *testing.T, n int) []entry {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		l.mu.Lock()
		text := l.b.String()
		l.mu.Unlock()
		var out []entry
		for line := range strings.Lines(text) {
			var e entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			out = append(out, e)
		}
		if len(out) >= n {
			return out
		}
		if time.Now().After(end) {
			t.Fatalf("%d lines of the log, want %d: %s", len(out), n, text)
		}
	}
}

// running is a server under test.
type running struct {
	*Server
	url string
	log *lines
}

func start(t *testing.T, o Options) running {
	t.Helper()
	if o.Load.Model == "" {
		o.Load.Model = tiny
	}
	o.Node.Name, o.Version = "here", "1.2.3"
	log := &lines{}
	o.Log = log
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	return running{s, srv.URL, log}
}

// do sends a request and returns the status and the body.
func (r running) do(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// asked is the body of a request.
func asked(atoms, tokens int, more string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}],"max_tokens":%d%s}`, tiny, strings.Repeat("a", atoms), tokens, more)
}

const (
	bench     = "/bench/chat/completions"
	plainPath = "/v1/chat/completions"
)
