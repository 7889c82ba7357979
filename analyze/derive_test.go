package analyze_test

import (
	"math"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

const ms = 1_000_000 // ns

// trial is one request under test with what it belongs to.
type trial struct {
	target collect.TargetInfo
	cs     collect.Case
	batch  collect.Batch
	req    collect.Request
}

// newTrial is a good request: asked for 64 prompt tokens and 8 of output, it
// gets them one a chunk, the first at 100 ms and then every 20 ms, counts at
// 245 ms and the end at 250 ms.
func newTrial() *trial {
	t := &trial{
		target: collect.TargetInfo{Engine: "openai", Driver: "openai", ModelID: "demo-model"},
		cs:     collect.Case{PP: ptr(int64(64)), TG: 8, TGWanted: true, Concurrency: 1, CacheMode: collect.CacheCold, Streaming: true},
		batch:  collect.Batch{BatchID: 1, StartNS: 1000 * ms},
		req: collect.Request{RequestID: 1, StartNS: 1001 * ms, EndNS: 1251 * ms, PPTokens: ptr(int64(64)),
			HTTPStatus: ptr(int64(200)), Streamed: true, OutputChars: 32, Preview: "tok",
			Report: collect.Report{Source: collect.ReportServer, Model: "demo-model", FinishReason: "length",
				PromptTokens: ptr(int64(64)), CompletionTokens: ptr(int64(8))}},
	}
	t.stream(8, 100, 20)
	return t
}

// stream gives the request a role chunk at 5 ms and n chunks of text, and the counts 5 ms later.
func (t *trial) stream(n int, firstMS, everyMS int64) {
	t.req.Chunks = []collect.Chunk{{T: 5 * ms, Bytes: 10, Tokens: collect.TokensUnknown}}
	for i := range int64(n) {
		t.req.Chunks = append(t.req.Chunks, collect.Chunk{T: (firstMS + i*everyMS) * ms, Bytes: 10,
			Tokens: collect.TokensUnknown, Kind: collect.KindContent})
	}
	t.req.Chunks = append(t.req.Chunks, collect.Chunk{T: (firstMS + int64(n-1)*everyMS + 5) * ms, Bytes: 10, Tokens: collect.TokensUnknown, Kind: collect.KindUsage})
}

func (t *trial) derive() analyze.RequestRow {
	t.batch.Requests = []collect.Request{t.req}
	_, rows := analyze.Derive(analyze.Context{SessionID: "s", Target: &t.target, Case: &t.cs}, &t.batch, nil)
	return rows[0]
}

func ptr[T any](v T) *T { return &v }

// same compares a figure to 1e-9 of its size; nil is NULL.
func same(got, want *float64) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	return math.Abs(*got-*want) <= 1e-9*math.Max(1, math.Abs(*want))
}

func show(x *float64) any {
	if x == nil {
		return "NULL"
	}
	return *x
}

// want is the value of one column.
type want struct {
	name string
	got  func(*analyze.RequestRow) *float64
	want *float64
}

