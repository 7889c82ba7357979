package exo

import (
	"context"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
)

// theirs is a task of another client, as the state has it.
func theirs(command, status, content string, tokens int64) map[string]any {
	return map[string]any{"TextGeneration": map[string]any{"taskStatus": status, "commandId": command, "instanceId": "Pipeline-MlxRing-1-1",
		"taskParams": map[string]any{"model": fakeModel, "max_output_tokens": tokens, "bench": true, "input": []any{map[string]any{"role": "user", "content": content}}}}}
}

// altered is a task that is like ours in all but one field; where that is nil,
// it does not tell it.
func altered(field string, v any) map[string]any {
	t := theirs("x", "Running", "a", 400)
	inner := t["TextGeneration"].(map[string]any)
	params := inner["taskParams"].(map[string]any)
	params["stream"] = false
	if _, outside := inner[field]; outside {
		params = inner
	}
	if params[field] = v; v == nil {
		delete(params, field)
	}
	return t
}

// TestLeftovers: what others still run is waited for before a batch, but not
// for ever, and once.
func TestLeftovers(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  string
		until   time.Duration
		load    time.Duration // of two batches, with all waiting
		waited  bool
		endured bool
	}{
		{"ends", "Running", 12 * time.Second, 14 * time.Second, true, false},
		{"waits in the queue", "Pending", 12 * time.Second, 14 * time.Second, true, false},
		{"never ends", "Running", time.Hour, 125 * time.Second, true, true},
		{"cancelled", "Cancelled", time.Hour, 5 * time.Second, false, false},
		{"complete", "Complete", time.Hour, 5 * time.Second, false, false},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			f.foreign = map[string]any{"t": theirs("x", c.status, "hi", 9), "odd": 7, "runner": map[string]any{"CreateRunner": map[string]any{"taskStatus": "Running", "commandId": "y"}}}
			f.foreignUntil = c.until
			got := f.measure(t.Context(), Options{}, collect.Spec{Repeat: 2})
			if len(got.errs) > 0 || len(got.batches) != 2 {
				t.Fatalf("%s: %v", c.name, got.errs)
			}
			if took := time.Duration(got.batches[0].StartNS); took < c.load-2*time.Second || took > c.load+2*time.Second {
				t.Errorf("%s: the first batch began after %v", c.name, took)
			}
			if gap := time.Duration(got.batches[1].StartNS - got.batches[0].EndNS); gap > 2*time.Second {
				t.Errorf("%s: the second batch came %v after the first", c.name, gap)
			}
			if got.heard("waited for, up to 2m0s") != c.waited || got.heard("measured beside that") != c.endured {
				t.Errorf("%s: told %q", c.name, got.told)
			}
			if len(f.cancelled) > 0 {
				t.Errorf("%s: cancelled %q", c.name, f.cancelled)
			}
		})
	}
}

// TestGivenUp: a runner goes on with what was cancelled, though no list of
// tasks says so; the next batch waits for that.
func TestGivenUp(t *testing.T) {
	bubble(t, oneNode, func(t *testing.T, f *fake) {
		got := f.measure(t.Context(), Options{}, collect.Spec{TG: []int64{400}, Streaming: collect.StreamNone, Timeout: 2 * time.Second, Repeat: 2})
		if len(got.batches) != 2 || len(f.cancelled) != 2 {
			t.Fatalf("%v, %d batches, cancelled %q", got.errs, len(got.batches), f.cancelled)
		}
		for _, q := range got.requests() {
			if q.Failure == nil || q.Failure.Kind != collect.ErrTimeout {
				t.Errorf("%v", q.Failure)
			}
		}
		if gap := time.Duration(got.batches[1].StartNS - got.batches[0].StartNS); gap < 20*time.Second || gap > 21*time.Second {
			t.Errorf("the second batch began %v after the first, whose request took 20 s", gap)
		}
		if !got.heard("still works on a request that was given up") {
			t.Errorf("told %q", got.told)
		}
	})
}

// opened is an engine on the fake's only placement.
func opened(t *testing.T, f *fake, o Options, spec collect.Spec) (collect.Target, *engine) {
	t.Helper()
	spec.Models = []string{fakeModel}
	for tg, err := range f.serve(o).Targets(t.Context(), spec) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := tg.Open(t.Context(), collect.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		return tg, e.(*engine)
	}
	t.Fatal("no target")
	return nil, nil
}

