package exchange_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// TestGuidellmWarmUp holds which rows are measured against guidellm's own count:
// it lists the requests of its warm-up with the others.
func TestGuidellmWarmUp(t *testing.T) {
	text := peerFile(t, "guidellm-0.6.1-warmup.json")
	var said struct {
		Benchmarks []struct {
			Metrics struct {
				Totals struct{ Successful, Errored, Incomplete int } `json:"request_totals"`
			}
		}
	}
	unmarshal(t, []byte(text), &said)
	got := imported(t, text)
	type count struct{ ok, failed int }
	measured, warm := map[int64]count{}, 0
	for i, row := range got.rows {
		c := measured[got.cases[got.of[i]].CaseID]
		switch {
		case got.batches[got.of[i]].Warmup:
			warm++
		case row.Status == analyze.StatusOK:
			c.ok++
		default:
			c.failed++
		}
		measured[got.cases[got.of[i]].CaseID] = c
	}
	if len(got.rows) != 28 || warm == 0 || len(got.errors) > 0 {
		t.Errorf("%d rows, %d warm-ups, %v", len(got.rows), warm, got.errors)
	}
	for i, b := range said.Benchmarks {
		if n := b.Metrics.Totals; measured[int64(i+1)] != (count{n.Successful, n.Errored + n.Incomplete}) {
			t.Errorf("benchmark %d: %+v measured, it says %+v", i, measured[int64(i+1)], n)
		}
	}
}

// TestGuidellmBatches: the requests of a load level are one batch, apart from
// those of its warm-up.
func TestGuidellmBatches(t *testing.T) {
	for name, want := range map[string]int{"guidellm-0.3.1.json": 1, "guidellm-0.8.1.json": 1, "guidellm-0.6.1-warmup.json": 4} {
		if got := imported(t, peerFile(t, name)); len(got.batches) != want {
			t.Errorf("%s: %d batches, want %d", name, len(got.batches), want)
		}
	}
}

// TestAsiaiModes reads what asiai's other modes export: single requests where
// there are some, else the averages and a word of how to get requests.
func TestAsiaiModes(t *testing.T) {
	got := imported(t, peerFile(t, "asiai-1.34.0-agentic.json"))
	if len(got.rows) != 8 || len(got.errors) > 0 || len(got.sessions) != 1 {
		t.Fatalf("%d rows, %v", len(got.rows), got.errors)
	}
	r := got.rows[0]
	if *r.TTFTMS != 34 || *r.TotalDurationMS != 1630 || *r.TokensGenerated != 400 || *r.PromptTokens != 4481 || *r.GenerationTPS != 250.08 ||
		r.GenerationTPSSource != analyze.SourceImport || r.FinishReason != "length" || got.cases[0].PromptKind != "cold" {
		t.Errorf("%+v", r)
	}
	if x := got.targets[0]; x.Engine != "ollama" || x.EngineVersion != "0.12.0" || x.ModelID != "mock-model" || x.Endpoint == "" {
		t.Errorf("%+v", x)
	}
	if s := got.sessions[0]; s.StartedAt.Unix() != 1796033970 || strings.Contains(s.Imported.Extra, `"completion_tokens"`) {
		t.Errorf("%+v", s)
	}
	lost := ""
	text := peerFile(t, "asiai-1.34.0-burst.json")
	for rec := range exchange.Read(t.Context(), exchange.Input{Name: "x", R: strings.NewReader(text), Size: int64(len(text))}) {
		if l, ok := rec.(*collect.Lost); ok {
			lost = l.Message
		}
	}
	if !strings.Contains(lost, "burst") {
		t.Errorf("lost says %q", lost)
	}
	if got = imported(t, strings.Replace(peerFile(t, "asiai-1.34.0-agentic.json"), `"wall_total_ms": 1682`, `"wall_total_ms": "long"`, 1)); len(got.rows) != 7 || len(got.errors) != 1 || !strings.Contains(got.errors[0].Error(), "runs[1]") {
		t.Errorf("a bad run: %d rows, %v", len(got.rows), got.errors)
	}
}

// TestAsiaiMemory: what asiai calls VRAM is memory of the GPU.
func TestAsiaiMemory(t *testing.T) {
	if x := imported(t, peerFile(t, "asiai-1.34.0.json")).targets[0]; x.ModelBytes != nil || x.ModelGPUBytes == nil || *x.ModelGPUBytes != 1<<30 {
		t.Errorf("%+v", x)
	}
}