func figures(pairs ...any) []want {
	cols := map[string]func(*analyze.RequestRow) *float64{
		"ttft_ms":                func(r *analyze.RequestRow) *float64 { return r.TTFTMS },
		"ttft_client_ms":         func(r *analyze.RequestRow) *float64 { return r.TTFTClientMS },
		"first_chunk_ms":         func(r *analyze.RequestRow) *float64 { return r.FirstChunkMS },
		"first_text_ms":          func(r *analyze.RequestRow) *float64 { return r.FirstTextMS },
		"total_duration_ms":      func(r *analyze.RequestRow) *float64 { return r.TotalDurationMS },
		"response_ms":            func(r *analyze.RequestRow) *float64 { return r.ResponseMS },
		"generation_duration_ms": func(r *analyze.RequestRow) *float64 { return r.GenerationDurationMS },
		"load_duration_ms":       func(r *analyze.RequestRow) *float64 { return r.LoadDurationMS },
		"prompt_tps":             func(r *analyze.RequestRow) *float64 { return r.PromptTPS },
		"generation_tps":         func(r *analyze.RequestRow) *float64 { return r.GenerationTPS },
		"generation_tps_client":  func(r *analyze.RequestRow) *float64 { return r.GenerationTPSClient },
		"generation_tps_server":  func(r *analyze.RequestRow) *float64 { return r.GenerationTPSServer },
		"decode_tps":             func(r *analyze.RequestRow) *float64 { return r.DecodeTPS },
		"tok_per_sec":            func(r *analyze.RequestRow) *float64 { return r.TokPerSec },
		"elapsed_s":              func(r *analyze.RequestRow) *float64 { return r.ElapsedS },
		"itl_p50_ms":             func(r *analyze.RequestRow) *float64 { return r.ITLP50MS },
		"itl_p99_ms":             func(r *analyze.RequestRow) *float64 { return r.ITLP99MS },
		"itl_max_ms":             func(r *analyze.RequestRow) *float64 { return r.ITLMaxMS },
		"chunks":                 func(r *analyze.RequestRow) *float64 { return number(r.Chunks) },
		"tokens_generated":       func(r *analyze.RequestRow) *float64 { return number(r.TokensGenerated) },
		"prompt_tokens":          func(r *analyze.RequestRow) *float64 { return number(r.PromptTokens) },
		"cached_tokens":          func(r *analyze.RequestRow) *float64 { return number(r.CachedTokens) },
	}
	var out []want
	for i := 0; i < len(pairs); i += 2 {
		w := want{name: pairs[i].(string), got: cols[pairs[i].(string)]}
		if pairs[i+1] != nil {
			w.want = ptr(pairs[i+1].(float64))
		}
		out = append(out, w)
	}
	return out
}

func number(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return ptr(float64(*n))
}

// deriveCase changes the good request and says what must come out.
type deriveCase struct {
	name    string
	change  func(*trial)
	figures []want
	status  analyze.Status // default ok
	flags   []string       // all of them
	stats   string         // of "scp": in_stats, in_cold_stats, in_prefill_stats
	check   func(*testing.T, analyze.RequestRow)
}

func runDerive(t *testing.T, cases []deriveCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr := newTrial()
			c.change(tr)
			row := tr.derive()
			for _, w := range c.figures {
				if w.got == nil {
					t.Fatalf("no column %s", w.name)
				}
				if got := w.got(&row); !same(got, w.want) {
					t.Errorf("%s = %v, want %v", w.name, show(got), show(w.want))
				}
			}
			status := c.status
			if status == "" {
				status = analyze.StatusOK
			}
			if row.Status != status {
				t.Errorf("status %s, want %s", row.Status, status)
			}
			if !slices.Equal(row.Flags, c.flags) {
				t.Errorf("flags %q, want %q", row.Flags, c.flags)
			}
			if got := selections(&row); got != c.stats {
				t.Errorf("selections %q, want %q", got, c.stats)
			}
			if c.check != nil {
				c.check(t, row)
			}
		})
	}
}

func selections(r *analyze.RequestRow) string {
	s := ""
	if r.InStats {
		s += "s"
	}
	if r.InColdStats {
		s += "c"
	}
	if r.InPrefillStats {
		s += "p"
	}
	return s
}

