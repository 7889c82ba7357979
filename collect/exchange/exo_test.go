package exchange_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
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

// TestNodes: names are turned back into ids where they tell nodes apart.
func TestNodes(t *testing.T) {
	target := func(id int64, sharding, cluster string) *collect.TargetInfo {
		return &collect.TargetInfo{TargetID: id, Driver: "exo", ModelID: "m", Sharding: sharding, Cluster: cluster, LoadS: ptr(2.0)}
	}
	read := func(node string, v float64) *collect.Samples {
		return &collect.Samples{Samples: []collect.Sample{sample(node, "power", "W", v)}}
	}
	cluster := `{"nodeIdentities":{"id1":{"friendlyName":"a"},"id2":{"friendlyName":"twin"},"id3":{"friendlyName":"twin"},"id4":{}}}`
	after := `{"nodeIdentities":{"id9":{"friendlyName":"a"}}}`
	out := write(t, []collect.Record{
		target(1, "Tensor", cluster), read("a", 1), read("twin", 2), read("twin (2)", 3), read("id4", 4),
		target(2, "Pipeline", ""), read("a", 5), read("a", 6), // a later placement takes over
		&collect.Segment{Segment: 2},
		target(3, "Tensor", ""), read("a", 9),
		&collect.Case{CaseID: 1, TargetID: 2},
		&collect.Batch{CaseID: 1, Warmup: true}, read("a", 5), read("a", 6), // a resumed run is back at the second
		target(2, "Pipeline", ""), read("a", 10), // and so is another
		target(4, "Pipeline", after), read("a", 7), // exo has been started again
		&collect.TargetInfo{TargetID: 5, Driver: "exo", ModelID: "m", Sharding: "Pipeline"}, read("a", 8), // no load time: reused
		&collect.Samples{Samples: []collect.Sample{{Node: "a", Source: "macmon", Scope: "system", Metric: "power", Value: 1}}},
	})
	var f struct {
		Cluster json.RawMessage `json:"cluster"`
		Metrics map[string]map[string]struct {
			Min, Max, Mean float64
			Samples        int
		} `json:"system_metrics"`
	}
	unmarshal(t, out, &f)
	got := map[string][4]float64{}
	for id, m := range f.Metrics {
		s := m["sysPower"]
		got[id] = [4]float64{s.Min, s.Max, s.Mean, float64(s.Samples)}
		if len(m) != 1 {
			t.Errorf("node %s has metrics that were not read: %v", id, m)
		}
	}
	want := map[string][4]float64{"id1": {5, 10, 7, 3}, "id2": {2, 2, 2, 1}, "id3": {3, 3, 3, 1}, "id4": {4, 4, 4, 1}, "id9": {7, 7, 7, 1}}
	if len(got) != len(want) {
		t.Errorf("nodes %v", got)
	}
	for id, w := range want {
		if got[id] != w {
			t.Errorf("node %s: %v, want %v", id, got[id], w)
		}
	}
	if !strings.Contains(string(f.Cluster), "id4") {
		t.Errorf("cluster is not the first snapshot: %s", f.Cluster)
	}
}

// TestMean holds means against exact sums: the nearest float64, as Python's
// statistics.mean, and then two places of that, half to even.
func TestMean(t *testing.T) {
	for _, c := range []struct {
		want string // of Python: round(statistics.mean(values), 2)
		vs   []float64
	}{
		{"0.17", []float64{0.02, 0.02, 0.02, 0.02, 0.02, 0.95}}, // a plain sum gives 0.18
		{"0.0", []float64{1e300, 1, -1e300, -1}},
		{"0.5", []float64{1e300, 1, -1e300, 1}},
		{"2.67", []float64{2.675}},
		{"0.12", []float64{0.125}},
		{"0.38", []float64{0.375}},
		{"-0.0", []float64{-0.001}},
		{"1e+16", []float64{1e16}},
		{"1234567890123456.8", []float64{1234567890123456.75}},
	} {
		recs := []collect.Record{&collect.TargetInfo{TargetID: 1}}
		for _, v := range c.vs {
			recs = append(recs, &collect.Samples{Samples: []collect.Sample{sample("n", "temperature", "celsius", v)}})
		}
		var f struct {
			Metrics map[string]map[string]map[string]json.Number `json:"system_metrics"`
		}
		unmarshal(t, write(t, recs), &f)
		if got := f.Metrics["n"]["temp"]["mean"].String(); got != c.want {
			t.Errorf("mean of %v is %s, want %s", c.vs, got, c.want)
		}
	}
}

