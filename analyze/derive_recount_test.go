package analyze_test

import (
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// recount says what the model's tokenizer counts.
func (t *trial) recount(all, first int64) {
	t.req.Recount = &collect.Recount{Tokens: all, First: first}
}

func TestDeriveRecount(t *testing.T) {
	runDerive(t, []deriveCase{
		{name: "in place of a count that is missing", stats: "scp",
			change:  func(t *trial) { t.req.Report.CompletionTokens = nil; t.recount(8, 1) },
			figures: figures("tokens_generated", 8.0, "generation_tps", 50.0, "decode_tps", 50.0, "tok_per_sec", 8/0.14),
			check:   hasSource(analyze.SourceTokenizer)},
		{name: "in place of a 0 beside output", stats: "scp",
			change: func(t *trial) { t.req.Report.CompletionTokens = ptr(int64(0)); t.recount(8, 1) },
			check:  hasSource(analyze.SourceTokenizer)},
		{name: "short by recount", flags: []string{"short_output"},
			change: func(t *trial) { t.req.Report.CompletionTokens = nil; t.recount(7, 1) }},
		{name: "a server's count leads", stats: "scp",
			change:  func(t *trial) { t.recount(6, 1) },
			figures: figures("tokens_generated", 8.0), check: hasSource(analyze.SourceServer)},
		{name: "an engine's count leads", stats: "scp",
			change: func(t *trial) { t.req.Report.Source = collect.ReportEngine; t.recount(10, 1) },
			check:  hasSource(analyze.SourceEngine)},
		{name: "apart by more than 2", flags: []string{"count_mismatch"}, stats: "scp", change: func(t *trial) { t.recount(5, 1) }},
		{name: "apart by more than 2, upwards", flags: []string{"count_mismatch"}, stats: "scp", change: func(t *trial) { t.recount(11, 1) }},
		{name: "apart by 2 % of many", stats: "scp",
			change: func(t *trial) {
				t.stream(500, 100, 20)
				t.cs.TG, t.req.Report.CompletionTokens = 500, ptr(int64(500))
				t.recount(490, 1)
			}},
		{name: "apart by more than 2 % of many", flags: []string{"count_mismatch"}, stats: "scp",
			change: func(t *trial) {
				t.stream(500, 100, 20)
				t.cs.TG, t.req.Report.CompletionTokens = 500, ptr(int64(500))
				t.recount(489, 1)
			}},
		{name: "a count of nothing is no recount", flags: []string{"estimated_tokens"}, stats: "scp",
			change: func(t *trial) { t.req.Report.CompletionTokens = nil; t.recount(0, 0) },
			check:  hasSource(analyze.SourceEstimate)},
		{name: "hidden output was not counted anew", status: analyze.StatusInvalid, flags: []string{"hidden_output"},
			change: func(t *trial) { t.req.Chunks, t.req.OutputChars = t.req.Chunks[:1], 0; t.recount(0, 0) }},
		{name: "k is the recount of the first chunk", stats: "scp",
			change: func(t *trial) { t.recount(8, 4) }, figures: figures("decode_tps", 4/0.14, "generation_tps", 50.0)},
		{name: "the server's own chunks lead", flags: []string{"multi_token_chunks"}, stats: "scp",
			change: func(t *trial) {
				t.cs.TG, t.req.Report.CompletionTokens = 20, ptr(int64(20))
				t.stream(5, 60, 40)
				for i := range 5 {
					t.req.Chunks[1+i].Tokens = 4
				}
				t.recount(20, 3)
			},
			figures: figures("decode_tps", 100.0)},
		{name: "chunks that do not add up do not", stats: "scp",
			change:  func(t *trial) { t.req.Chunks[1].Tokens = 8; t.recount(8, 2) },
			figures: figures("decode_tps", 6/0.14)},
		{name: "a first chunk of more than all", stats: "scp",
			change: func(t *trial) { t.recount(8, 9) }, figures: figures("decode_tps", nil)},
		{name: "cut off, and counted by us", status: analyze.StatusFailed, flags: []string{"short_output"},
			change: func(t *trial) {
				t.req.Failure, t.req.Report = collect.Failf(collect.ErrTruncated, "why"), collect.Report{}
				t.recount(5, 1)
			},
			figures: figures("tokens_generated", 5.0), check: hasSource(analyze.SourceTokenizer)},
	})
}

// TestDeriveExo: the driver's reports keep exo's words, which lead.
func TestDeriveExo(t *testing.T) {
	exo := func(t *trial) {
		t.target.Driver, t.target.Engine = "exo", "exo"
		r := &t.req.Report
		r.PromptTPS, r.GenerationTPS, r.GenerationRule = ptr(720.0), ptr(49.2), collect.RateIntervals
		r.PrefixCacheHit, r.PeakMemoryBytes = "none", ptr(int64(2469606195))
	}
	whole := func(t *trial) {
		exo(t)
		t.cs.Streaming, t.req.Streamed = false, false
		t.req.Chunks = []collect.Chunk{{T: 250 * ms, Bytes: 500, Tokens: -1, Kind: collect.KindContent}}
	}
	sources := func(prompt, generation analyze.Source) func(*testing.T, analyze.RequestRow) {
		return func(t *testing.T, r analyze.RequestRow) {
			if r.PromptTPSSource != prompt || r.GenerationTPSSource != generation {
				t.Errorf("sources %q and %q, want %q and %q", r.PromptTPSSource, r.GenerationTPSSource, prompt, generation)
			}
			if r.PeakMemoryBytes == nil || *r.PeakMemoryBytes != 2469606195 {
				t.Errorf("peak_memory_bytes %v, not as exo says", r.PeakMemoryBytes)
			}
		}
	}
	runDerive(t, []deriveCase{
		{name: "streamed", change: exo, stats: "scp", check: sources(analyze.SourceServer, analyze.SourceServer),
			figures: figures("prompt_tps", 720.0, "generation_tps", 49.2, "generation_tps_client", 50.0, "ttft_ms", 100.0, "tok_per_sec", 8/0.14)},
		{name: "whole", change: whole, stats: "scp", check: sources(analyze.SourceServer, analyze.SourceServer),
			figures: figures("prompt_tps", 720.0, "generation_tps", 49.2, "generation_tps_client", nil, "ttft_ms", nil,
				"total_duration_ms", 250.0, "tok_per_sec", nil, "generation_duration_ms", nil)},
		{name: "the sequential engine's rate has another rule", stats: "scp", check: sources(analyze.SourceServer, analyze.SourceClient),
			change:  func(t *trial) { exo(t); t.req.Report.GenerationRule = collect.RateTokens },
			figures: figures("generation_tps", 50.0, "generation_tps_server", 49.2)},
		{name: "the sequential engine, whole", stats: "scp", check: sources(analyze.SourceServer, ""),
			change:  func(t *trial) { whole(t); t.req.Report.GenerationRule = collect.RateTokens },
			figures: figures("generation_tps", nil, "generation_tps_server", 49.2)},
		{name: "no interval", check: sources(analyze.SourceServer, ""), stats: "scp",
			change: func(t *trial) {
				whole(t)
				t.cs.TG, t.req.Report.GenerationTPS, t.req.Report.CompletionTokens = 1, ptr(0.0), ptr(int64(1))
			},
			figures: figures("generation_tps", nil, "generation_tps_server", nil, "tokens_generated", 1.0)},
		{name: "an exact hit keeps the stored rate", check: sources(analyze.SourceServer, analyze.SourceServer), stats: "s",
			change: func(t *trial) {
				whole(t)
				t.cs.CacheMode, t.req.Report.PrefixCacheHit = collect.CachePrefix, "exact"
			},
			figures: figures("prompt_tps", 720.0)},
		{name: "a hit in a cold case", flags: []string{"cache_hit_in_cold"}, stats: "s", check: sources(analyze.SourceServer, analyze.SourceServer),
			change: func(t *trial) { whole(t); t.req.Report.PrefixCacheHit = "exact" }},
		{name: "a part of it", flags: []string{"cache_hit_in_cold"}, stats: "scp", check: sources(analyze.SourceServer, analyze.SourceServer),
			change: func(t *trial) { whole(t); t.req.Report.PrefixCacheHit = "partial" }},
	})
}

// TestSourcesByDriver holds whose word each figure is, for the same answer
// through each driver.
func TestSourcesByDriver(t *testing.T) {
	for driver, want := range map[string]struct {
		change                     func(*trial)
		tokens, prompt, generation analyze.Source
	}{
		"openai": {func(*trial) {}, analyze.SourceServer, analyze.SourceClient, analyze.SourceClient},
		"ollama": {func(t *trial) { ollama(t, 245, 1, 95, 140) }, analyze.SourceServer, analyze.SourceServer, analyze.SourceClient},
		"exo": {func(t *trial) {
			r := &t.req.Report
			r.PromptTPS, r.GenerationTPS, r.GenerationRule = ptr(700.0), ptr(49.0), collect.RateIntervals
		}, analyze.SourceServer, analyze.SourceServer, analyze.SourceServer},
		"inproc": {func(t *trial) {
			r := &t.req.Report
			r.Source, r.PromptTPS, r.GenerationTPS, r.GenerationRule = collect.ReportEngine, ptr(700.0), ptr(49.0), collect.RateIntervals
		}, analyze.SourceEngine, analyze.SourceEngine, analyze.SourceEngine},
	} {
		tr := newTrial()
		tr.target.Driver = driver
		want.change(tr)
		r := tr.derive()
		if r.TokensSource != want.tokens || r.PromptTPSSource != want.prompt || r.GenerationTPSSource != want.generation {
			t.Errorf("%s: tokens %s, prompt %s, generation %s", driver, r.TokensSource, r.PromptTPSSource, r.GenerationTPSSource)
		}
		if r.TTFTClientMS == nil || *r.TTFTClientMS != 100 {
			t.Errorf("%s: ttft_client_ms %v, want 100", driver, show(r.TTFTClientMS))
		}
	}
}
