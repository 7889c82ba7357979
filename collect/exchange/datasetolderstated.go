package exchange

import (
	"slices"

	"tokwatt/collect"
)

// olderStated is what the file of a session that was imported before says of a
// request. Where it had no arrivals, the times of the first and the last output
// follow from the figures that were made of them.
func olderStated(r row, c *collect.Case, req *collect.Request, sent bool) *collect.Stated {
	s := &collect.Stated{Sent: sent, Rule: r.text("stated_rule"), SD: r.number("stated_sd"), N: r.count("stated_n")}
	stated := r.list("stated")
	for column, to := range map[string]**float64{
		"ttft_ms": &s.TTFTMS, "total_duration_ms": &s.TotalDurationMS, "generation_duration_ms": &s.GenerationDurationMS,
		"prompt_tps": &s.PromptTPS, "generation_tps": &s.GenerationTPS, "tok_per_sec": &s.TokPerSec, "mixed_tps": &s.MixedTPS,
	} {
		if slices.Contains(stated, column) {
			*to = r.number(column)
		}
	}
	if len(req.Chunks) > 0 && req.Streamed {
		return s
	}
	s.FirstOutputNS = r.nanos("ttft_client_ms")
	if !slices.Contains(stated, "total_duration_ms") {
		s.LastOutputNS = r.nanos("total_duration_ms")
	}
	n, rate := r.count("tokens_generated"), r.number("generation_tps_client")
	if s.FirstOutputNS != nil && n != nil && rate != nil && *rate > 0 && s.LastOutputNS == nil {
		if span := roundNanos(float64(*n-1) / *rate * 1e9); span != nil {
			last := *s.FirstOutputNS + *span
			s.LastOutputNS = &last
		}
	}
	req.Streamed = streamed(r, c, s)
	if !req.Streamed {
		s.FirstOutputNS, s.LastOutputNS = nil, nil
	}
	return s
}

// streamed reports whether an answer without arrivals came as a stream: the
// flag says so where a stream was asked for, else the time of the first output.
func streamed(r row, c *collect.Case, s *collect.Stated) bool {
	if c.Streaming && failureOf(r) == nil {
		return !r.flag("not_streamed")
	}
	return s.FirstOutputNS != nil
}