// TestBenchNoise puts what llama-bench -v prints to stderr between its rows: it
// takes none away and is no bad row itself, and a cut row still is one.
func TestBenchNoise(t *testing.T) {
	text := peerFile(t, "llama-bench-11434.csv")
	whole := imported(t, text)
	noise := []string{
		"warning: asserts enabled, performance may be affected",
		"llama_kv_cache_init: kv_size = 32, offload = 1, type_k = 'f16', type_v = 'f16', n_layer = 2, can_shift = 1",
		`print_info: general.name = "tiny, of 2`,
		"llama_perf_context_print: prompt eval time = 0.00 ms / 48 tokens ( 0.00 ms per token, inf tokens per second)",
	}
	var b strings.Builder
	for i, l := range strings.SplitAfter(text, "\n") {
		b.WriteString(l + noise[i%len(noise)] + "\n")
	}
	got := imported(t, b.String())
	if len(got.errors) > 0 || len(got.rows) != len(whole.rows) {
		t.Errorf("%d rows of %d, %v", len(got.rows), len(whole.rows), got.errors)
	}
	cut := strings.TrimRight(text, "\n")
	got = imported(t, cut[:strings.LastIndex(cut, ",")]+"\n"+noise[0]+"\n")
	if len(got.errors) != 1 || len(got.rows) != len(whole.rows)-1 {
		t.Errorf("a cut row: %d rows, %v", len(got.rows), got.errors)
	}
}

// TestByteMark: a file behind a byte order mark is the file without it, in every
// format, and its session is known again.
func TestByteMark(t *testing.T) {
	for _, name := range []string{"aiperf-0.2.0.jsonl", "guidellm-0.3.1.json", "llama-bench-11434.csv", "llama-bench-11434.json", "llama-bench-11434.jsonl",
		"llama-bench-11434.md", "llama-bench-11434.sql", "vllm-0.33.0-detailed-resets.json", "sglang-0.5.8-details.jsonl", "asiai-1.34.0.json", "ollama-0.12.0.txt"} {
		text := peerFile(t, name)
		plain := imported(t, text)
		for kind, s := range map[string]string{"mark": "\xef\xbb\xbf" + text, "lines end as on Windows": "\xef\xbb\xbf" + strings.ReplaceAll(text, "\n", "\r\n")} {
			got := imported(t, s)
			if len(got.rows) != len(plain.rows) || len(got.errors) != len(plain.errors) || len(got.sessions) != len(plain.sessions) {
				t.Errorf("%s, %s: %d rows of %d, %v", name, kind, len(got.rows), len(plain.rows), got.errors)
				continue
			}
			if kind == "mark" && got.sessions[0].ID != plain.sessions[0].ID {
				t.Errorf("%s: with a mark it is another session", name)
			}
			for i := range got.rows {
				if a, b := got.rows[i].TTFTMS, plain.rows[i].TTFTMS; (a == nil) != (b == nil) || a != nil && math.Abs(*a-*b) > 0 {
					t.Errorf("%s, %s: row %d has TTFT %v, not %v", name, kind, i, show(a), show(b))
				}
			}
		}
	}
}

// TestWhatElse: a file that is known not to be rows says what it is.
func TestWhatElse(t *testing.T) {
	for word, text := range map[string]string{
		"UTF-16":               "\xff\xfe[\x00\n\x00",
		"gzip":                 "\x1f\x8b\x08\x00\x00",
		"SQLite":               "SQLite format 3\x00\x10\x00",
		"profile_export.jsonl": "Metric,avg,min,max,p1\nInput Sequence Length (tokens),32.00,32.00,32.00,32.00\n",
		"beside it":            "{\r\n  \"schema_version\": \"1.4\",\r\n  \"aiperf_version\": \"0.12.0\",\r\n  \"input_config\": {}}",
		"as JSON":              "benchmarks:\n- args:\n    cooldown_duration: null\n",
		"for people":           "# Throughput — m\n\n*Bench type: `standard`*\n",
		"is empty":             "\xef\xbb\xbf \n",
	} {
		for _, format := range []string{"", "vllm"} {
			in := exchange.Input{Name: "f", Format: format, Now: time.Unix(1.8e9, 0), R: strings.NewReader(text), Size: int64(len(text))}
			_, err := exchange.FormatOf(in)
			var unknown *exchange.UnknownFormatError
			named := format != "" && !strings.Contains("UTF-16 gzip SQLite", word)
			if !named && (!errors.As(err, &unknown) || !strings.Contains(err.Error(), word)) {
				t.Errorf("%q as %q: %v", word, format, err)
			}
		}
	}
}
