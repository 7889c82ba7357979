package exchange_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// peerFile reads one of testdata/import, which the tool and version in its name
// wrote against a scripted server.
func peerFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/import", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPeersOwnMeans holds our figures of vLLM's rows against the averages that
// vLLM itself made of them: two programs, one set of raw times.
func TestPeersOwnMeans(t *testing.T) {
	for _, name := range []string{"vllm-0.33.0-detailed-http-errors.json", "vllm-0.33.0-detailed-resets.json"} {
		got := imported(t, peerFile(t, name))
		if len(got.sessions) != 2 || len(got.batches) != 2 || len(got.errors) != 0 {
			t.Fatalf("%s: %d sessions, %d batches, %v", name, len(got.sessions), len(got.batches), got.errors)
		}
		for b, s := range got.sessions {
			var said struct {
				Completed, Failed int
				TTFT              float64 `json:"mean_ttft_ms"`
				TPOT              float64 `json:"mean_tpot_ms"`
				Tokens            int64   `json:"total_output_tokens"`
			}
			unmarshal(t, []byte(s.Imported.Extra), &said)
			ok, failed, tokens, ttft, tpot := 0, 0, int64(0), 0.0, 0.0
			for i, row := range got.rows {
				if got.of[i] != b {
					continue
				}
				if row.Status != analyze.StatusOK {
					failed++
					continue
				}
				ok++
				tokens += *row.TokensGenerated
				ttft += *row.TTFTMS
				tpot += 1e3 / *row.GenerationTPS
			}
			if ok != said.Completed || failed != said.Failed || tokens != said.Tokens {
				t.Errorf("%s: %d ok, %d failed, %d tokens; it says %+v", name, ok, failed, tokens, said)
			}
			if math.Abs(ttft/float64(ok)-said.TTFT) > 1e-5 {
				t.Errorf("%s: mean TTFT %v, it says %v", name, ttft/float64(ok), said.TTFT)
			}
			// vLLM takes its TPOT from the whole latency, a little behind the last token.
			if d := tpot/float64(ok) - said.TPOT; math.Abs(d) > 0.2 {
				t.Errorf("%s: mean TPOT %v, it says %v", name, tpot/float64(ok), said.TPOT)
			}
		}
	}
}

// TestPeersRows holds what is particular about the rows of each real file.
func TestPeersRows(t *testing.T) {
	for name, want := range map[string]struct {
		ok, failed, warm int
		kind             collect.ErrorKind
		chunks           bool
		source           analyze.Source
	}{
		"aiperf-0.13.0.jsonl": {5, 2, 2, collect.ErrHTTP, true, analyze.SourceServer},
		"aiperf-0.2.0.jsonl":  {3, 2, 0, collect.ErrHTTP, true, ""},
		"guidellm-0.3.1.json": {3, 2, 0, collect.ErrHTTP, false, ""},
		"guidellm-0.8.1.json": {3, 2, 0, collect.ErrReset, false, ""},
	} {
		got := imported(t, peerFile(t, name))
		if len(got.errors) > 0 {
			t.Errorf("%s: %v", name, got.errors)
		}
		ok, failed, warm := 0, 0, 0
		for i, row := range got.rows {
			if got.batches[got.of[i]].Warmup {
				warm++
			}
			if row.Status == analyze.StatusFailed {
				failed++
				if row.ErrorKind != string(want.kind) || row.Error == "" {
					t.Errorf("%s: failed as %q: %q", name, row.ErrorKind, row.Error)
				}
				continue
			}
			ok++
			if row.TTFTMS == nil || *row.TTFTMS < 30 || *row.TTFTMS > 500 || row.GenerationTPS == nil || *row.GenerationTPS < 50 || *row.GenerationTPS > 400 {
				t.Errorf("%s: row %d has TTFT %v and rate %v, the server's are 30 or 50 ms and 200/s", name, i, show(row.TTFTMS), show(row.GenerationTPS))
			}
			if (row.Chunks != nil) != want.chunks || *row.TokensGenerated != 12 || row.TokensSource != want.source {
				t.Errorf("%s: row %d: chunks %v, %d tokens by %q", name, i, row.Chunks, *row.TokensGenerated, row.TokensSource)
			}
		}
		if ok != want.ok || failed != want.failed || warm != want.warm {
			t.Errorf("%s: %d ok, %d failed, %d warm-ups", name, ok, failed, warm)
		}
	}
}

