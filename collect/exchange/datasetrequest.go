package exchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// batch is a batch with its requests and their chunks, which stand in the order
// of the batches.
func (d *datasetReader) batch(r row) (*collect.Batch, error) {
	b := &collect.Batch{
		CaseID: r.whole("case_id"), BatchID: r.whole("batch_id"), Segment: r.whole("segment"), StartNS: r.whole("start_ns"), EndNS: r.whole("end_ns"),
		RepeatIndex: r.whole("repeat_index"), Warmup: r.is("warmup"), ClientCPUPct: r.number("client_cpu_pct"), SpeedLimitPct: r.number("speed_limit_pct"),
	}
	c := d.cases[b.CaseID]
	if c == nil || d.targets[c.TargetID] == nil {
		return nil, fmt.Errorf("batch %d is of case %d, which it has not, or whose target it has not", b.BatchID, b.CaseID)
	}
	settleBatch(b, r)
	var rows []row
	for n := r.whole("requests"); n > 0; n-- {
		if !d.requests.ok || d.requests.whole("batch_id") != b.BatchID {
			return nil, cmp.Or(d.requests.err, fmt.Errorf("batch %d has %d requests fewer than it says", b.BatchID, n))
		}
		req := d.request(d.requests.row, c)
		if err := d.arrivals(&req); err != nil {
			return nil, err
		}
		rows = append(rows, d.requests.row)
		b.Requests = append(b.Requests, req)
		d.requests.next()
	}
	if d.session.Imported != nil {
		spread := r.number("dispatch_spread_us")
		for i := range b.Requests {
			b.Requests[i].Stated = statedOf(rows[i], c, &b.Requests[i], spread != nil)
		}
	}
	s := settling{context: analyze.Context{SessionID: d.id, Target: d.targets[c.TargetID], Case: c}, batch: b, rows: rows}
	s.run()
	return b, nil
}

// arrivals takes the chunks of a request.
func (d *datasetReader) arrivals(req *collect.Request) error {
	c := d.chunks
	for c.ok && c.whole("request_id") == req.RequestID {
		chunk := collect.Chunk{T: c.whole("t_ns"), Bytes: int32(c.whole("bytes")), Tokens: collect.TokensUnknown}
		if n := c.count("tokens"); n != nil {
			chunk.Tokens = int32(*n)
		}
		kind, err := kindOf(c.text("kind"))
		if err != nil {
			return err
		}
		chunk.Kind = kind
		req.Chunks = append(req.Chunks, chunk)
		c.next()
	}
	return c.err
}

