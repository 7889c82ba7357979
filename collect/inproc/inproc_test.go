package inproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tokwatt/collect"
)

// targets are what the driver yields, the errors as text.
func targets(spec collect.Spec) (out []collect.Target, errs string) {
	for t, err := range (Driver{}).Targets(context.Background(), spec) {
		if err != nil {
			errs += err.Error() + "\n"
		} else {
			out = append(out, t)
		}
	}
	return out, errs
}

func open(t *testing.T) *reference {
	t.Helper()
	all, errs := targets(collect.Spec{})
	if len(all) != 1 {
		t.Fatalf("%d targets, %s", len(all), errs)
	}
	e, err := all[0].Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { all[0].Close(context.Background()) })
	return e.(*reference)
}

func TestTargets(t *testing.T) {
	foreign := t.TempDir()
	config := `{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"intermediate_size":128,"num_attention_heads":4,"vocab_size":300}`
	if err := os.WriteFile(filepath.Join(foreign, "config.json"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	hot := 0.7
	for _, c := range []struct {
		spec  collect.Spec
		names string
		errs  []string
	}{
		{collect.Spec{}, "synthetic:tiny", nil},
		{collect.Spec{Models: []string{"synthetic:small", "synthetic:none", "synthetic:tiny"}}, "synthetic:small synthetic:tiny", []string{`"none"`}},
		{collect.Spec{Models: []string{"/no/such/folder"}}, "", []string{"no model folder"}},
		{collect.Spec{Models: []string{foreign}}, "", []string{"no tokenizer.json", filepath.Base(foreign)}},
		{collect.Spec{Temperature: &hot}, "", []string{"--temperature"}},
		{collect.Spec{Temperature: new(float64)}, "synthetic:tiny", nil},
		{collect.Spec{Cache: collect.CachePrefix}, "synthetic:tiny", nil},
	} {
		all, errs := targets(c.spec)
		var names []string
		for _, tgt := range all {
			info, err := tgt.Describe(t.Context())
			if err != nil || info.Engine != "reference" || info.EngineVersion == "" || info.Quantization != "f32" || info.LoadS != nil {
				t.Errorf("%+v, %v", info, err)
			}
			names = append(names, info.ModelID)
		}
		if got := strings.Join(names, " "); got != c.names {
			t.Errorf("%+v: targets %q, want %q", c.spec, got, c.names)
		}
		for _, want := range c.errs {
			if !strings.Contains(errs, want) {
				t.Errorf("%+v: errors %q, want %q", c.spec, errs, want)
			}
		}
		if len(c.errs) == 0 && errs != "" {
			t.Errorf("%+v: %s", c.spec, errs)
		}
	}
}

// answer is what a stream yielded.
type answer struct {
	text   string
	chunks []collect.Arrival
	report *collect.Report
	err    error
}

func pull(s collect.Stream, each func(n int)) answer {
	var out answer
	for a, err := range s.Arrivals() {
		switch {
		case err != nil:
			out.err = err
		case a.Report != nil:
			out.report = a.Report
			out.text += a.Text
		default:
			out.text += a.Text
			out.chunks = append(out.chunks, a)
			if each != nil {
				each(len(out.chunks))
			}
		}
	}
	s.Close()
	return out
}

// together opens n streams and runs them at once, as the runner does.
func together(t *testing.T, e collect.Engine, n int, call collect.Call, each func(n int)) []answer {
	t.Helper()
	call.Streams, call.Stream = int64(n), true
	streams := make([]collect.Stream, n)
	for i := range streams {
		s, err := e.Open(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		streams[i] = s
	}
	out := make([]answer, n)
	var wg sync.WaitGroup
	for i, s := range streams {
		wg.Go(func() { out[i] = pull(s, each) })
	}
	wg.Wait()
	return out
}

func TestAnswer(t *testing.T) {
	e := open(t)
	prompt := collect.Prompt{System: "Be brief.", User: strings.Repeat("a", 100)}
	counted, err := e.Count(t.Context(), prompt)
	if err != nil || counted.PromptTokens != 113 { // BOS SYSTEM 9 USER 100 ASSISTANT
		t.Fatalf("counted %+v, %v", counted, err)
	}
	call := collect.Call{Prompt: prompt, MaxTokens: 24, BanEOS: true, Cold: true}
	alone := together(t, e, 1, call, nil)[0]
	three := together(t, e, 3, call, nil)
	for _, a := range append(three, alone) {
		if a.err != nil || a.report == nil || len(a.chunks) != 24 || a.text != alone.text {
			t.Fatalf("answer %+v", a)
		}
		for i, c := range a.chunks {
			if c.Kind != collect.KindContent || c.Tokens != 1 || c.Bytes <= 0 || c.Text == "" || i > 0 && c.T < a.chunks[i-1].T {
				t.Errorf("chunk %d: %+v", i, c)
			}
		}
		r := a.report
		if r.Source != collect.ReportEngine || *r.PromptTokens != 113 || *r.CompletionTokens != 24 || *r.CachedTokens != 0 ||
			r.FinishReason != "length" || r.GenerationRule != collect.RateIntervals || r.PromptTPS == nil || r.GenerationTPS == nil ||
			r.PeakMemoryBytes == nil || r.PromptEvalNS == nil || !strings.Contains(r.JSON, `"batch_streams"`) {
			t.Errorf("report %+v", r)
		}
	}
	if !strings.Contains(three[0].report.JSON, `"batch_streams":3`) {
		t.Errorf("three streams were not one batch: %s", three[0].report.JSON)
	}
}

// TestLongPromptsProgress holds that a prompt of two chunks says how it goes.
func TestLongPromptsProgress(t *testing.T) {
	a := together(t, open(t), 1, collect.Call{Prompt: collect.Prompt{User: strings.Repeat("a", 600)}, MaxTokens: 2, BanEOS: true}, nil)[0]
	if a.err != nil || len(a.chunks) != 3 || a.chunks[0].Kind != collect.KindProgress || a.chunks[0].Bytes <= 0 || a.chunks[1].Kind != collect.KindContent {
		t.Errorf("answer %+v", a)
	}
}

// TestKilledWorker: the requests in flight fail with the signal, the next ones
// are answered by a new worker as if nothing had been.
func TestKilledWorker(t *testing.T) {
	e := open(t)
	pid := func() int { return e.now.worker.PID() }
	first := pid()
	call := collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 20000, BanEOS: true}
	var once sync.Once
	for _, a := range together(t, e, 2, call, func(n int) {
		if n == 3 {
			once.Do(func() { syscall.Kill(first, syscall.SIGKILL) })
		}
	}) {
		var f *collect.Failure
		if !errors.As(a.err, &f) || f.Kind != collect.ErrReset || !strings.Contains(f.Message, "signal killed") || a.report == nil {
			t.Errorf("after a kill: %v, report %+v", a.err, a.report)
		}
	}
	call.MaxTokens = 5
	for _, a := range together(t, e, 2, call, nil) {
		if a.err != nil || len(a.chunks) != 5 {
			t.Errorf("the next: %+v", a)
		}
	}
	if pid() == first {
		t.Error("the dead worker answered")
	}
}

// TestKilledWhileWaiting: a worker that dies between opening and the barrier.
func TestKilledWhileWaiting(t *testing.T) {
	e := open(t)
	s, err := e.Open(t.Context(), collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 5, Streams: 1, Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(e.now.worker.PID(), syscall.SIGKILL)
	<-e.now.worker.Exited()
	var f *collect.Failure
	if a := pull(s, nil); !errors.As(a.err, &f) || f.Kind != collect.ErrReset {
		t.Errorf("got %+v", a)
	}
}

// TestCancelledStreamLeavesTheOthers: one of two streams is cancelled.
func TestCancelledStreamLeavesTheOthers(t *testing.T) {
	e := open(t)
	call := collect.Call{Prompt: collect.Prompt{User: "x"}, MaxTokens: 60, BanEOS: true, Streams: 2, Stream: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	one, err := e.Open(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	two, err := e.Open(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan answer)
	go func() { done <- pull(two, nil) }()
	a := pull(one, func(n int) {
		if n == 3 {
			cancel()
		}
	})
	b := <-done
	if !errors.Is(a.err, context.Canceled) || a.report == nil {
		t.Errorf("the cancelled one: %v, report %v", a.err, a.report)
	}
	if b.err != nil || len(b.chunks) != 60 {
		t.Errorf("the other: %v, %d chunks", b.err, len(b.chunks))
	}
}

// TestRunner measures a small matrix as the program does, and fails a request
// in the middle: the session goes on.
func TestRunner(t *testing.T) {
	r := &collect.Runner{Prompts: func(_ collect.TargetInfo, e collect.Engine, fresh bool) (collect.Prompter, string) {
		if fresh {
			t.Error("an engine that starts cold was to be sent fresh prompts")
		}
		return exact{}, ""
	}}
	batches, status := 0, collect.SessionStatus("")
	for rec, err := range r.Run(t.Context(), collect.Job{Driver: Driver{}, Spec: collect.Spec{PP: []int64{16, 40}, TG: []int64{6}, Concurrency: []int64{1, 2}, Repeat: 2}}) {
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			if rec.LoadS == nil || *rec.LoadS <= 0 {
				t.Errorf("load time %v", rec.LoadS)
			}
		case *collect.Case:
			if rec.ColdMethod != "engine" || rec.EOSBan != "engine" {
				t.Errorf("case %+v", rec)
			}
		case *collect.Batch:
			batches++
			for _, req := range rec.Requests {
				if req.Failure != nil || *req.Report.PromptTokens != *req.PPTokens || *req.Report.CompletionTokens != 6 || len(req.Chunks) != 7 {
					t.Errorf("request %+v", req)
				}
			}
		case *collect.End:
			status = rec.Status
		}
	}
	if batches != 9 || status != collect.StatusComplete {
		t.Errorf("%d batches, %s", batches, status)
	}
}

// exact makes prompts for the byte tokenizer, with three tokens of template.
type exact struct{}

func (exact) Size(context.Context, int64) error { return nil }
func (exact) Build(pp int64) (collect.Prompt, *int64) {
	return collect.Prompt{User: strings.Repeat("a", int(pp-3))}, &pp
}
func (exact) Head() *int64                 { return nil }
func (exact) Source() collect.PromptSource { return collect.PromptTokenizer }

// TestPrefixCache holds that the cache serves a second request, and none that
// is cold.
func TestPrefixCache(t *testing.T) {
	tgt, err := Driver{}.target("synthetic:tiny", true)
	if err != nil {
		t.Fatal(err)
	}
	e, err := tgt.Open(t.Context(), collect.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer tgt.Close(t.Context())
	call := collect.Call{Prompt: collect.Prompt{User: strings.Repeat("a", 97)}, MaxTokens: 4, BanEOS: true}
	var text string
	for i, want := range []string{"none 0", "exact 99", "none 0"} {
		call.Cold = i == 2
		a := together(t, e, 1, call, nil)[0]
		if a.err != nil || a.report == nil {
			t.Fatalf("%+v", a)
		}
		if got := fmt.Sprint(a.report.PrefixCacheHit, " ", *a.report.CachedTokens); got != want {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
		if text != "" && a.text != text {
			t.Errorf("request %d: another answer", i)
		}
		text = a.text
	}
}