func TestDeriveTimes(t *testing.T) {
	runDerive(t, []deriveCase{
		{name: "a good stream", change: func(*trial) {}, stats: "scp",
			figures: figures("first_chunk_ms", 5.0, "ttft_ms", 100.0, "ttft_client_ms", 100.0, "first_text_ms", 100.0,
				"total_duration_ms", 240.0, "response_ms", 250.0, "generation_duration_ms", 140.0, "load_duration_ms", nil,
				"elapsed_s", 0.251, "itl_p50_ms", 20.0, "itl_p99_ms", nil, "itl_max_ms", 20.0, "chunks", 8.0,
				"prompt_tps", 640.0, "generation_tps", 50.0, "generation_tps_client", 50.0, "generation_tps_server", nil,
				"decode_tps", nil, "tok_per_sec", 8/0.14)},
		{name: "reasoning is output, not text", stats: "scp",
			change: func(t *trial) {
				for i := 1; i < 6; i++ {
					t.req.Chunks[i].Kind = collect.KindReasoning
				}
			},
			figures: figures("ttft_ms", 100.0, "first_text_ms", 200.0, "chunks", 8.0)},
		{name: "a tool call alone is output", stats: "scp",
			change: func(t *trial) {
				for i := range t.req.Chunks[1:9] {
					t.req.Chunks[1+i].Kind = collect.KindTool
				}
			},
			figures: figures("ttft_ms", 100.0, "first_text_ms", nil, "total_duration_ms", 240.0)},
		{name: "p99 of a hundred gaps", stats: "scp",
			change: func(t *trial) {
				t.stream(101, 100, 1)
				t.cs.TG, t.req.Report.CompletionTokens = 101, ptr(int64(101))
				t.req.Chunks[101].T += 9 * ms // the last gap is 10 ms
				t.req.Chunks[102].T += 9 * ms
			},
			figures: figures("itl_p50_ms", 1.0, "itl_p99_ms", 1.09, "itl_max_ms", 10.0)},
		{name: "one body where a stream was asked", flags: []string{"not_streamed"}, stats: "scp",
			change: func(t *trial) {
				t.req.Streamed = false
				t.req.Chunks = []collect.Chunk{{T: 250 * ms, Bytes: 500, Tokens: -1, Kind: collect.KindContent}}
			},
			figures: figures("ttft_ms", nil, "ttft_client_ms", nil, "first_chunk_ms", nil, "first_text_ms", nil, "chunks", nil,
				"itl_p50_ms", nil, "generation_duration_ms", nil, "total_duration_ms", 250.0, "response_ms", 250.0,
				"prompt_tps", nil, "generation_tps", nil, "decode_tps", nil, "tok_per_sec", nil, "tokens_generated", 8.0)},
		{name: "one body as asked", stats: "scp",
			change: func(t *trial) {
				t.cs.Streaming, t.req.Streamed = false, false
				t.req.Chunks = []collect.Chunk{{T: 250 * ms, Bytes: 500, Tokens: -1, Kind: collect.KindContent}}
			},
			figures: figures("ttft_ms", nil, "total_duration_ms", 250.0, "elapsed_s", 0.251)},
		{name: "one body that shows nothing", status: analyze.StatusInvalid, flags: []string{"hidden_output", "not_streamed"},
			change:  func(t *trial) { t.req.Streamed, t.req.Chunks, t.req.OutputChars = false, nil, 0 },
			figures: figures("total_duration_ms", nil, "response_ms", 250.0, "tokens_generated", 8.0)},
		{name: "an end at the start", stats: "scp", change: func(t *trial) { t.req.EndNS = t.req.StartNS }},
		{name: "a start before the batch's", status: analyze.StatusInvalid, flags: []string{"bad_figure"},
			change: func(t *trial) { t.batch.StartNS = t.req.StartNS + 1 }},
		{name: "arrivals that go backwards", status: analyze.StatusInvalid, flags: []string{"ttft_exceeds_total", "bad_figure"},
			change:  func(t *trial) { t.req.Chunks[8].T = 50 * ms },
			figures: figures("ttft_ms", 100.0, "total_duration_ms", 50.0, "generation_duration_ms", 0.0, "tok_per_sec", 0.0)},
		{name: "a first output before the start", status: analyze.StatusInvalid, flags: []string{"bad_figure"},
			change:  func(t *trial) { t.req.Chunks = t.req.Chunks[1:]; t.req.Chunks[0].T = -ms },
			figures: figures("ttft_ms", -1.0, "total_duration_ms", 240.0)},
		{name: "the end before the start", status: analyze.StatusInvalid, flags: []string{"bad_figure"},
			change: func(t *trial) { t.req.EndNS = t.req.StartNS - 1 }},
	})
}