// TestFigures takes sessions of every kind of fault: each entry has the figures
// of one row, each row that is not failed has one entry, in the order of a run.
func TestFigures(t *testing.T) {
	for seed := range uint64(20) {
		o := analyzetest.Options{Seed: seed, Repeats: 2, PP: []int64{128, 4096}, Concurrency: []int64{1, 5}}
		want := rowsOf(t, analyzetest.Records(o))
		var out bytes.Buffer
		if err := exchange.ExoResults(&out, analyzetest.Records(o)); err != nil {
			t.Fatal(err)
		}
		var f struct{ Runs []map[string]any }
		unmarshal(t, out.Bytes(), &f)
		if len(f.Runs) != len(want) || len(want) < 40 {
			t.Fatalf("seed %d: %d entries for %d rows", seed, len(f.Runs), len(want))
		}
		for i, run := range f.Runs {
			row := want[i]
			stats := run["stats"].(map[string]any)
			for name, pair := range map[string][2]any{
				"elapsed_s": {run["elapsed_s"], number(row.ElapsedS)}, "pp_tokens": {run["pp_tokens"], number(row.PPTokens)},
				"prompt_tps": {stats["prompt_tps"], number(row.PromptTPS)}, "generation_tps": {stats["generation_tps"], number(row.GenerationTPS)},
				"prompt_tokens": {stats["prompt_tokens"], number(row.PromptTokens)}, "generation_tokens": {stats["generation_tokens"], number(counted(row))},
				"peak": {stats["peak_memory_usage"].(map[string]any)["inBytes"], number(row.PeakMemoryBytes)},
			} {
				if pair[0] != pair[1] {
					t.Errorf("seed %d, request %d: %s is %v, want %v", seed, row.RequestID, name, pair[0], pair[1])
				}
			}
		}
	}
}

// counted are the tokens of a row, where somebody counted them.
func counted(row analyze.RequestRow) *int64 {
	if row.TokensSource == analyze.SourceEstimate {
		return nil
	}
	return row.TokensGenerated
}

// number is what JSON makes of a figure.
func number[T int64 | float64](x *T) any {
	if x == nil {
		return nil
	}
	return float64(*x)
}

// rowsOf are the rows that have an entry, in the order of the entries.
func rowsOf(t *testing.T, recs iter.Seq2[collect.Record, error]) []analyze.RequestRow {
	var out []analyze.RequestRow
	targets, cases := map[int64]*collect.TargetInfo{}, map[int64]*collect.Case{}
	for rec, err := range recs {
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			targets[rec.TargetID] = rec
		case *collect.Case:
			cases[rec.CaseID] = rec
		case *collect.Batch:
			c := cases[rec.CaseID]
			_, rows := analyze.Derive(analyze.Context{Target: targets[c.TargetID], Case: c}, rec, nil)
			for !rec.Warmup {
				next := -1 // the one that ended first
				for i := range rows {
					if rows[i].Status != analyze.StatusFailed && (next < 0 || rows[i].EndNS < rows[next].EndNS) {
						next = i
					}
				}
				if next < 0 {
					break
				}
				out = append(out, rows[next])
				rows = append(rows[:next:next], rows[next+1:]...)
			}
		}
	}
	return out
}

// TestLong: memory does not grow with the session.
func TestLong(t *testing.T) {
	r := answer(1, 0, 1e9)
	recs := func(yield func(collect.Record, error) bool) {
		for _, rec := range oneRequest(r)[:3] {
			if !yield(rec, nil) {
				return
			}
		}
		for range 20_000 {
			if !yield(&collect.Batch{CaseID: 1, Requests: []collect.Request{r}}, nil) {
				return
			}
		}
	}
	var live liveHeap
	if err := exchange.ExoResults(&live, recs); err != nil {
		t.Fatal(err)
	}
	if live.bytes < 10<<20 || live.most > live.first+4<<20 {
		t.Errorf("%d bytes written, %d of the heap in use at first, %d at most", live.bytes, live.first, live.most)
	}
}

func FuzzExoResults(f *testing.F) {
	f.Add(`{"generation_stats":{"a":1},"power_usage":null}`, `{"nodeIdentities":{"x":{"friendlyName":"n"}}}`, "n", 1.5, 2.5)
	f.Add(`{`, `null`, "", math.Inf(1), 0.0)
	f.Add(`[]`, ` {} `, "\xff", 1e308, 1e308)
	f.Fuzz(func(t *testing.T, report, cluster, node string, a, b float64) {
		r := answer(1, 0, 1e9)
		r.Report.JSON, r.Preview, r.Report.PromptTPS = report, node, &a
		recs := oneRequest(r)
		recs[1].(*collect.TargetInfo).Cluster = cluster
		recs = append(recs, &collect.Samples{Samples: []collect.Sample{sample(node, "power", "W", a), sample(node, "power", "W", b)}})
		var out bytes.Buffer
		err := exchange.ExoResults(&out, values(recs))
		if err == nil && !json.Valid(out.Bytes()) {
			t.Errorf("no JSON: %s", out.Bytes())
		}
		if err != nil && json.Valid([]byte(cluster)) {
			t.Error(err)
		}
	})
}

func BenchmarkExoResults(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 1))
	r := answer(1, 0, 1e9)
	r.Report.JSON = `{"generation_stats":{"prompt_tps":1000.0,"generation_tps":50.0},"power_usage":{"nodes":[{"node_id":"a","samples":3}]}}`
	recs := oneRequest(r)
	for range 1000 {
		recs = append(recs, recs[3])
		for range 5 {
			recs = append(recs, &collect.Samples{Samples: []collect.Sample{sample("n", "power", "W", 100*rnd.Float64())}})
		}
	}
	for b.Loop() {
		if err := exchange.ExoResults(&bytes.Buffer{}, values(recs)); err != nil {
			b.Fatal(err)
		}
	}
}

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
