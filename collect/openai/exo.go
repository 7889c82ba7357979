package openai

import (
	"bytes"
	"encoding/json"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// exo says more than the API holds: prefill progress and the statistics of a
// request. In a whole answer the statistics are fields beside the choices, in
// an event stream they come as comments, which the rules of event streams
// would have dropped:
//
//	: prefill_progress {"PrefillProgressChunk":{…}}
//	: generation_stats {"prompt_tps":…,"peak_memory_usage":{"in_bytes":…},…}

// generation is exo's own account of a request.
type generation struct {
	PromptTPS        wire.Number `json:"prompt_tps"`
	GenerationTPS    wire.Number `json:"generation_tps"`
	PromptTokens     wire.Number `json:"prompt_tokens"`
	GenerationTokens wire.Number `json:"generation_tokens"`
	PeakMemory       struct {
		Body   wire.Number `json:"inBytes"`
		Stream wire.Number `json:"in_bytes"`
	} `json:"peak_memory_usage"`
	PrefixCacheHit wire.Text `json:"prefix_cache_hit"`
}

var (
	progressNote   = []byte(": prefill_progress ")
	statisticsNote = []byte(": generation_stats ")
)

// isNote tells these comments from those that say nothing, as keep-alives.
func isNote(line []byte) bool {
	return bytes.HasPrefix(line, progressNote) || bytes.HasPrefix(line, statisticsNote)
}

// note takes a comment of a stream.
func (a *answer) note(ev event) error {
	kind := collect.KindProgress
	if said, ok := bytes.CutPrefix(ev.data, statisticsNote); ok {
		kind = collect.KindReport
		a.stats.noted(said)
	}
	a.events++
	a.at = ev.at
	a.send(collect.Arrival{Chunk: collect.Chunk{T: ev.at, Bytes: int32(len(ev.data)), Tokens: collect.TokensUnknown, Kind: kind}})
	return a.excess()
}

// noted keeps the statistics of a comment. What can't be read says nothing.
func (s *stats) noted(raw []byte) {
	if fixed := wire.Quoted(raw); fixed != nil {
		raw = fixed
	}
	raw = bytes.TrimSpace(raw)
	if isStatistics(raw) && json.Valid(raw) {
		s.generation = bytes.Clone(raw)
	}
}

// exo keeps the statistics of a whole answer: null is a word too.
func (s *stats) exo(c *chunk) {
	if isStatistics(c.Generation) {
		s.generation = c.Generation
	}
	if isStatistics(c.Power) {
		s.power = c.Power
	}
	if s.rawUsage == nil && string(c.Usage) == "null" && (c.Generation != nil || c.Power != nil) {
		s.rawUsage = c.Usage
	}
}

func isStatistics(raw json.RawMessage) bool { return isObject(raw) || string(raw) == "null" }

// generated adds what exo says. Its counts stand in for usage, never over it.
func (s *stats) generated(r *collect.Report) {
	if !isObject(s.generation) {
		return
	}
	var g generation
	_ = json.Unmarshal(s.generation, &g) // fields of odd types are not told
	rule := collect.RateIntervals
	if n := whole(g.PromptTokens.V); r.PromptTokens == nil {
		r.PromptTokens = n
	} else if n != nil && *n != *r.PromptTokens {
		// exo's sequential engine, and only that one, counts one token more
		// here than in usage. Its rate is mlx-lm's: n / span.
		rule = collect.RateTokens
	}
	if g.GenerationTPS.V != nil {
		r.GenerationRule = rule
	}
	if r.CompletionTokens == nil {
		r.CompletionTokens = whole(g.GenerationTokens.V)
	}
	r.PromptTPS, r.GenerationTPS = g.PromptTPS.V, g.GenerationTPS.V
	r.PrefixCacheHit = wire.Clip(g.PrefixCacheHit.S, wire.MaxReason)
	for _, n := range []wire.Number{g.PeakMemory.Body, g.PeakMemory.Stream} {
		if n := whole(n.V); n != nil {
			r.PeakMemoryBytes = n
		}
	}
}
