package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/collect"
	"tokwatt/store"
)

// storeOf puts records into a store of their own.
func storeOf(t *testing.T, recs ...collect.Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	db := store.Open(path, store.Options{})
	for _, rec := range recs {
		if err := db.Put(t.Context(), kindsID, rec); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

const kindsID = "019bc119-0000-7000-8000-000000000001"

// kindsOf is a session of one target with a case for each kind of prompt, whose
// runs go at the given tok/s.
func kindsOf(target collect.TargetInfo, change func(*collect.Request), kinds ...[]float64) []collect.Record {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	target.TargetID = 1
	recs := []collect.Record{
		&collect.Session{ID: kindsID, StartedAt: at, Profile: "asiai", Host: collect.Host{Name: "mac"},
			Calibration: `{"at":"2026-06-30T12:00:00Z","stamps":"kernel","levels":[{"streams":1,"ttft_err_p50_ms":0.021,"itl_err_mean_ms":0.001},{"streams":8,"ttft_err_p50_ms":0.4}]}`},
		&collect.Segment{Segment: 1, StartedAt: at},
		&target,
	}
	var batches []collect.Record
	now, id := int64(0), int64(0)
	for k, runs := range kinds {
		recs = append(recs, &collect.Case{TargetID: 1, CaseID: int64(k + 1), TG: 512, Concurrency: 1, CacheMode: collect.CacheServer,
			PromptKind: []string{"code", "reasoning"}[k], PromptSource: collect.PromptText, Streaming: true})
		for _, v := range runs {
			id++
			r := answerAt(v)
			r.RequestID, r.StartNS, r.EndNS = id, now, now+r.EndNS
			change(&r)
			batches = append(batches, &collect.Batch{CaseID: int64(k + 1), BatchID: id, Segment: 1, StartNS: now, EndNS: r.EndNS, Requests: []collect.Request{r}})
			now = r.EndNS
		}
	}
	return append(append(recs, batches...), &collect.End{At: at.Add(time.Hour), Status: collect.StatusComplete})
}

// answerAt is 120 tokens at v tok/s, the first after 100 ms.
func answerAt(v float64) collect.Request {
	n, first := int64(120), int64(100e6)
	last := first + int64(float64(n)/v*1e9)
	number := func(x int64) *int64 { return &x }
	return collect.Request{EndNS: last + 50e6, HTTPStatus: number(200), StampSource: collect.StampKernel, Streamed: true, OutputChars: 480, Preview: "tok",
		Chunks: []collect.Chunk{{T: first, Bytes: 1, Tokens: -1, Kind: collect.KindContent}, {T: last, Bytes: 1, Tokens: -1, Kind: collect.KindContent}},
		Report: collect.Report{Source: collect.ReportServer, FinishReason: "length", PromptTokens: number(64), CompletionTokens: &n}}
}

// TestSummaryAsiai has the worked case of M8, from the store to the screen.
func TestSummaryAsiai(t *testing.T) {
	needsSQL(t)
	db := storeOf(t, kindsOf(collect.TargetInfo{Engine: "lmstudio", Driver: "openai", ModelID: "demo"}, func(*collect.Request) {},
		[]float64{10, 12}, []float64{100, 100, 100})...)
	r := tokwatt(t, "", "summary", "--asiai", "--json", "--db", db)
	var rows []map[string]any
	if err := json.Unmarshal([]byte(r.out), &rows); err != nil || r.code != 0 || len(rows) != 1 {
		t.Fatalf("exit %d, %v: %s%s", r.code, err, r.out, r.err)
	}
	for name, want := range map[string]float64{
		"std_dev_tok_s": math.Sqrt(0.5), "pooled_sd_sample": math.Sqrt(2.0 / 3), "cv": 100 * math.Sqrt(0.5) / 64.4,
		"tok_per_sec": 100, "tok_per_sec_mean": 64.4, "tok_per_sec_response": 120 / 1.25, "ttft_ms": 100, "tokens_generated": 120,
		"total_duration_ms": 1300, "generation_duration_ms": 1200, "n_runs": 5, "n_kinds": 2,
	} {
		if got, _ := rows[0][name].(float64); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s is %v, want %v", name, rows[0][name], want)
		}
	}
	if rows[0]["stability"] != "stable" || rows[0]["power_watts"] != nil || rows[0]["tok_per_sec_per_watt"] != nil {
		t.Errorf("%v", rows[0])
	}
	out := tokwatt(t, "", "summary", "--asiai", "--db", db).out
	for _, want := range []string{"mean tok/s 64.4", "M8 sd tok/s 0.71", "CV % 1.10 stable ", "form, by degrees of freedom: 0.82", "no power was measured", "stable",
		"this client's own error: TTFT 0.021 ms", "; stamps of the kernel"} {
		if !strings.Contains(flat(out), want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	if r := tokwatt(t, "", "summary", "--asiai", "--percentiles", "90", "--db", db); r.code != exitUsage {
		t.Errorf("--percentiles with --asiai: exit %d, %s", r.code, r.err)
	}
	if r := tokwatt(t, "", "summary", "--asiai", "--format", "csv", "--db", db); r.code != 0 || strings.Count(r.out, "\n") != 2 {
		t.Errorf("csv: exit %d, %s%s", r.code, r.out, r.err)
	}
}

// TestAsiaiTableFitsAScreen: with all figures there are, too.
func TestAsiaiTableFitsAScreen(t *testing.T) {
	is := func(x float64) *float64 { return &x }
	row := analyze.Asiai{Engine: "llama.cpp", EngineVersion: "b7310", ModelID: "Qwen3-Coder-30B-A3B-Instruct", Quantization: "Q4_K_M",
		TokPerSec: is(123.4), TokPerSecMean: is(121.9), StdDevTokS: is(10.61), PooledSDSample: is(12), CV: is(8.7), Stability: "variable",
		TokPerSecResponse: is(119), TTFTMS: is(64321), TotalDurationMS: is(74321), GenerationDurationMS: is(10000), TokensGenerated: is(1024),
		PowerWatts: is(21.4), TokPerSecPerWatt: is(5.76), NRuns: 15, NRates: 15, NKinds: 5, NWarm: 3}
	other := row
	other.TargetID, other.Engine, other.EngineVersion, other.PowerWatts, other.StdDevTokS, other.PooledSDSample = 2, "reference", "", nil, nil, nil
	var b bytes.Buffer
	for n := 1; n <= 2*asiaiAcross+1; n++ {
		b.Reset()
		writeAsiai(&b, slices.Repeat([]analyze.Asiai{row}, n), "table", nil)
		for _, line := range strings.Split(b.String(), "\n") {
			if w := len([]rune(line)); w > screenColumns {
				t.Errorf("%d targets: a line of %d columns: %s", n, w, line)
			}
		}
		if got := strings.Count(b.String(), "64321"); got != n {
			t.Errorf("%d targets: %d are in the table:\n%s", n, got, b.String())
		}
	}
	b.Reset()
	writeAsiai(&b, []analyze.Asiai{row, other}, "table", nil)
	for _, want := range []string{"reference ", "Qwen3-Coder-30B-A3B", "mean tok/s 122 122", "M8 sd tok/s 11 –", "CV % 8.70 variable 8.70 variable", "M7 tok/s/W 5.76 5.76",
		"3 requests hit a prefix cache", "llama.cpp Qwen3-Coder-30B-A3B-Instruct:"} {
		if !strings.Contains(flat(b.String()), want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
	b.Reset()
	writeAsiai(&b, []analyze.Asiai{row, other}, "markdown", map[targetKey][]string{{"", 2}: {"one failed"}})
	if text := b.String(); !strings.Contains(text, "\n| llama.cpp b7310 | Qwen3-Coder-30B") || !strings.Contains(text, "- reference Qwen3-Coder-30B-A3B-Instruct: one failed") {
		t.Errorf("markdown:\n%s", text)
	}
}

// TestSpreadOfFewIsAGuess: a class of two or three values has a question mark,
// and so the reason; SQL has it as the rule says.
func TestSpreadOfFewIsAGuess(t *testing.T) {
	needsSQL(t)
	for n, guess := range map[int]bool{2: true, 3: true, 4: false, 7: false} {
		db := storeOf(t, kindsOf(collect.TargetInfo{Engine: "lmstudio", Driver: "openai", ModelID: "demo"}, func(*collect.Request) {}, slices.Repeat([]float64{100, 101}, n)[:n])...)
		for args, note := range map[string]string{"": "the class of a CV under 4 is a guess (?)", "--asiai": "a class with ? is a guess"} {
			r := tokwatt(t, "", append([]string{"summary", "--db", db}, strings.Fields(args)...)...)
			if r.code != 0 || strings.Contains(r.out, "stable?") != guess || strings.Contains(flat(r.out), note) != guess || !strings.Contains(r.out, "stable") {
				t.Errorf("%d runs, %s: exit %d:\n%s%s", n, args, r.code, r.out, r.err)
			}
		}
		if got := rows(t, db, "select stability from summary")[0]["stability"]; got != "stable" {
			t.Errorf("SQL says %v", got)
		}
	}
}

// TestAsiaiSaysOfHowMany: a rate that few of the runs have is not shown as one of
// all.
func TestAsiaiSaysOfHowMany(t *testing.T) {
	needsSQL(t)
	db := storeOf(t, kindsOf(collect.TargetInfo{Engine: "lmstudio", Driver: "openai", ModelID: "demo"}, func(*collect.Request) {}, []float64{100, 101, 100_000, 100_000, 100_000})...)
	if r := tokwatt(t, "", "summary", "--asiai", "--db", db); !strings.Contains(flat(r.out), "tok/s of 2 of 5 runs: the others have no M1 (output within 10 ms") {
		t.Errorf("exit %d:\n%s%s", r.code, r.out, r.err)
	}
}

// TestFootnotes: each mark on a session's rows is told once, in words.
func TestFootnotes(t *testing.T) {
	needsSQL(t)
	streams, throttled := int64(4), true
	for _, c := range []struct {
		name, want string
		change     func([]collect.Record, *collect.Request)
		target     collect.TargetInfo
	}{
		{"throttled", "3 requests while heat or a power limit slowed this host", nil, collect.TargetInfo{}},
		{"queued", "3 requests with more streams than the server admits", nil, collect.TargetInfo{MaxStreams: &streams}},
		{"recounted", "3 requests had no token count of the server's: counted", func(_ []collect.Record, r *collect.Request) {
			r.Report.CompletionTokens, r.Recount = nil, &collect.Recount{Tokens: 120, First: 1}
		}, collect.TargetInfo{}},
		{"estimated", "--tokenizer DIR counts", func(_ []collect.Record, r *collect.Request) { r.Report.CompletionTokens = nil }, collect.TargetInfo{}},
		{"two counts", "3 requests had another token count", func(_ []collect.Record, r *collect.Request) {
			r.Recount = &collect.Recount{Tokens: 60, First: 1}
		}, collect.TargetInfo{}},
		{"own error at as many streams", "this client's own error: TTFT 0.400 ms, intervals – ms (8 streams, 2026-06-30); stamps of our own",
			func(_ []collect.Record, r *collect.Request) { r.StampSource = collect.StampUser }, collect.TargetInfo{}},
	} {
		c.target.Engine, c.target.Driver, c.target.ModelID = "e", "openai", "m"
		recs := kindsOf(c.target, func(r *collect.Request) {
			if c.change != nil {
				c.change(nil, r)
			}
		}, []float64{10, 10, 10})
		for _, rec := range recs {
			switch rec := rec.(type) {
			case *collect.Case:
				if c.name == "queued" || strings.HasPrefix(c.name, "own error") {
					rec.Concurrency = 5
				}
			case *collect.Batch:
				if c.name == "throttled" {
					rec.Throttled = &throttled
				}
			}
		}
		r := tokwatt(t, "", "summary", "--db", storeOf(t, recs...))
		if r.code != 0 || strings.Count(flat(r.out), c.want) != 1 {
			t.Errorf("%s: exit %d, want %q once:\n%s%s", c.name, r.code, c.want, r.out, r.err)
		}
	}
}

// flat is a screen's text without its line breaks and columns.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestSummaryShowsTheCache: what a cache did in a case that is not cold is
// told, be it the same in all rows; kinds of prompts have their names.
func TestSummaryShowsTheCache(t *testing.T) {
	needsSQL(t)
	run := 0
	recs := kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}, func(r *collect.Request) {
		cached := int64(0)
		if run++; run > 1 {
			cached = 63
		}
		r.Report.CachedTokens = &cached
	}, []float64{10, 11, 12})
	out := tokwatt(t, "", "summary", "--db", storeOf(t, recs...)).out
	for _, want := range []string{"cache", "exact", "none", "code"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}

// TestShowSaysHowItWasMeasured: stamps, sizes, and the mark on exo's memory.
func TestShowSaysHowItWasMeasured(t *testing.T) {
	context, size, streams, peak := int64(8192), int64(3<<30), int64(8), int64(2469606195)
	db := storeOf(t, kindsOf(collect.TargetInfo{Engine: "exo", Driver: "exo", ModelID: "m", ContextTokens: &context, ModelBytes: &size, ModelGPUBytes: &size, MaxStreams: &streams},
		func(r *collect.Request) { r.Report.PeakMemoryBytes = &peak }, []float64{10, 11})...)
	out := tokwatt(t, "", "show", "--db", db).out
	for _, want := range []string{
		"context of 8192 tokens, 3.00 GiB loaded, 3.00 GiB on the GPU, the server runs 8 requests at once",
		"memory    at most 2.30 GiB: high-water mark of the process, 7.4 % high",
		"stamps    2 requests by the kernel",
		"this client's own error: TTFT 0.021 ms",
	} {
		if !strings.Contains(flat(out), flat(want)) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
	var doc struct {
		Stamps []tally       `json:"stamps"`
		Memory []*peakMemory `json:"peak_memory"`
	}
	if err := json.Unmarshal([]byte(tokwatt(t, "", "show", "--json", "--db", db).out), &doc); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(doc.Stamps) != "[{kernel 2}]" || len(doc.Memory) != 1 || doc.Memory[0].Bytes != peak || doc.Memory[0].Mark == "" {
		t.Errorf("%+v", doc)
	}
}