// TestCancel: a request that is no stream is ended by its id when nobody waits
// for it, and no other request ever is.
func TestCancel(t *testing.T) {
	long := func(prompt string) collect.Call {
		return collect.Call{Prompt: collect.Prompt{User: prompt}, MaxTokens: 400, BanEOS: true, Cold: true, Streams: 1}
	}
	for _, c := range []struct {
		name    string
		calls   []collect.Call
		leave   int // so many of the calls are given up
		fault   func(*fake)
		foreign map[string]any // tasks that begin beside ours
		want    int            // cancelled
	}{
		{"another's that is alike and older", []collect.Call{long("a")}, 1, func(f *fake) {
			f.foreign, f.foreignUntil = map[string]any{"t": theirs("x", "Running", "a", 400)}, time.Hour
		}, map[string]any{"t": theirs("x", "Running", "a", 400)}, 1},
		{"one", []collect.Call{long("a")}, 1, nil, nil, 1},
		{"with a system message", []collect.Call{{Prompt: collect.Prompt{System: "be brief", User: "a"}, MaxTokens: 400, BanEOS: true, Cold: true, Streams: 1}}, 1, nil, nil, 1},
		{"one of two", []collect.Call{long("a"), long("b")}, 1, nil, nil, 1},
		{"one of two alike", []collect.Call{long("a"), long("a")}, 1, nil, nil, 1},
		{"all of three alike", []collect.Call{long("a"), long("a"), long("a")}, 3, nil, nil, 3},
		{"seen late", []collect.Call{long("a")}, 1, func(f *fake) { f.ownTasksLate = true }, nil, 1},
		{"tasks without prompts", []collect.Call{long("a")}, 1, func(f *fake) { f.dropInput = true }, nil, 0},
		{"none of ours is listed yet, another's has no prompt", []collect.Call{long("a")}, 1, func(f *fake) { f.ownTasksLate = true }, map[string]any{"t": altered("input", nil)}, 0},
		{"no list of tasks", []collect.Call{long("a")}, 1, func(f *fake) { f.noTasks = true }, nil, 0},
		{"another's of another prompt", []collect.Call{long("a")}, 1, nil, map[string]any{"t": theirs("x", "Running", "b", 400)}, 1},
		{"another's of another length", []collect.Call{long("a")}, 1, nil, map[string]any{"t": theirs("x", "Running", "a", 401)}, 1},
		{"another's of another system message", []collect.Call{long("a")}, 1, nil, map[string]any{"t": altered("instructions", "be brief")}, 1},
		{"another's of a longer conversation", []collect.Call{long("a")}, 1, nil, map[string]any{"t": altered("input", []any{
			map[string]any{"role": "user", "content": "a"}, map[string]any{"role": "assistant", "content": "b"}, map[string]any{"role": "user", "content": "a"}})}, 1},
		{"another's that is a stream", []collect.Call{long("a")}, 1, nil, map[string]any{"t": altered("stream", true)}, 1},
		{"another's with a seed", []collect.Call{long("a")}, 1, nil, map[string]any{"t": altered("seed", 7)}, 1},
		{"another's that does not want a cold cache", []collect.Call{long("a")}, 1, nil, map[string]any{"t": altered("use_prefix_cache", true)}, 1},
		{"another's on another instance", []collect.Call{long("a")}, 1, nil, map[string]any{"t": altered("instanceId", "theirs")}, 1},
		{"another's that is alike", []collect.Call{long("a")}, 1, nil, map[string]any{"t": theirs("x", "Running", "a", 400)}, 0},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			if c.fault != nil {
				c.fault(f)
			}
			tg, e := opened(t, f, Options{}, collect.Spec{})
			var streams []collect.Stream
			var cancels []context.CancelFunc
			done := make([]chan error, len(c.calls))
			for _, call := range c.calls {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s, err := e.Open(ctx, call)
				if err != nil {
					t.Fatal(err)
				}
				streams, cancels = append(streams, s), append(cancels, cancel)
			}
			f.mu.Lock()
			f.foreign, f.foreignUntil = c.foreign, time.Hour
			f.mu.Unlock()
			for i, s := range streams {
				done[i] = make(chan error, 1)
				go func() {
					var failed error
					for _, err := range s.Arrivals() {
						failed = err
					}
					s.Close()
					done[i] <- failed
				}()
			}
			time.Sleep(200 * time.Millisecond)
			for _, cancel := range cancels[:c.leave] {
				cancel()
			}
			for _, left := range done[:c.leave] {
				if err := <-left; err != context.Canceled {
					t.Errorf("%s: ended with %v", c.name, err)
				}
			}
			if f.mu.Lock(); len(f.cancelled) != c.want || strings.Contains(strings.Join(f.cancelled, " "), "x") {
				t.Errorf("%s: cancelled %q, want %d", c.name, f.cancelled, c.want)
			}
			f.foreign = nil
			f.mu.Unlock()
			for _, kept := range done[c.leave:] {
				if err := <-kept; c.name != "one of two alike" && err != nil {
					t.Errorf("%s: another of ours ended with %v", c.name, err)
				}
			}
			if len(e.live) > 0 {
				t.Errorf("%s: %d requests are still counted", c.name, len(e.live))
			}
			if err := tg.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseBeforeSending: a request that never went out is not looked for.
func TestCloseBeforeSending(t *testing.T) {
	bubble(t, oneNode, func(t *testing.T, f *fake) {
		tg, e := opened(t, f, Options{}, collect.Spec{})
		s, err := e.Open(t.Context(), collect.Call{MaxTokens: 8, BanEOS: true})
		if err != nil {
			t.Fatal(err)
		}
		before := len(f.asked)
		s.Close()
		s.Close()
		if len(f.asked) != before || len(e.live) > 0 {
			t.Errorf("asked %q", f.asked[before:])
		}
		tg.Close(t.Context())
	})
}

// TestCount: exo's own count, from a request of two tokens that no cache
// serves.
func TestCount(t *testing.T) {
	bubble(t, oneNode, func(t *testing.T, f *fake) {
		tg, e := opened(t, f, Options{}, collect.Spec{})
		n, err := e.Count(t.Context(), collect.Prompt{System: "be brief", User: "one two three"})
		if err != nil || n.PromptTokens != 14 {
			t.Errorf("%+v, %v", n, err)
		}
		sent := f.sent()
		if want := `{"model":"org/Demo-3B-4bit","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"one two three"}],"max_tokens":2,"logprobs":false,"use_prefix_cache":false,"stream":true}`; sent[len(sent)-1] != want {
			t.Errorf("sent %s", sent[len(sent)-1])
		}
		tg.Close(t.Context())
	})
}
