package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"tokwatt/collect"
)

// claimsAiperf takes lines whose objects have aiperf's metadata and metrics.
func claimsAiperf(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"metadata"`)) &&
		bytes.Contains(head, []byte(`"metrics"`)) && bytes.Contains(head, []byte(`"request_start_ns"`))
}

// aiperfReader reads profile_export.jsonl of aiperf, a line a request in the
// order of their ends. A figure has a unit beside it, and its name differs
// between versions. Where inter_chunk_latency is there, every arrival is known.
// The server's own counts (usage_…) go before the client's.
//
// The file has neither model nor concurrency: those are in another file of
// aiperf's. The case's concurrency is the most requests that were in flight at
// once by their stamps. Runs of more than maxBatch requests are cut into
// batches of so many. Two passes; the first holds two stamps a request.
type aiperfReader struct {
	out    *sink
	from   int64 // ns since 1970 of the earliest start
	caseID int64
	batch  collect.Batch // the batch in hand, of one phase
}

// aiperfRun is what the first pass finds.
type aiperfRun struct {
	starts, ends []int64
	streamed     bool
}

func readAiperf(in *Input, out *sink) error {
	var run aiperfRun
	err := scanLines(in.reader(), func(_ int, text string) bool {
		run.line(text)
		return out.more()
	})
	if err != nil {
		return err
	}
	a := aiperfReader{out: out}
	s := collect.Session{Imported: &collect.Origin{Tool: "aiperf"}}
	if len(run.starts) > 0 {
		a.from = slices.Min(run.starts)
		s.StartedAt = time.Unix(0, a.from)
	}
	if err := out.session(in.whole(), s); err != nil {
		return err
	}
	target := out.target(collect.TargetInfo{Engine: "openai"})
	a.caseID = out.caseOf(collect.Case{
		TargetID: target, Concurrency: max(inFlight(run.starts, run.ends), 1), CacheMode: collect.CacheServer,
		PromptKind: "own", PromptSource: collect.PromptText, Streaming: run.streamed,
	})
	err = scanLines(in.reader(), func(n int, text string) bool {
		if text != "" {
			a.line(n, text)
		}
		return out.more()
	})
	a.flush()
	return err
}

func (r *aiperfRun) line(text string) {
	var row struct {
		Metadata struct {
			Start int64 `json:"request_start_ns"`
			End   int64 `json:"request_end_ns"`
		}
		Metrics struct {
			TTFT  json.RawMessage `json:"time_to_first_token"`
			Early json.RawMessage `json:"ttft"`
		}
	}
	if json.Unmarshal([]byte(text), &row) != nil || row.Metadata.Start <= 0 {
		return
	}
	r.starts = append(r.starts, row.Metadata.Start)
	r.ends = append(r.ends, max(row.Metadata.End, row.Metadata.Start))
	r.streamed = r.streamed || row.Metrics.TTFT != nil || row.Metrics.Early != nil
}

// inFlight is the most intervals that overlap; one that ends as another starts
// does not. It sorts both lists.
func inFlight(starts, ends []int64) int64 {
	slices.Sort(starts)
	slices.Sort(ends)
	most, done := 0, 0
	for i, at := range starts {
		for done < len(ends) && ends[done] <= at {
			done++
		}
		most = max(most, i+1-done)
	}
	return int64(most)
}

func (a *aiperfReader) line(n int, text string) {
	row, err := parseObject([]byte(text))
	if err != nil {
		a.out.bad(line(n), "%v", err)
		return
	}
	meta := row.object("metadata")
	start := exactInt(meta["request_start_ns"])
	if start == nil || *start <= 0 {
		a.out.bad(line(n), "it has no request_start_ns")
		return
	}
	q, err := aiperfRequest(row, *start-a.from)
	if err != nil {
		a.out.bad(line(n), "%v", err)
		return
	}
	b := &a.batch
	if warmup := meta.text("benchmark_phase", "phase_kind") == "warmup"; warmup != b.Warmup || len(b.Requests) == maxBatch {
		a.flush()
		b.Warmup = warmup
	}
	q.ConcurrentIndex = int64(len(b.Requests))
	b.Requests = append(b.Requests, q)
}

// exactInt is a stamp in nanoseconds, which a float64 would round.
func exactInt(raw json.RawMessage) *int64 {
	var n *int64
	if json.Unmarshal(raw, &n) != nil {
		return nil
	}
	return n
}

func (a *aiperfReader) flush() {
	b := &a.batch
	if len(b.Requests) == 0 {
		return
	}
	a.out.batch(a.caseID, true, *b)
	*b = collect.Batch{}
}

// aiperfRequest is the request of a line, which starts at start.
func aiperfRequest(row object, start int64) (collect.Request, error) {
	meta, metrics := row.object("metadata"), row.object("metrics")
	q := collect.Request{StartNS: start, EndNS: start, Stated: &collect.Stated{Sent: true}}
	from, to := exactInt(meta["request_start_ns"]), exactInt(meta["request_end_ns"])
	if from != nil && to != nil && *to > *from {
		q.EndNS = start + (*to - *from)
	}
	if err := aiperfRefuse(metrics); err != nil {
		return q, err
	}
	q.Report = aiperfReport(row, metrics)
	ttft, latency := aiperfNS(metrics, "time_to_first_token", "ttft"), aiperfNS(metrics, "request_latency")
	gaps, err := aiperfGaps(metrics.object("inter_chunk_latency"))
	switch {
	case err != nil:
		return q, err
	case ttft != nil && gaps != nil:
		if q.Chunks, err = arrivals(float64(*ttft)/1e9, gaps); err != nil {
			return q, err
		}
	case ttft != nil:
		q.Stated.FirstOutputNS, q.Stated.LastOutputNS = ttft, latency
	case latency != nil:
		q.EndNS = start + *latency
	}
	q.Streamed = ttft != nil
	q.Failure, q.HTTPStatus = aiperfFailure(meta, row.object("error"))
	return q, nil
}

// aiperfReport is what a line says of counts.
func aiperfReport(row, metrics object) collect.Report {
	rep := collect.Report{JSON: aiperfRow(row, metrics)}
	count := func(name string) *int64 { return metrics.object(name).count("value") }
	rep.CompletionTokens, rep.PromptTokens = count("usage_completion_tokens"), count("usage_prompt_tokens")
	rep.CachedTokens = count("usage_prompt_cache_read_tokens")
	if rep.CompletionTokens != nil {
		rep.Source = collect.ReportServer
	} else {
		rep.CompletionTokens = count("output_sequence_length")
	}
	if rep.PromptTokens == nil {
		rep.PromptTokens = count("input_sequence_length")
	}
	if rep.ReasoningTokens = count("usage_reasoning_tokens"); rep.ReasoningTokens == nil {
		rep.ReasoningTokens = count("reasoning_token_count")
	}
	return rep
}

// aiperfRow is the line less the gaps, which are the chunks.
func aiperfRow(row, metrics object) string {
	kept := maps.Clone(row)
	if len(metrics) > 0 {
		kept["metrics"] = json.RawMessage(cmp.Or(metrics.without("inter_chunk_latency"), "{}"))
	}
	return kept.without()
}

// aiperfUnits are how many nanoseconds a unit of time has, by aiperf's names.
var aiperfUnits = map[string]float64{
	"ns": 1, "nanoseconds": 1, "us": 1e3, "microseconds": 1e3, "ms": 1e6, "milliseconds": 1e6, "sec": 1e9, "s": 1e9, "seconds": 1e9,
}

// aiperfRefuse is an error where a metric that is read has a value that is none.
func aiperfRefuse(metrics object) error {
	for _, name := range []string{"usage_completion_tokens", "output_sequence_length", "usage_prompt_tokens", "input_sequence_length", "usage_prompt_cache_read_tokens", "usage_reasoning_tokens", "reasoning_token_count"} {
		if err := metrics.object(name).refuseCounts("value"); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range []string{"time_to_first_token", "ttft", "request_latency"} {
		m := metrics.object(name)
		if err := m.refuseTimes("value"); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if m.number("value") != nil && aiperfUnits[m.text("unit")] == 0 {
			return fmt.Errorf("%s: its unit %q is none of time", name, m.text("unit"))
		}
	}
	return nil
}

// aiperfNS is a duration in nanoseconds, nil where it is none or has no unit.
func aiperfNS(metrics object, names ...string) *int64 {
	for _, name := range names {
		m := metrics.object(name)
		x, unit := m.number("value"), aiperfUnits[m.text("unit")]
		if x == nil || unit == 0 {
			continue
		}
		if ns := *x * unit; ns >= 0 && ns < 1e18 {
			n := int64(math.Round(ns))
			return &n
		}
	}
	return nil
}

// aiperfGaps are the gaps between arrivals in seconds, nil where they are not there.
func aiperfGaps(m object) ([]float64, error) {
	if m == nil {
		return nil, nil
	}
	gaps, unit := m.numbers("value"), aiperfUnits[m.text("unit")]
	if gaps == nil || unit == 0 {
		return nil, fmt.Errorf("its inter_chunk_latency is not a list of times")
	}
	for i := range gaps {
		gaps[i] *= unit / 1e9
	}
	return gaps, nil
}

// aiperfFailure is why a request failed, and its HTTP status where the error's
// code is one. 499 is aiperf's own, for a request that was cancelled.
func aiperfFailure(meta, fault object) (*collect.Failure, *int64) {
	cancelled := meta.flag("was_cancelled")
	gone := cancelled != nil && *cancelled
	if fault == nil && !gone {
		return nil, nil
	}
	kind, text := fault.text("type"), fault.text("message")
	code := fault.count("code")
	f := collect.Failf(failureKind(kind+" "+text), "%s", lastLine(text))
	if text == "" {
		f.Message = kind
	}
	switch {
	case gone || code != nil && *code == 499:
		f.Kind = collect.ErrCancelled
		code = nil
	case code != nil && *code >= 400 && *code < 600:
		f.Kind = collect.ErrHTTP
		return f, code
	}
	if f.Message == "" {
		f.Message = "it was cancelled"
	}
	return f, nil
}
