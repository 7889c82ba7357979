package analyze_test

import (
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// ollama turns a trial into one whose server states durations in ms.
func ollama(t *trial, total, load, prompt, eval float64) {
	t.target.Driver, t.target.Engine = "ollama", "ollama"
	r := &t.req.Report
	r.TotalNS, r.LoadNS, r.PromptEvalNS, r.EvalNS = ptr(total*ms), ptr(load*ms), ptr(prompt*ms), ptr(eval*ms)
}

func TestDeriveOllama(t *testing.T) {
	runDerive(t, []deriveCase{
		{name: "the server's durations", stats: "scp",
			change: func(t *trial) { ollama(t, 245, 1, 95, 140) },
			figures: figures("ttft_ms", 95.0, "ttft_client_ms", 100.0, "total_duration_ms", 245.0, "generation_duration_ms", 140.0,
				"load_duration_ms", 1.0, "tok_per_sec", 8/0.14, "prompt_tps", 64/0.095, "generation_tps", 50.0, "generation_tps_server", 8/0.14),
			check: hasRateSource(analyze.SourceClient)},
		{name: "a long load is not implausible", stats: "scp",
			change: func(t *trial) {
				ollama(t, 100_240, 100_000, 95, 140)
				t.req.EndNS += 100_000 * ms
				for i := range t.req.Chunks {
					t.req.Chunks[i].T += 100_000 * ms
				}
			},
			figures: figures("load_duration_ms", 100_000.0, "prompt_tps", 64/0.095)},
		{name: "durations in the wrong unit", flags: []string{"implausible"},
			change:  func(t *trial) { ollama(t, 245, 1, 95e-6, 140e-6) },
			figures: figures("tok_per_sec", 0.0, "prompt_tps", 640.0, "generation_tps", 50.0, "ttft_ms", 95e-6)},
		{name: "apart by a factor of 20", stats: "scp", change: func(t *trial) { ollama(t, 245, 0, 5, 2800) }},
		{name: "apart by more, shorter", flags: []string{"implausible"}, change: func(t *trial) { ollama(t, 245, 0, 4.99, 140) }},
		{name: "apart by more, longer", flags: []string{"implausible"}, change: func(t *trial) { ollama(t, 245, 0, 95, 2801) }},
		{name: "compared from 20 ms on", flags: []string{"implausible"},
			change: func(t *trial) { ollama(t, 245, 80, 95, 140); t.req.Report.PromptEvalNS = ptr(0.9 * ms) }},
		{name: "not compared under 20 ms", stats: "scp",
			change: func(t *trial) { ollama(t, 245, 81, 95, 140); t.req.Report.PromptEvalNS = ptr(0.9 * ms) }},
		{name: "nothing cached, so compared", flags: []string{"implausible"},
			change: func(t *trial) { ollama(t, 245, 1, 4, 140); t.req.Report.CachedTokens = ptr(int64(0)) }},
		{name: "a part cached, so not", stats: "scp",
			change: func(t *trial) {
				ollama(t, 245, 1, 4, 140)
				t.req.Report.CachedTokens, t.cs.TemplateHeadTokens = ptr(int64(60)), ptr(int64(60))
			}},
		{name: "a total in the wrong unit", flags: []string{"implausible", "ttft_exceeds_total"}, status: analyze.StatusInvalid,
			change: func(t *trial) { ollama(t, 245e-6, 0, 95, 140) }},
		{name: "several streams are not compared", stats: "scp",
			change: func(t *trial) { ollama(t, 245, 1, 4, 140); t.cs.Concurrency = 4 }},
		{name: "a duration of 0 is short, not wrong", stats: "scp",
			change:  func(t *trial) { ollama(t, 245, 1, 95, 0) },
			figures: figures("tok_per_sec", 0.0, "generation_duration_ms", 0.0, "generation_tps", 50.0, "generation_tps_server", nil)},
		{name: "no eval_duration", stats: "scp",
			change:  func(t *trial) { ollama(t, 245, 1, 95, 140); t.req.Report.EvalNS = nil },
			figures: figures("tok_per_sec", nil, "generation_duration_ms", nil, "generation_tps_server", nil)},
		{name: "no prompt count: all of it was cached", flags: []string{"cache_hit_in_cold", "prompt_mismatch"}, stats: "s",
			change: func(t *trial) {
				ollama(t, 245, 1, 95, 140)
				t.req.Report.PromptTokens, t.req.Report.PromptEvalNS = nil, nil
			},
			figures: figures("ttft_ms", nil, "ttft_client_ms", 100.0, "prompt_tps", nil),
			check: func(t *testing.T, r analyze.RequestRow) {
				if r.PrefixCacheHit != analyze.HitExact {
					t.Errorf("hit %s", r.PrefixCacheHit)
				}
			}},
		{name: "a cached part is not computed", flags: []string{"cache_hit_in_cold"}, stats: "sp",
			change:  func(t *trial) { ollama(t, 245, 1, 12, 140); t.req.Report.CachedTokens = ptr(int64(60)) },
			figures: figures("prompt_tps", 4/0.012)},
		{name: "nothing of the kind came", status: analyze.StatusFailed, flags: []string{"estimated_tokens"},
			change: func(t *trial) {
				t.target.Driver = "ollama"
				t.req.Failure, t.req.Report = collect.Failf(collect.ErrServer, "while running"), collect.Report{}
			},
			figures: figures("ttft_ms", nil, "ttft_client_ms", 100.0, "chunks", 8.0)},
	})
}
