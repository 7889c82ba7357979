package exchange

import (
	"encoding/json"
	"math"
	"slices"
	"unicode/utf8"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// Before schema version 3 the tables had figures alone. What was recorded is
// made of what follows from them; what does not is lost: figures of the server
// that ours replaced, recounts beside its counts, lengths of long outputs, what
// was not run and why.

// What sets a flag of a batch at least.
const (
	lateTimer    = 2_000_001  // ns: client_saturated
	steppedClock = 50_000_001 // ns: clock_step
)

// olderBatch takes what only the flags of a batch tell: the least that sets
// them.
func olderBatch(b *collect.Batch, r row) {
	if r.flag("client_saturated") && (b.ClientCPUPct == nil || *b.ClientCPUPct <= 70) {
		b.WakeupP99NS = new(int64(lateTimer))
	}
	if r.flag("clock_step") {
		b.ClockStepNS = steppedClock
	}
	if b.SpeedLimitPct == nil || *b.SpeedLimitPct >= 100 {
		b.Throttled = r.truth("throttled")
	}
}

// olderRequest takes what follows from the figures of a request.
func (d *datasetReader) olderRequest(r row, c *collect.Case, req *collect.Request) {
	req.Streamed = r.count("chunks") != nil
	req.Report = d.olderReport(r, c)
	n := r.count("tokens_generated")
	if n == nil {
		return // there was no output, or it would be counted
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
}

// olderArrived takes what follows from figures and arrivals together.
func (d *datasetReader) olderArrived(r row, c *collect.Case, req *collect.Request, sent bool) {
	if d.session.Imported != nil {
		req.Stated = olderStated(r, c, req, sent)
		return
	}
	if k := firstTokens(r, req); k > 0 {
		req.Recount = &collect.Recount{Tokens: r.whole("tokens_generated"), First: k}
	}
}

// firstTokens are the tokens of the first output chunk, by the rate that leaves
// them out; 0 where there is none.
func firstTokens(r row, req *collect.Request) int64 {
	rate, n := r.number("decode_tps"), float64(r.whole("tokens_generated"))
	first, last, begun := int64(0), int64(0), false
	for i := range req.Chunks {
		if c := &req.Chunks[i]; c.Kind.Output() {
			if !begun {
				first, begun = c.T, true
			}
			last = c.T
		}
	}
	if rate == nil || !begun {
		return 0
	}
	if k := n - *rate*float64(last-first)/1e9; k > 0.5 && k < n {
		return int64(math.Round(k))
	}
	return 0
}

// olderReport is what the server said.
func (d *datasetReader) olderReport(r row, c *collect.Case) collect.Report {
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