func show(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

// TestPeersWithoutRows: averages alone are no rows, and the loss says how to get them.
func TestPeersWithoutRows(t *testing.T) {
	for name, hint := range map[string]string{"vllm-0.33.0-plain.json": "--save-detailed", "sglang-0.4.6-plain.jsonl": "--output-details"} {
		got := imported(t, peerFile(t, name))
		if len(got.rows) != 0 || len(got.sessions) != 1 || !strings.Contains(got.sessions[0].Imported.Extra, "mean_ttft_ms") {
			t.Errorf("%s: %d rows, %d sessions", name, len(got.rows), len(got.sessions))
		}
		lost := ""
		for rec := range exchange.Read(t.Context(), exchange.Input{Name: name, R: strings.NewReader(peerFile(t, name)), Size: int64(len(peerFile(t, name)))}) {
			if l, ok := rec.(*collect.Lost); ok {
				lost = l.Message
			}
		}
		if !strings.Contains(lost, hint) {
			t.Errorf("%s: lost says %q", name, lost)
		}
	}
}

// TestPeersCut cuts each file everywhere: what stands before the cut goes in,
// the cut has its place, and nothing is read that the whole file does not have.
func TestPeersCut(t *testing.T) {
	for _, name := range []string{"aiperf-0.2.0.jsonl", "guidellm-0.3.1.json", "vllm-0.33.0-detailed-resets.json", "sglang-0.4.6-plain.jsonl"} {
		text := peerFile(t, name)
		whole := len(imported(t, text).rows)
		most := 0
		for cut := len(text) - 2; cut > 0; cut -= 1 + len(text)/150 {
			got := imported(t, text[:cut])
			last := text[strings.LastIndexByte(text[:cut], '\n')+1 : cut]
			if len(got.errors) == 0 && last != "" && !json.Valid([]byte(last)) {
				t.Errorf("%s cut at %d: no error", name, cut)
			}
			var row *exchange.RowError
			var unknown *exchange.UnknownFormatError
			for _, err := range got.errors {
				if !errors.As(err, &row) && !errors.As(err, &unknown) {
					t.Errorf("%s cut at %d: %v", name, cut, err)
				}
			}
			if len(got.rows) > whole {
				t.Errorf("%s cut at %d: %d rows of %d", name, cut, len(got.rows), whole)
			}
			most = max(most, len(got.rows))
		}
		if whole > 0 && most == 0 {
			t.Errorf("%s: nothing of a cut file was kept", name)
		}
	}
}

// TestPeersTraps are files with a fault each that tools were seen to write.
func TestPeersTraps(t *testing.T) {
	run := func(extra string) string {
		return `{"backend":"sglang","dataset_name":"random","request_rate":Infinity,` + extra + `"server_info":{"model_path":"a/b","api_key":"sk-1","version":"0.5"},"mean_itl_ms":NaN,"ttfts":[0.05,0.05],"output_lens":[2,2],"input_lens":[3,3],"itls":[[0.1],[0.1]],"errors":["",""]}` + "\n"
	}
	got := imported(t, run(""))
	if len(got.rows) != 2 || len(got.errors) > 0 {
		t.Fatalf("Python's numbers: %d rows, %v", len(got.rows), got.errors)
	}
	if x := got.sessions[0].Imported.Extra; strings.Contains(x, "sk-1") || !strings.Contains(x, `"NaN"`) {
		t.Errorf("extra: %s", x)
	}
	if c := got.cases[0]; c.Concurrency != 2 {
		t.Errorf("all sent at once: concurrency %d", c.Concurrency)
	}
	if m := got.targets[0]; m.ModelID != "b" || m.EngineVersion != "0.5" {
		t.Errorf("target %+v", m)
	}
	got = imported(t, run("")[:150]+"\n"+run(`"max_concurrency":7,`))
	if len(got.rows) != 2 || len(got.errors) != 1 || got.cases[0].Concurrency != 7 {
		t.Errorf("a run behind one that was cut off: %d rows, %v", len(got.rows), got.errors)
	}
	if got = imported(t, `{"date":"20260105-100000","model_id":"m","num_prompts":0,"start_times":[1,2],"ttfts":[]}`); len(got.rows) != 0 {
		t.Errorf("starts without requests: %d rows", len(got.rows))
	}
	got = imported(t, strings.Replace(run(""), "[0.1],", "[-0.1],", 1))
	if len(got.rows) != 1 || len(got.errors) != 1 || !strings.Contains(got.errors[0].Error(), "line 1, request 1") {
		t.Errorf("a negative gap: %d rows, %v", len(got.rows), got.errors)
	}
}

// aiperfLines is a file of n rows.
func aiperfLines(n int) string {
	var b strings.Builder
	gaps := strings.Repeat("5.000123,", 15) + "5.1"
	for i := range n {
		at := 1767225600000000000 + int64(i)*1e6
		fmt.Fprintf(&b, `{"metadata":{"session_num":%d,"request_start_ns":%d,"request_end_ns":%d,"benchmark_phase":"profiling","was_cancelled":false},"metrics":{"time_to_first_token":{"value":50.5,"unit":"ms"},"request_latency":{"value":130.6,"unit":"ms"},"output_sequence_length":{"value":17,"unit":"tokens"},"inter_chunk_latency":{"value":[%s],"unit":"ms"}},"error":null}`+"\n", i, at, at+131e6, gaps)
	}
	return b.String()
}

// BenchmarkAiperf reads 20,000 requests a round.
func BenchmarkAiperf(b *testing.B) {
	text := aiperfLines(20000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		rows := 0
		for rec, err := range exchange.Read(b.Context(), exchange.Input{Name: "x", Now: time.Unix(1.8e9, 0), R: strings.NewReader(text), Size: int64(len(text))}) {
			if err != nil {
				b.Fatal(err)
			}
			if batch, ok := rec.(*collect.Batch); ok {
				rows += len(batch.Requests)
			}
		}
		if rows != 20000 {
			b.Fatal(rows)
		}
	}
}

// FuzzPeers reads anything as each of the formats: no panic, and every record
// can be derived and written as JSON.
func FuzzPeers(f *testing.F) {
	formats := []string{"vllm", "sglang", "guidellm", "aiperf"}
	for _, name := range []string{"vllm-0.33.0-plain.json", "aiperf-0.2.0.jsonl", "sglang-0.4.6-plain.jsonl"} {
		for i := range formats {
			f.Add(peerFile(f, name), uint8(i))
		}
	}
	f.Add(`{"benchmarks":[{"requests":{"successful":[{"request_latency":1,"time_to_first_token_ms":5}],"errored":null}}]}`, uint8(2))
	f.Add(`{"backend":"x","ttfts":[1,null,"NaN"],"itls":[[1],[],null,[NaN]],"start_times":[1,2,3,4],"duration":-Infinity}`, uint8(1))
	f.Fuzz(func(t *testing.T, text string, i uint8) {
		in := exchange.Input{Name: "x", Format: formats[int(i)%len(formats)], R: strings.NewReader(text), Size: int64(len(text))}
		cases := map[int64]*collect.Case{}
		for rec, err := range exchange.Read(t.Context(), in) {
			if err != nil {
				continue
			}
			if _, err := json.Marshal(rec); err != nil {
				t.Fatal(err)
			}
			switch rec := rec.(type) {
			case *collect.Case:
				cases[rec.CaseID] = rec
			case *collect.Batch:
				analyze.Derive(analyze.Context{Target: &collect.TargetInfo{}, Case: cases[rec.CaseID]}, rec, nil)
			}
		}
	})
}
