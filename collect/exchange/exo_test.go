package exchange_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestOtherEngine pins the file of a session that exo did not serve: what is
// not known is null, what was never streamed has no rates, failures have no
// entry.
func TestOtherEngine(t *testing.T) {
	recs := []collect.Record{
		&collect.Session{ID: "s"},
		&collect.TargetInfo{TargetID: 1, Engine: "llama.cpp", Driver: "openai", ModelID: "org/demo-1b", ServedModel: "org/demo-1b.gguf"},
		&collect.Case{TargetID: 1, CaseID: 1, PP: ptr(int64(100)), TG: 5, TGWanted: true, Concurrency: 3, Streaming: true},
		&collect.Batch{CaseID: 1, BatchID: 1, StartNS: 1e9, EndNS: 4e9, Warmup: true, Requests: []collect.Request{answer(1, 1e9, 2e9)}},
		&collect.Batch{CaseID: 1, BatchID: 2, StartNS: 1e9, EndNS: 4e9, RepeatIndex: 1, Requests: []collect.Request{
			answer(2, 1e9, 3e9),
			{RequestID: 3, StartNS: 1e9, EndNS: 2e9, Failure: collect.Failf(collect.ErrReset, "gone")},
			answer(4, 1e9, 2e9),
		}},
		&collect.Case{TargetID: 1, CaseID: 2, TG: 5, Concurrency: 1},
		&collect.Batch{CaseID: 2, BatchID: 3, StartNS: 5e9, EndNS: 6e9, Requests: []collect.Request{{
			RequestID: 5, StartNS: 5e9, EndNS: 6e9, OutputChars: 12, Preview: "<b>&\u2028\"ä\x7f",
			Report: collect.Report{JSON: `{"usage":null}`},
		}}},
		&collect.Samples{Samples: []collect.Sample{{Node: "here", Source: "rapl", Scope: "system", Metric: "power", Unit: "W", Value: 30}}},
		&collect.End{},
	}
	golden(t, "other_engine.json", write(t, recs))
}

// answer is a stream of five tokens, the last of which came at end.
func answer(id, start, end int64) collect.Request {
	r := collect.Request{RequestID: id, StartNS: start, EndNS: end, PPTokens: ptr(int64(100)), Streamed: true, OutputChars: 20, Preview: "five"}
	for i := range int64(5) {
		r.Chunks = append(r.Chunks, collect.Chunk{T: (end - start) * (i + 4) / 8, Kind: collect.KindContent, Tokens: collect.TokensUnknown})
	}
	r.Report = collect.Report{Source: collect.ReportServer, PromptTokens: ptr(int64(100)), CompletionTokens: ptr(int64(5)), CachedTokens: ptr(int64(0)),
		JSON: `{"timings":{"predicted_n":5}}`}
	return r
}

// TestVerbatim takes statistics that exo never sends: what comes is what is
// written, and null is not absence.
func TestVerbatim(t *testing.T) {
	for _, c := range []struct{ name, report, stats, power string }{
		{"null", `{"generation_stats":null,"power_usage":null,"usage":null}`, `null`, `null`},
		{"stream", `{"generation_stats":{"a":1},"usage":{}}`, `{"a":1}`, `null`},
		{"numbers", `{"generation_stats":{"a":1e3,"b":100000000000000000001,"c":0.10},"power_usage":{"nodes":[]}}`, `{"a":1e3,"b":100000000000000000001,"c":0.10}`, `{"nodes":[]}`},
		{"new keys", `{"generation_stats":{"z":"<é>","a":[{},[]]}}`, `{"z":"<é>","a":[{},[]]}`, `null`},
		{"nothing", ``, ownStats, `null`},
		{"no JSON", `{"generation_stats":`, ownStats, `null`},
		{"no object", `[1]`, ownStats, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := answer(1, 0, 1e9)
			r.Report.JSON = c.report
			out := write(t, oneRequest(r))
			var f struct {
				Runs []struct {
					Stats json.RawMessage `json:"stats"`
					Power json.RawMessage `json:"power_usage"`
				} `json:"runs"`
			}
			unmarshal(t, out, &f)
			var stats, power bytes.Buffer
			json.Compact(&stats, f.Runs[0].Stats)
			json.Compact(&power, f.Runs[0].Power)
			if stats.String() != c.stats || power.String() != c.power {
				t.Errorf("stats %s\npower %s\nwant  %s\nand   %s", &stats, &power, c.stats, c.power)
			}
		})
	}
}

// ownStats are the figures of answer(1, 0, 1e9): 100 prompt tokens in half a
// second, and 4 intervals in the other half.
const ownStats = `{"prompt_tps":200.0,"generation_tps":8.0,"prompt_tokens":100,"generation_tokens":5,"peak_memory_usage":{"inBytes":null},"prefix_cache_hit":"none"}`

func oneRequest(r collect.Request) []collect.Record {
	return []collect.Record{
		&collect.Session{ID: "s"},
		&collect.TargetInfo{TargetID: 1, Engine: "exo", Driver: "exo", ModelID: "m"},
		&collect.Case{TargetID: 1, CaseID: 1, TG: 5, Concurrency: 1, Streaming: true},
		&collect.Batch{CaseID: 1, BatchID: 1, Requests: []collect.Request{r}},
	}
}

// TestRefusals: a file that could not say what it lacks is not written.
func TestRefusals(t *testing.T) {
	torn := errors.New("value 7 is torn")
	for _, c := range []struct {
		name string
		recs iter.Seq2[collect.Record, error]
		want string
	}{
		{"damaged record", func(yield func(collect.Record, error) bool) {
			if yield(&collect.Session{ID: "s"}, nil) && yield(nil, torn) {
				t.Error("it goes on behind damage")
			}
		}, "value 7 is torn"},
		{"batch without a case", values([]collect.Record{&collect.Batch{BatchID: 3, CaseID: 9}}), "batch 3 belongs to case 9, which is missing"},
		{"case without a target", values([]collect.Record{&collect.Case{CaseID: 9, TargetID: 1}, &collect.Batch{BatchID: 3, CaseID: 9}}), "lacks its target"},
		{"cluster is no JSON", values([]collect.Record{&collect.TargetInfo{TargetID: 2, Cluster: "{"}}), "target 2: the snapshot of its cluster is not JSON"},
	} {
		err := exchange.ExoResults(&bytes.Buffer{}, c.recs)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if err := exchange.ExoResults(full{}, values(oneRequest(answer(1, 0, 1e9)))); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func write(t *testing.T, recs []collect.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := exchange.ExoResults(&out, values(recs)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs:\n%s", name, got)
	}
}

func ptr[T any](v T) *T { return &v }
