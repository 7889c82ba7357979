package ollama_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze/analyzetest/casetest"
	"tokwatt/collect"
	"tokwatt/collect/ollama"
	"tokwatt/collect/script"
)

// TestErrorKinds: each way in which a request can fail becomes a row of its
// kind, that says why.
func TestErrorKinds(t *testing.T) {
	token := script.Piece{At: 5 * time.Millisecond, Data: []byte(`{"model":"demo","response":"a ","done":false}` + "\n")}
	after := func(d time.Duration, s string) script.Piece { return script.Piece{At: d, Data: []byte(s + "\n")} }
	var trickle []script.Piece
	for i := range 40 {
		p := token
		p.At = time.Duration(i) * 50 * time.Millisecond
		trickle = append(trickle, p)
	}
	for name, c := range map[string]struct {
		answer script.Answer
		kind   collect.ErrorKind
		says   string
	}{
		"not found":       {script.Answer{Status: 404, Pieces: []script.Piece{after(0, `{"error":"model 'demo' not found"}`)}}, collect.ErrHTTP, "model 'demo' not found"},
		"busy":            {script.Answer{Status: 503, Pieces: []script.Piece{after(0, `{"error":"server busy, please try again. maximum pending requests exceeded"}`)}}, collect.ErrHTTP, "server busy"},
		"error line":      {script.Answer{Pieces: []script.Piece{token, after(9e6, `{"error":"an error was encountered while running the model"}`)}}, collect.ErrServer, "while running"},
		"cut":             {script.Answer{Pieces: []script.Piece{token}}, collect.ErrTruncated, "last object"},
		"cut transfer":    {script.Answer{Pieces: []script.Piece{token}, End: script.EndAbrupt}, collect.ErrTruncated, "before the answer was complete"},
		"reset":           {script.Answer{Pieces: []script.Piece{token}, End: script.EndReset, EndAt: 30 * time.Millisecond}, collect.ErrReset, "reset"},
		"page":            {script.Answer{Pieces: []script.Piece{after(0, "<html><title>Sign in</title></html>")}}, collect.ErrProtocol, "Sign in"},
		"empty":           {script.Answer{Pieces: []script.Piece{after(0, `{"model":"demo","response":"","done":true,"done_reason":"stop"}`)}}, collect.ErrEmpty, "without any output"},
		"silence":         {script.Answer{HeadAt: time.Minute}, collect.ErrStall, "no output"},
		"silence between": {script.Answer{Pieces: []script.Piece{token}, End: script.EndHang}, collect.ErrStall, "no further output"},
		"too slow":        {script.Answer{Pieces: trickle}, collect.ErrTimeout, "no complete answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := onlyRow(t, t.Context(), c.answer).Failure
			if f == nil || f.Kind != c.kind || !strings.Contains(f.Message, c.says) {
				t.Errorf("failure %v, want %s: …%s…", f, c.kind, c.says)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
		r := onlyRow(t, ctx, script.Answer{Pieces: []script.Piece{token}, End: script.EndHang})
		if r.Failure == nil || r.Failure.Kind != collect.ErrCancelled || len(r.Chunks) != 1 {
			t.Errorf("failure %v, %d chunks", r.Failure, len(r.Chunks))
		}
	})
}

// onlyRow measures one request against a server that answers it so.
func onlyRow(t *testing.T, ctx context.Context, a script.Answer) *collect.Request {
	a.Headers = []script.Header{{Name: "Content-Type", Value: "application/x-ndjson"}}
	srv := listen(t, script.Script{Model: "demo", Answer: func(r script.Request) script.Answer {
		if r.MaxTokens() == 1 {
			return script.OllamaTokens{N: 1, Model: "demo", Prompt: 9}.Body()
		}
		return a
	}})
	none := 0
	spec := collect.Spec{Models: []string{"demo"}, PP: []int64{64}, TG: []int64{4}, Repeat: 1, Warmup: &none, Pause: -1, GroupPause: -1,
		FirstTimeout: 300 * time.Millisecond, StallTimeout: 250 * time.Millisecond, Timeout: 600 * time.Millisecond}
	runner := collect.Runner{Prompts: func(collect.TargetInfo, collect.Engine, bool) (collect.Prompter, string) {
		return casetest.Words{}, ""
	}}
	var row *collect.Request
	for rec, err := range runner.Run(ctx, collect.Job{Driver: ollama.Driver{Options: ollama.Options{URL: srv.URL()}}, Spec: spec}) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := rec.(*collect.Batch); ok {
			row = &b.Requests[0]
		}
	}
	if row == nil {
		t.Fatal("no row")
	}
	return row
}

// TestUnreachable: no connection and a bad certificate are told when the target
// is described, and when a server goes away behind that, by the request.
func TestUnreachable(t *testing.T) {
	secure := httptest.NewTLSServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of a handshake that is meant to fail
	defer secure.Close()
	_, err := target(t, ollama.Options{URL: secure.URL}, sweep, "demo").Describe(t.Context())
	if f := (*collect.Failure)(nil); !errors.As(err, &f) || f.Kind != collect.ErrTLS {
		t.Errorf("%v, want kind tls", err)
	}
	srv := listen(t, script.Script{Model: "demo"})
	e, err := target(t, ollama.Options{URL: srv.URL()}, sweep, "demo").Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	srv.Close()
	_, err = e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 2})
	if f := (*collect.Failure)(nil); !errors.As(err, &f) || f.Kind != collect.ErrConnect {
		t.Errorf("%v, want kind connect", err)
	}
}

// TestBoundedOpen: a server that never answers what is not measured costs the
// user's own limit each time, and the request is measured all the same.
func TestBoundedOpen(t *testing.T) {
	hang := script.Answer{HeadAt: time.Minute}
	srv := listen(t, script.Script{Answer: func(script.Request) script.Answer { return hang }, Heads: map[string]script.Answer{"/api/ps": hang, "/api/show": hang}})
	spec := sweep
	spec.FirstTimeout = 100 * time.Millisecond
	begun := time.Now()
	e, err := target(t, ollama.Options{URL: srv.URL()}, spec, "demo").Open(t.Context(), collect.NewClock())
	if took := time.Since(begun); err == nil && took > 5*time.Second {
		t.Errorf("opening took %v", took)
	}
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	_, err = e.(collect.Counter).Count(t.Context(), collect.Prompt{User: "x"})
	if f := (*collect.Failure)(nil); !errors.As(err, &f) || f.Kind != collect.ErrStall {
		t.Errorf("%v, want kind stall", err)
	}
}