// kindOf is the kind of a name.
func kindOf(name string) (collect.ChunkKind, error) {
	for k := collect.KindRole; k <= collect.KindReport; k++ {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("a chunk is of the unknown kind %q", name)
}

// request is a request without its chunks.
func (d *datasetReader) request(r row, c *collect.Case) collect.Request {
	req := collect.Request{
		RequestID: r.whole("request_id"), ConcurrentIndex: r.whole("concurrent_index"), StartNS: r.whole("start_ns"), EndNS: r.whole("end_ns"),
		PPTokens: r.count("pp_tokens"), HTTPStatus: r.count("http_status"), StampSource: collect.StampSource(r.text("stamp_source")),
		Streamed: r.count("chunks") != nil, UncleanEnd: r.flag("unclean_end"), Preview: r.text("output_text_preview"), Failure: failureOf(r),
		Report: d.report(r, c),
	}
	n := r.count("tokens_generated")
	if n == nil {
		return req // there was no output, or it would be counted
	}
	req.OutputChars = int64(utf8.RuneCountInString(req.Preview))
	switch source := r.text("tokens_source"); {
	case source == string(analyze.SourceEstimate):
		if max(1, req.OutputChars/4) != *n {
			req.OutputChars = 4 * *n
		}
	case source == string(analyze.SourceTokenizer):
		req.Recount = &collect.Recount{Tokens: *n}
	default:
		req.Report.CompletionTokens = n
	}
	return req
}

// failureOf is why a request failed. A complete answer without anything is
// found empty anew.
func failureOf(r row) *collect.Failure {
	kind := collect.ErrorKind(r.text("error_kind"))
	if kind == "" || kind == collect.ErrEmpty && r.number("response_ms") != nil {
		return nil
	}
	return &collect.Failure{Kind: kind, Message: r.text("error"), HTTPStatus: r.count("http_status"), RetryAfter: r.number("retry_after_s")}
}

// report is what the server said.
func (d *datasetReader) report(r row, c *collect.Case) collect.Report {
	target := d.targets[c.TargetID]
	rep := collect.Report{
		Source: d.reporter(r, target), Model: r.text("served_model"), FinishReason: r.text("finish_reason"), PromptTokens: r.count("prompt_tokens"),
		ReasoningTokens: r.count("reasoning_tokens"), CachedTokens: r.count("cached_tokens"), PeakMemoryBytes: r.count("peak_memory_bytes"),
		JSON: r.text("server_json"), LoadNS: wholeNanos(r.nanos("load_duration_ms")),
	}
	if target.Driver == "ollama" { // whose rates are made of these
		rep.PromptEvalNS, rep.TotalNS, rep.EvalNS = wholeNanos(r.nanos("ttft_ms")), wholeNanos(r.nanos("total_duration_ms")), wholeNanos(r.nanos("generation_duration_ms"))
		return rep
	}
	timings(&rep)
	if says(r, "prompt_tps") {
		rep.PromptTPS = r.number("prompt_tps")
	}
	if rep.GenerationTPS = r.number("generation_tps_server"); rep.GenerationTPS != nil {
		rep.GenerationRule = ruleOf(r)
	}
	return rep
}

// ruleOf is the rule of the server's rate of generation: the one that is ours
// where it stands as the rate.
func ruleOf(r row) collect.RateRule {
	if says(r, "generation_tps") {
		return collect.RateIntervals
	}
	return collect.RateTokens
}

// says reports whether a rate of a row is the word of who reported.
func says(r row, rate string) bool {
	return r.number(rate) != nil && told(r.text(rate+"_source")) && !slices.Contains(r.list("stated"), rate)
}

// told reports whether a figure is the word of who reported; of imported ones
// the source may not be known.
func told(source string) bool {
	return source != string(analyze.SourceClient) && source != string(analyze.SourceImport)
}

// reporter is whose word the report is. A file that was imported need not say.
func (d *datasetReader) reporter(r row, t *collect.TargetInfo) collect.ReportSource {
	sources := []string{r.text("tokens_source"), r.text("prompt_tps_source"), r.text("generation_tps_source")}
	switch {
	case slices.Contains(sources, string(analyze.SourceEngine)) || t.Driver == "inproc":
		return collect.ReportEngine
	case d.session.Imported != nil && !slices.Contains(sources, string(analyze.SourceServer)):
		return ""
	}
	return collect.ReportServer
}

// timings takes llama.cpp's durations and prefill rate from its statistics:
// of figures that can't be true no column has them.
func timings(rep *collect.Report) {
	var said struct {
		Timings struct {
			PromptMS        *float64 `json:"prompt_ms"`
			PredictedMS     *float64 `json:"predicted_ms"`
			PromptPerSecond *float64 `json:"prompt_per_second"`
		} `json:"timings"`
	}
	if json.Unmarshal([]byte(rep.JSON), &said) != nil {
		return // none of llama.cpp's
	}
	rep.PromptTPS = said.Timings.PromptPerSecond
	rep.PromptEvalNS, rep.EvalNS = nanosOf(said.Timings.PromptMS), nanosOf(said.Timings.PredictedMS)
}

func nanosOf(ms *float64) *float64 {
	if ms == nil {
		return nil
	}
	ns := *ms * 1e6
	return &ns
}

// roundNanos is the nearest whole number of nanoseconds, nil where there is none.
func roundNanos(ns float64) *int64 {
	if !(math.Abs(ns) < 1<<62) {
		return nil
	}
	n := int64(math.Round(ns))
	return &n
}

func wholeNanos(ns *int64) *float64 {
	if ns == nil {
		return nil
	}
	x := float64(*ns)
	return &x
}
