package collecttest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tokwatt/collect"
)

// lateness is how much later than it was sent an arrival may be stamped. It is
// far above what a client needs, so that only a wrong stamp is over it.
const lateness = 25 * time.Millisecond

var ordinary = Plan{Tokens: 8, Prefill: 30 * time.Millisecond, Step: 10 * time.Millisecond, PromptTokens: 17}

// testArrivals: all output arrives, in order, each stamped after it was sent
// and soon; then one report with the server's counts.
func testArrivals(t *testing.T, h Harness) {
	srv := h.Start(t, ordinary)
	clock := collect.NewClock()
	at, off := time.Now(), clock.Now()
	e := open(t, srv.Target, clock)
	thrice(t, func() error {
		s := stream(t, t.Context(), e, call(ordinary))
		start := clock.Now()
		got := drain(s)
		end := clock.Now()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		checkAnswer(t, got, ordinary)
		before := start
		for i, a := range got.arrivals {
			if a.T < before || a.T > end {
				t.Fatalf("arrival %d is stamped %d, outside [%d, %d]", i, a.T, before, end)
			}
			before = a.T
		}
		if srv.Sent == nil {
			return nil
		}
		all := srv.Sent()
		return onTime(got.outputs(), all[len(all)-1], func(x time.Time) int64 { return off + int64(x.Sub(at)) })
	})
}

// checkAnswer holds a complete answer against its plan.
func checkAnswer(t *testing.T, got seen, p Plan) {
	t.Helper()
	if got.fault != "" || got.err != nil {
		t.Fatalf("%s %v", got.fault, got.err)
	}
	out := got.outputs()
	if len(out) != p.Tokens {
		t.Fatalf("%d output arrivals, want %d", len(out), p.Tokens)
	}
	for i, a := range out {
		if a.Text == "" || a.Bytes <= 0 || a.Tokens != 1 && a.Tokens != collect.TokensUnknown {
			t.Errorf("output %d: text %q, %d bytes, %d tokens", i, a.Text, a.Bytes, a.Tokens)
		}
	}
	r := got.report.Report
	if r.CompletionTokens != nil && *r.CompletionTokens != int64(p.Tokens) {
		t.Errorf("completion tokens %d, want %d", *r.CompletionTokens, p.Tokens)
	}
	if p.PromptTokens > 0 && (r.PromptTokens == nil || *r.PromptTokens != p.PromptTokens) {
		t.Errorf("prompt tokens %v, want %d", r.PromptTokens, p.PromptTokens)
	}
	if r.FinishReason == "" {
		t.Error("no finish reason")
	}
	if r.Source != collect.ReportServer && r.Source != collect.ReportEngine {
		t.Errorf("source %q", r.Source)
	}
	if got.report.NotStreamed || got.report.UncleanEnd {
		t.Errorf("not streamed %v, unclean end %v", got.report.NotStreamed, got.report.UncleanEnd)
	}
}

func onTime(out []collect.Arrival, sent []time.Time, ns func(time.Time) int64) error {
	if len(sent) < len(out) {
		return fmt.Errorf("%d outputs, but %d were sent", len(out), len(sent))
	}
	for i, a := range out {
		late := time.Duration(a.T - ns(sent[i]))
		if late < 0 || late > lateness {
			return fmt.Errorf("output %d is stamped %v after it was sent, want 0 to %v", i, late, lateness)
		}
	}
	return nil
}

// testFirstPull: Open sends nothing of the request.
func testFirstPull(t *testing.T, h Harness) {
	srv := h.Start(t, ordinary)
	e := open(t, srv.Target, collect.NewClock())
	s := stream(t, t.Context(), e, call(ordinary))
	time.Sleep(30 * time.Millisecond)
	if n := srv.Requests(); n != 0 {
		t.Fatalf("%d requests arrived before the first pull", n)
	}
	checkAnswer(t, drain(s), ordinary)
	if n := srv.Requests(); n != 1 {
		t.Fatalf("%d requests arrived, want 1", n)
	}
}

// testConcurrent: streams that are opened together do not disturb each other.
func testConcurrent(t *testing.T, h Harness) {
	const n = 8
	srv := h.Start(t, ordinary)
	e := open(t, srv.Target, collect.NewClock())
	c := call(ordinary)
	c.Streams = n
	var streams [n]collect.Stream
	var opened sync.WaitGroup
	for i := range streams { // an engine in process may wait for all of them
		opened.Go(func() {
			if s, err := e.Open(t.Context(), c); err != nil {
				t.Errorf("open stream %d: %v", i, err)
			} else {
				streams[i] = s
			}
		})
	}
	opened.Wait()
	if t.Failed() {
		return
	}
	var got [n]seen
	var done sync.WaitGroup
	for i, s := range streams {
		done.Go(func() {
			defer s.Close()
			got[i] = drain(s)
		})
	}
	done.Wait()
	for _, g := range got {
		checkAnswer(t, g, ordinary)
	}
}

// testDescribe: what is stored of a target says who it is and no secrets, and
// is the same when asked again.
func testDescribe(t *testing.T, h Harness) {
	srv := h.Start(t, ordinary)
	info, err := srv.Target.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Engine == "" || info.Driver == "" || info.ModelID == "" || info.ServedModel == "" {
		t.Errorf("something is missing: %+v", info)
	}
	if strings.ContainsAny(info.Endpoint, "@?") {
		t.Errorf("endpoint %q holds more than an address", info.Endpoint)
	}
	open(t, srv.Target, collect.NewClock())
	again, err := srv.Target.Describe(t.Context())
	if err != nil || again.ModelID != info.ModelID || again.Engine != info.Engine {
		t.Errorf("after Open: %+v, %v", again, err)
	}
	if n := srv.Requests(); n != 0 {
		t.Errorf("describing sent %d measured requests", n)
	}
}

// testCount: an engine that counts prompts counts as the server does, and
// says so when the server does not.
func testCount(t *testing.T, h Harness) {
	for _, p := range []Plan{ordinary, {Tokens: 2}} {
		srv := h.Start(t, p)
		c, ok := open(t, srv.Target, collect.NewClock()).(collect.Counter)
		if !ok {
			t.Skip("this engine does not count prompts")
		}
		n, err := c.Count(context.Background(), collect.Prompt{User: "Count to ten."})
		switch {
		case p.PromptTokens > 0 && (err != nil || n.PromptTokens != p.PromptTokens):
			t.Errorf("counted %d, %v; want %d", n.PromptTokens, err, p.PromptTokens)
		case p.PromptTokens == 0 && err != collect.ErrNoCount:
			t.Errorf("counted %d, %v; want ErrNoCount", n.PromptTokens, err)
		}
	}
}

// testWhole: an answer that is no stream is one output and says so.
func testWhole(t *testing.T, h Harness) {
	srv := h.Start(t, ordinary)
	c := call(ordinary)
	c.Stream = false
	got := drain(stream(t, t.Context(), open(t, srv.Target, collect.NewClock()), c))
	if got.fault != "" || got.err != nil {
		t.Fatalf("%s %v", got.fault, got.err)
	}
	if len(got.outputs()) != 1 || got.outputs()[0].Text == "" || !got.report.NotStreamed {
		t.Errorf("%d outputs, not streamed %v", len(got.outputs()), got.report.NotStreamed)
	}
	if r := got.report.Report; r.CompletionTokens == nil || *r.CompletionTokens != int64(ordinary.Tokens) {
		t.Errorf("completion tokens %v, want %d", r.CompletionTokens, ordinary.Tokens)
	}
}