func TestDeriveCounts(t *testing.T) {
	runDerive(t, []deriveCase{
		{name: "no count: four characters a token", flags: []string{"estimated_tokens"}, stats: "scp",
			change:  func(t *trial) { t.req.Report.CompletionTokens = nil; t.req.OutputChars = 42 },
			figures: figures("tokens_generated", 10.0, "generation_tps", nil, "generation_tps_client", nil, "tok_per_sec", 10/0.14),
			check:   hasSource(analyze.SourceEstimate)},
		{name: "an estimate is at least 1", flags: []string{"estimated_tokens"}, stats: "scp",
			change:  func(t *trial) { t.req.Report.CompletionTokens = nil; t.req.OutputChars = 3 },
			figures: figures("tokens_generated", 1.0)},
		{name: "a count of 0 beside output is absent", flags: []string{"estimated_tokens"}, stats: "scp",
			change:  func(t *trial) { t.req.Report.CompletionTokens = ptr(int64(0)) },
			figures: figures("tokens_generated", 8.0), check: hasSource(analyze.SourceEstimate)},
		{name: "our own engine's count", stats: "scp",
			change: func(t *trial) { t.req.Report.Source = collect.ReportEngine },
			check:  hasSource(analyze.SourceEngine)},
		{name: "several tokens a chunk", flags: []string{"multi_token_chunks"}, stats: "scp",
			change: func(t *trial) {
				t.cs.TG, t.req.Report.CompletionTokens = 20, ptr(int64(20))
				t.stream(5, 60, 40)
				for i := range 5 {
					t.req.Chunks[1+i].Tokens = 4
				}
			},
			figures: figures("generation_tps", 118.75, "decode_tps", 100.0, "tok_per_sec", 125.0, "chunks", 5.0)},
		{name: "just few enough tokens a chunk", stats: "scp",
			change: func(t *trial) { t.stream(20, 100, 20); t.cs.TG, t.req.Report.CompletionTokens = 21, ptr(int64(21)) }},
		{name: "one token a chunk too many", flags: []string{"multi_token_chunks"}, stats: "scp",
			change: func(t *trial) { t.stream(20, 100, 20); t.cs.TG, t.req.Report.CompletionTokens = 22, ptr(int64(22)) }},
		{name: "two chunks of one read", flags: []string{"coalesced_reads"}, stats: "scp",
			change: func(t *trial) { t.req.Chunks[3].T = t.req.Chunks[2].T }},
		{name: "a read with the first chunk and no more output", stats: "scp",
			change: func(t *trial) { t.req.Chunks[0].T = t.req.Chunks[1].T }},
		{name: "output without text", flags: []string{"estimated_tokens"}, stats: "scp",
			change:  func(t *trial) { t.req.OutputChars, t.req.Report.CompletionTokens = 0, nil },
			figures: figures("tokens_generated", 1.0)},
		{name: "text without chunks", flags: []string{"estimated_tokens"}, stats: "scp",
			change:  func(t *trial) { t.req.Chunks, t.req.Report.CompletionTokens = nil, nil },
			figures: figures("tokens_generated", 8.0, "ttft_ms", nil, "chunks", 0.0)},
		{name: "no limit asked", stats: "scp", change: func(t *trial) { t.cs.TG, t.cs.TGWanted = 0, false }},
		{name: "fewer than wanted", flags: []string{"short_output"}, change: func(t *trial) { t.cs.TG = 9 }},
		{name: "fewer than a mere limit", stats: "scp", change: func(t *trial) { t.cs.TG, t.cs.TGWanted = 9, false }},
		{name: "more than asked", flags: []string{"long_output"}, stats: "scp", change: func(t *trial) { t.cs.TG = 7 }},
		{name: "an estimate is neither short nor long", flags: []string{"estimated_tokens"}, stats: "scp",
			change: func(t *trial) { t.cs.TG, t.req.Report.CompletionTokens = 100, nil }},
		{name: "a prompt count of 0 is absent", flags: []string{"prompt_mismatch"}, stats: "scp",
			change:  func(t *trial) { t.req.Report.PromptTokens = ptr(int64(0)) },
			figures: figures("prompt_tokens", nil, "prompt_tps", nil)},
		{name: "a prompt off by 2", flags: []string{"prompt_mismatch"}, stats: "scp",
			change: func(t *trial) { t.req.Report.PromptTokens = ptr(int64(66)) }, figures: figures("prompt_tps", 660.0)},
		{name: "a prompt off by 3", flags: []string{"prompt_mismatch"},
			change: func(t *trial) { t.req.Report.PromptTokens = ptr(int64(61)) }},
		{name: "a long prompt off by 1 %", flags: []string{"prompt_mismatch"}, stats: "scp",
			change: func(t *trial) { t.req.PPTokens, t.req.Report.PromptTokens = ptr(int64(4000)), ptr(int64(3960)) }},
		{name: "a prompt that was not verified, and is off by more", flags: []string{"prompt_mismatch"},
			change: func(t *trial) {
				t.req.PPTokens, t.cs.PP, t.req.Report.PromptTokens = nil, ptr(int64(64)), ptr(int64(80))
			}},
		{name: "an own prompt has no length to miss", stats: "scp",
			change: func(t *trial) { t.req.PPTokens, t.cs.PP = nil, nil }},
		{name: "tokens, but nothing shown", status: analyze.StatusInvalid, flags: []string{"hidden_output"},
			change: func(t *trial) { t.req.Chunks, t.req.OutputChars = t.req.Chunks[:1], 0 },
			figures: figures("tokens_generated", 8.0, "ttft_ms", nil, "first_chunk_ms", nil, "total_duration_ms", nil,
				"generation_tps", nil, "tok_per_sec", nil, "prompt_tps", nil, "chunks", 0.0)},
		{name: "a count of 0 and nothing shown", status: analyze.StatusFailed,
			change: func(t *trial) {
				t.req.Chunks, t.req.OutputChars, t.req.Report.CompletionTokens = nil, 0, ptr(int64(0))
				t.cs.TGWanted = false
			},
			figures: figures("tokens_generated", 0.0)},
		{name: "nothing at all", status: analyze.StatusFailed, flags: nil,
			change: func(t *trial) {
				t.req.Chunks, t.req.OutputChars, t.req.Report.CompletionTokens = nil, 0, nil
			},
			check: func(t *testing.T, r analyze.RequestRow) {
				if r.ErrorKind != "empty" {
					t.Errorf("error_kind %q", r.ErrorKind)
				}
			}},
	})
}

