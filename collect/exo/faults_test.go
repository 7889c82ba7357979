package exo

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
)

// TestAnswersThatFail: what exo does wrong within a request is a row of its
// own kind, and the run goes on.
func TestAnswersThatFail(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  func(*fake)
		stream bool
		want   collect.ErrorKind // of each request
		words  string
	}{
		{"stats-null", func(f *fake) { f.statsNull = true }, true, collect.ErrTruncated, "no generation_stats"},
		{"stats-null", func(f *fake) { f.statsNull = true }, false, collect.ErrTruncated, "no generation_stats"},
		{"stream-cut", func(f *fake) { f.streamCut = true }, true, collect.ErrTruncated, "neither finish_reason nor [DONE]"},
		{"error-500", func(f *fake) { f.failEvery = 1 }, true, collect.ErrHTTP, "runner crashed"},
		{"error-500", func(f *fake) { f.failEvery = 1 }, false, collect.ErrHTTP, "runner crashed"},
		{"power-null", func(f *fake) { f.powerNull = true }, false, "", ""},
		{"no-power", func(f *fake) { f.noPower = true }, false, "", ""},
		{"no-node-system", func(f *fake) { f.noNodeSystem = true }, false, "", ""},
		{"slow-gone", func(f *fake) { f.slowGone = true }, true, "", ""},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			c.fault(f)
			streaming := collect.StreamNone
			if c.stream {
				streaming = collect.StreamAll
			}
			got := f.measure(t.Context(), Options{}, collect.Spec{Streaming: streaming, Repeat: 2})
			if len(got.errs) > 0 || len(got.batches) != 2 {
				t.Fatalf("%s: %v, %d batches", c.name, got.errs, len(got.batches))
			}
			for _, q := range got.requests() {
				kind, message := collect.ErrorKind(""), ""
				if q.Failure != nil {
					kind, message = q.Failure.Kind, q.Failure.Message
				}
				if kind != c.want || !strings.Contains(message, c.words) {
					t.Errorf("%s, stream %v: %s %q, want %s", c.name, c.stream, kind, message, c.want)
				}
				if c.want != collect.ErrHTTP && (q.HTTPStatus == nil || *q.HTTPStatus != 200) {
					t.Errorf("%s: status %v", c.name, q.HTTPStatus)
				}
			}
			if c.name == "slow-gone" && !got.heard("still there after 1m0s") {
				t.Errorf("%s: told %q", c.name, got.told)
			}
			if len(f.cancelled) > 0 {
				t.Errorf("%s: cancelled %q", c.name, f.cancelled)
			}
		})
	}
}

// TestWhatItSays: the statistics objects stand verbatim in the report, with
// the server's nulls, and without what it did not say.
func TestWhatItSays(t *testing.T) {
	const stats = `"generation_stats":{"prompt_tps":1000.5,"generation_tps":20.0,"prompt_tokens":64,"generation_tokens":8,"peak_memory_usage":{"%s":2469606195},"prefix_cache_hit":"%s"}`
	const usage = `"usage":{"prompt_tokens":64,"completion_tokens":8,"total_tokens":72}`
	for _, c := range []struct {
		fault func(*fake)
		spec  collect.Spec
		want  string
	}{
		{nil, collect.Spec{}, "{" + fmt.Sprintf(stats, "in_bytes", "none") + "," + usage + "}"},
		{nil, collect.Spec{Cache: collect.CachePrefix}, "{" + fmt.Sprintf(stats, "in_bytes", "exact") + "," + usage + "}"},
		{nil, collect.Spec{Streaming: collect.StreamNone}, "{" + fmt.Sprintf(stats, "inBytes", "none") +
			`,"power_usage":{"elapsed_seconds":1.0,"nodes":[{"node_id":"10a1b2","samples":3,"avg_sys_power":100.0}],"total_energy_joules":100.0},"usage":null}`},
		{func(f *fake) { f.powerNull = true }, collect.Spec{Streaming: collect.StreamNone}, "{" + fmt.Sprintf(stats, "inBytes", "none") + `,"power_usage":null,"usage":null}`},
		{func(f *fake) { f.statsNull, f.noPower = true, true }, collect.Spec{Streaming: collect.StreamNone}, `{"generation_stats":null,"power_usage":{"elapsed_seconds":1.0,"nodes":[],"total_energy_joules":0.0},"usage":null}`},
		{nil, collect.Spec{Streaming: collect.StreamNone, Cache: collect.CacheServer}, "{" + usage + "}"},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			if c.fault != nil {
				c.fault(f)
			}
			got := f.measure(t.Context(), Options{}, c.spec)
			if r := got.requests()[0].Report; r.JSON != c.want {
				t.Errorf("%+v:\ngot  %s\nwant %s", c.spec, r.JSON, c.want)
			}
		})
	}
}