func hasSource(s analyze.Source) func(*testing.T, analyze.RequestRow) {
	return func(t *testing.T, r analyze.RequestRow) {
		if r.TokensSource != s {
			t.Errorf("tokens_source %s, want %s", r.TokensSource, s)
		}
	}
}

func TestDeriveRates(t *testing.T) {
	runDerive(t, []deriveCase{
		{name: "a server whose rule is ours leads", stats: "scp",
			change: func(t *trial) {
				r := &t.req.Report
				r.PromptTPS, r.GenerationTPS, r.GenerationRule = ptr(800.0), ptr(47.62), collect.RateIntervals
			},
			figures: figures("prompt_tps", 800.0, "generation_tps", 47.62, "generation_tps_client", 50.0, "generation_tps_server", 47.62),
			check:   hasRateSource(analyze.SourceServer)},
		{name: "a server with another rule does not", stats: "scp",
			change: func(t *trial) {
				t.req.Report.GenerationTPS, t.req.Report.GenerationRule = ptr(57.1), collect.RateTokens
			},
			figures: figures("generation_tps", 50.0, "generation_tps_server", 57.1), check: hasRateSource(analyze.SourceClient)},
		{name: "a server's 0.0 is no rate", stats: "scp",
			change: func(t *trial) {
				r := &t.req.Report
				r.PromptTPS, r.GenerationTPS, r.GenerationRule = ptr(0.0), ptr(0.0), collect.RateIntervals
			},
			figures: figures("prompt_tps", 640.0, "generation_tps", 50.0, "generation_tps_server", nil)},
		{name: "an impossible rate of the server", flags: []string{"implausible"},
			change: func(t *trial) {
				r := &t.req.Report
				r.PromptTPS, r.GenerationTPS, r.GenerationRule = ptr(2.1e6), ptr(20001.0), collect.RateIntervals
			},
			figures: figures("prompt_tps", 640.0, "generation_tps", 50.0, "generation_tps_server", 20001.0)},
		{name: "rates at the limits of the possible", stats: "scp",
			change: func(t *trial) {
				r := &t.req.Report
				r.PromptTPS, r.GenerationTPS, r.GenerationRule = ptr(2e6), ptr(20_000.0), collect.RateIntervals
			},
			figures: figures("prompt_tps", 2e6, "generation_tps", 20_000.0)},
		{name: "an impossible prompt rate of our own", flags: []string{"implausible"},
			change: func(t *trial) {
				t.req.Chunks = t.req.Chunks[1:]
				t.req.Chunks[0].T = 10_000
			},
			figures: figures("prompt_tps", 6.4e6)},
		{name: "durations without rates are not made into rates", stats: "scp",
			change: func(t *trial) {
				t.req.Report.PromptEvalNS, t.req.Report.EvalNS = ptr(80.0*ms), ptr(150.0*ms)
			},
			figures: figures("prompt_tps", 640.0, "generation_tps_server", nil, "ttft_ms", 100.0, "generation_duration_ms", 140.0)},
		{name: "a rate that is not a number", status: analyze.StatusInvalid, flags: []string{"bad_figure"},
			change:  func(t *trial) { t.req.Report.GenerationTPS = ptr(math.NaN()) },
			figures: figures("generation_tps", 50.0, "generation_tps_server", nil)},
		{name: "a negative count", status: analyze.StatusInvalid, flags: []string{"bad_figure"},
			change: func(t *trial) { t.req.Report.CachedTokens = ptr(int64(-1)) }, figures: figures("cached_tokens", nil)},
		{name: "all tokens in one packet", flags: []string{"coalesced_reads"}, stats: "scp",
			change:  func(t *trial) { t.stream(8, 100, 0) },
			figures: figures("generation_tps", nil, "tok_per_sec", 0.0, "itl_p50_ms", nil, "itl_max_ms", 0.0, "total_duration_ms", 100.0)},
		{name: "a quarter of the gaps lost", flags: []string{"coalesced_reads"}, stats: "scp",
			change: func(t *trial) {
				t.stream(9, 100, 10)
				t.cs.TG, t.req.Report.CompletionTokens = 9, ptr(int64(9))
				t.req.Chunks[2].T, t.req.Chunks[6].T = t.req.Chunks[3].T, t.req.Chunks[7].T
			},
			figures: figures("itl_p50_ms", 10.0, "itl_max_ms", 20.0)},
		{name: "over a quarter of the gaps lost", flags: []string{"coalesced_reads"}, stats: "scp",
			change: func(t *trial) {
				t.stream(9, 100, 10)
				t.cs.TG, t.req.Report.CompletionTokens = 9, ptr(int64(9))
				for _, i := range []int{2, 4, 6} {
					t.req.Chunks[i].T = t.req.Chunks[i+1].T
				}
			},
			figures: figures("itl_p50_ms", nil, "itl_p99_ms", nil, "itl_max_ms", 20.0, "generation_tps_client", 100.0)},
		{name: "a span just under the floor", stats: "scp",
			change:  func(t *trial) { t.stream(8, 100, 1); t.req.Chunks[8].T = 110*ms - 1 },
			figures: figures("generation_tps", nil, "tok_per_sec", 0.0)},
		{name: "a span at the floor", stats: "scp",
			change:  func(t *trial) { t.stream(8, 100, 1); t.req.Chunks[8].T = 110 * ms },
			figures: figures("generation_tps", 700.0, "tok_per_sec", 800.0)},
		{name: "one token", stats: "scp",
			change: func(t *trial) {
				t.stream(1, 80, 0)
				t.cs.TG, t.req.Report.CompletionTokens = 1, ptr(int64(1))
			},
			figures: figures("generation_tps", nil, "tok_per_sec", 0.0, "ttft_ms", 80.0)},
		{name: "a first chunk of unknown tokens", stats: "scp",
			change:  func(t *trial) { t.req.Chunks[1].Tokens = 0 },
			figures: figures("decode_tps", nil)},
		{name: "a first chunk with all tokens", stats: "scp",
			change:  func(t *trial) { t.req.Chunks[1].Tokens = 8 },
			figures: figures("decode_tps", nil)},
	})
}