// TestBodies: what is sent is what exo-bench sends, and sampling only where
// it was asked for.
func TestBodies(t *testing.T) {
	zero, seed := 0.0, int64(7)
	prompt := strings.TrimSpace(strings.Repeat("word ", 55))
	messages := `{"model":"org/Demo-3B-4bit","messages":[{"role":"user","content":"` + prompt + `"}],"max_tokens":8`
	for _, c := range []struct {
		spec collect.Spec
		want string
	}{
		{collect.Spec{}, messages + `,"logprobs":false,"use_prefix_cache":false,"stream":true}`},
		{collect.Spec{Streaming: collect.StreamNone}, messages + `,"logprobs":false,"use_prefix_cache":false,"stream":false}`},
		{collect.Spec{Cache: collect.CachePrefix}, messages + `,"logprobs":false,"use_prefix_cache":true,"stream":true}`},
		{collect.Spec{Temperature: &zero, Seed: &seed}, messages + `,"logprobs":false,"use_prefix_cache":false,"stream":true,"temperature":0,"seed":7}`},
		{collect.Spec{Cache: collect.CacheServer, Temperature: &zero}, messages + `,"stream":true,"temperature":0}`},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			got := f.measure(t.Context(), Options{}, c.spec)
			if sent := f.sent(); len(sent) != 1 || sent[0] != c.want {
				t.Errorf("sent %q,\nwant %q", sent, c.want)
			}
			plain := c.spec.Cache == collect.CacheServer
			if n := len(f.bodies["POST "+plainPath]) > 0; n != plain {
				t.Errorf("plain endpoint: %v", n)
			}
			if cs := got.cases[0]; plain && (cs.EOSBan != "" || cs.ColdMethod != "") {
				t.Errorf("case %+v", *cs)
			}
			if c.spec.Temperature != nil && !strings.Contains(got.targets[0].Sampling, `"sent":{`) {
				t.Errorf("sampling %s", got.targets[0].Sampling)
			}
		})
	}
}

// TestPlacementsThatFail: each ends its target with a sentence that says why,
// and leaves nothing behind.
func TestPlacementsThatFail(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(*fake)
		words string
		took  time.Duration // at least
	}{
		{"runner-failed", func(f *fake) { f.runnerFailed = true }, "the runner on studio failed: out of memory in x.py", 0},
		{"never appears", func(f *fake) { f.neverAppears = true }, "accepted instance Pipeline-MlxRing-1-1, but after 1m0s there is no such instance", time.Minute},
		{"vanishes", func(f *fake) { f.vanishes = true }, "vanished while it was loading", 0},
		{"no runner", func(f *fake) { f.noRunner = true }, "no runner has come up on studio within 5m0s", 5 * time.Minute},
		{"stuck", func(f *fake) { f.stuckLoad = true }, "has not come on for 10m0s (studio loading 5/6 layers)", 10 * time.Minute},
		{"too large", func(f *fake) { f.put("theirs"); f.refusePost = "Insufficient memory to create instance" },
			"Insufficient memory to create instance (the cluster runs org/Demo-3B-4bit as theirs; instances of others are left alone", 0},
		{"deaf", func(f *fake) { f.resetPolls = 1 << 20 }, "has not answered for 1m0s", time.Minute},
	} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			c.fault(f)
			got := f.measure(t.Context(), Options{}, collect.Spec{FirstTimeout: 10 * time.Minute})
			if len(got.errs) != 1 || !strings.Contains(got.errs[0].Error(), c.words) {
				t.Errorf("%s: %v", c.name, got.errs)
			}
			if took := f.age(); took < c.took || took > c.took+2*time.Minute {
				t.Errorf("%s: took %v", c.name, took)
			}
			created := f.refusePost == ""
			deleted := strings.Contains(strings.Join(f.commands(), " "), "DELETE /instance/Pipeline-MlxRing-1-1")
			if created != deleted {
				t.Errorf("%s: commands %q", c.name, f.commands())
			}
		})
	}
}

// TestResets: connections that break while the instance loads are borne.
func TestResets(t *testing.T) {
	bubble(t, oneNode, func(t *testing.T, f *fake) {
		f.resetPolls = 25
		got := f.measure(t.Context(), Options{}, collect.Spec{})
		if len(got.errs) > 0 || len(got.batches) != 1 || got.requests()[0].Failure != nil {
			t.Errorf("%v", got.errs)
		}
	})
}

// TestSequential: the engine without batches is recognised, and its figures
// are taken for what they are.
func TestSequential(t *testing.T) {
	for _, streaming := range []collect.Streaming{collect.StreamAll, collect.StreamNone} {
		bubble(t, oneNode, func(t *testing.T, f *fake) {
			f.sequential = true
			got := f.measure(t.Context(), Options{}, collect.Spec{Streaming: streaming})
			r := got.requests()[0].Report
			if got.targets[0].Engine != "exo-sequential" || *got.targets[0].MaxStreams != 1 || r.GenerationRule != collect.RateTokens || *r.PromptTokens != 64 || !strings.Contains(r.JSON, `"prompt_tokens":65`) {
				t.Errorf("engine %s, %+v", got.targets[0].Engine, r)
			}
		})
	}
}

// TestRefusedCalls: no request leaves that exo would answer without end.
func TestRefusedCalls(t *testing.T) {
	bubble(t, oneNode, func(t *testing.T, f *fake) {
		for tg, err := range f.serve(Options{}).Targets(t.Context(), collect.Spec{Models: []string{fakeModel}}) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := tg.Open(t.Context(), collect.NewClock())
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int64{-5, 0, 1} {
				_, err := e.Open(t.Context(), collect.Call{MaxTokens: n, Stream: true, BanEOS: true})
				if f := collect.AsFailure(err, "none"); f.Kind != collect.ErrProtocol || !strings.Contains(f.Message, "at least 2") {
					t.Errorf("max_tokens %d: %v", n, err)
				}
			}
			if len(f.sent()) > 0 {
				t.Errorf("sent %q", f.sent())
			}
			if err := tg.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