func hasRateSource(s analyze.Source) func(*testing.T, analyze.RequestRow) {
	return func(t *testing.T, r analyze.RequestRow) {
		if r.GenerationTPSSource != s {
			t.Errorf("generation_tps_source %s, want %s", r.GenerationTPSSource, s)
		}
	}
}

func TestDeriveCache(t *testing.T) {
	cached := func(n int64) func(*trial) {
		return func(t *trial) { t.req.Report.CachedTokens = &n }
	}
	hit := func(h analyze.CacheHit) func(*testing.T, analyze.RequestRow) {
		return func(t *testing.T, r analyze.RequestRow) {
			if r.PrefixCacheHit != h {
				t.Errorf("prefix_cache_hit %s, want %s", r.PrefixCacheHit, h)
			}
		}
	}
	runDerive(t, []deriveCase{
		{name: "not reported", change: func(*trial) {}, stats: "scp", check: hit(analyze.HitUnknown)},
		{name: "none", change: cached(0), stats: "scp", check: hit(analyze.HitNone)},
		{name: "partial", change: cached(48), flags: []string{"cache_hit_in_cold"}, stats: "sp", check: hit(analyze.HitPartial),
			figures: figures("prompt_tps", 160.0)},
		{name: "all but the last token", change: cached(63), flags: []string{"cache_hit_in_cold"}, stats: "s",
			check: hit(analyze.HitExact), figures: figures("prompt_tps", nil)},
		{name: "the template's head", stats: "scp", check: hit(analyze.HitPartial),
			change: func(t *trial) { cached(5)(t); t.cs.TemplateHeadTokens = ptr(int64(5)) }},
		{name: "one more than the head", flags: []string{"cache_hit_in_cold"}, stats: "sp",
			change: func(t *trial) { cached(6)(t); t.cs.TemplateHeadTokens = ptr(int64(5)) }},
		{name: "two words of a nonce", stats: "scp", check: hit(analyze.HitPartial),
			change: func(t *trial) { cached(7)(t); t.cs.TemplateHeadTokens, t.cs.ColdMethod = ptr(int64(5)), "nonce" }},
		{name: "three words of a nonce", flags: []string{"cache_hit_in_cold"}, stats: "sp",
			change: func(t *trial) { cached(8)(t); t.cs.TemplateHeadTokens, t.cs.ColdMethod = ptr(int64(5)), "nonce" }},
		{name: "a word of a nonce, the head unknown", stats: "scp", check: hit(analyze.HitPartial),
			change: func(t *trial) { cached(1)(t); t.cs.ColdMethod = "nonce" }},
		{name: "an engine's own switch allows nothing", flags: []string{"cache_hit_in_cold"}, stats: "sp",
			change: func(t *trial) { cached(6)(t); t.cs.TemplateHeadTokens, t.cs.ColdMethod = ptr(int64(5)), "engine" }},
		{name: "wanted hits are no surprise", stats: "s", check: hit(analyze.HitExact),
			change: func(t *trial) { cached(64)(t); t.cs.CacheMode = collect.CachePrefix }},
		{name: "the server's own word", stats: "s", check: hit(analyze.HitExact), figures: figures("prompt_tps", 1500.0),
			change: func(t *trial) {
				t.cs.CacheMode = collect.CachePrefix
				t.req.Report.PrefixCacheHit, t.req.Report.PromptTPS = "exact", ptr(1500.0)
			}},
	})
}

func TestDeriveStatus(t *testing.T) {
	fail := func(k collect.ErrorKind) func(*trial) {
		return func(t *trial) { t.req.Failure = collect.Failf(k, "why") }
	}
	runDerive(t, []deriveCase{
		{name: "cut off midway", status: analyze.StatusFailed, flags: []string{"estimated_tokens"},
			change: func(t *trial) {
				fail(collect.ErrTruncated)(t)
				t.req.Chunks, t.req.OutputChars = t.req.Chunks[:5], 16
				t.req.Report = collect.Report{}
			},
			figures: figures("chunks", 4.0, "ttft_ms", 100.0, "tokens_generated", 4.0, "response_ms", nil, "generation_tps", nil)},
		{name: "refused", status: analyze.StatusFailed,
			change: func(t *trial) {
				t.req = collect.Request{RequestID: 1, StartNS: 1001 * ms, EndNS: 1011 * ms, PPTokens: ptr(int64(64)), HTTPStatus: ptr(int64(429)),
					Failure: &collect.Failure{Kind: collect.ErrHTTP, Message: "slow down", RetryAfter: ptr(1.0)}}
			},
			figures: figures("ttft_ms", nil, "tokens_generated", nil, "chunks", nil, "total_duration_ms", nil, "elapsed_s", 0.011),
			check: func(t *testing.T, r analyze.RequestRow) {
				if r.ErrorKind != "http" || r.Error != "slow down" || *r.HTTPStatus != 429 || *r.RetryAfterS != 1 {
					t.Errorf("%+v", r)
				}
			}},
		{name: "aborted by the server", status: analyze.StatusFailed, flags: []string{"short_output"},
			change: func(t *trial) { fail(collect.ErrServer)(t); t.req.Report.CompletionTokens = ptr(int64(5)) }},
		{name: "a warm-up", change: func(t *trial) { t.batch.Warmup = true }},
		{name: "another model", flags: []string{"model_mismatch"}, stats: "scp",
			change: func(t *trial) { t.req.Report.Model = "other" }},
		{name: "the same model by its hub id", stats: "scp", change: func(t *trial) { t.req.Report.Model = "org/demo-model" }},
		{name: "the same model by its path", stats: "scp", change: func(t *trial) { t.req.Report.Model = "/models/demo-model/" }},
		{name: "a model that is not said", stats: "scp", change: func(t *trial) { t.req.Report.Model = "" }},
		{name: "marks of target, batch and transfer", stats: "scp",
			flags: []string{"unclean_end", "model_unlisted", "client_saturated", "clock_step", "queued"},
			change: func(t *trial) {
				t.req.UncleanEnd, t.target.Unlisted = true, true
				t.batch.WakeupP99NS, t.batch.ClockStepNS = ptr(int64(2*ms+1)), -51*ms
				t.target.Engine, t.cs.Concurrency = "exo", 9
			}},
		{name: "a clock just set back", stats: "scp", change: func(t *trial) { t.batch.ClockStepNS = -50 * ms }},
		{name: "marks just below", stats: "scp",
			change: func(t *trial) {
				t.batch.ClientCPUPct, t.batch.WakeupP99NS, t.batch.ClockStepNS = ptr(70.0), ptr(int64(2*ms)), 50*ms
				t.target.Engine, t.cs.Concurrency = "exo", 8
			}},
	})
}
