package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"path"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// usage is the counts object of the API.
type usage struct {
	PromptTokens     wire.Number `json:"prompt_tokens"`
	CompletionTokens wire.Number `json:"completion_tokens"`
	PromptDetails    struct {
		CachedTokens wire.Number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens wire.Number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	// Some servers have these two here, and oMLX a rate of its own.
	CachedTokens    wire.Number `json:"cached_tokens"`
	ReasoningTokens wire.Number `json:"reasoning_tokens"`
	GenerationTPS   wire.Number `json:"generation_tokens_per_second"`
}

// fields are those that we read.
func (u *usage) fields() []*wire.Number {
	return []*wire.Number{&u.PromptTokens, &u.CompletionTokens, &u.PromptDetails.CachedTokens, &u.CompletionDetails.ReasoningTokens,
		&u.CachedTokens, &u.ReasoningTokens, &u.GenerationTPS}
}

// timings is llama.cpp's own account. prompt_n leaves out the cached tokens.
type timings struct {
	CacheN             wire.Number `json:"cache_n"`
	PromptN            wire.Number `json:"prompt_n"`
	PromptMS           wire.Number `json:"prompt_ms"`
	PromptPerSecond    wire.Number `json:"prompt_per_second"`
	PredictedN         wire.Number `json:"predicted_n"`
	PredictedMS        wire.Number `json:"predicted_ms"`
	PredictedPerSecond wire.Number `json:"predicted_per_second"`
}

func (t *timings) fields() []*wire.Number {
	return []*wire.Number{&t.CacheN, &t.PromptN, &t.PromptMS, &t.PromptPerSecond, &t.PredictedN, &t.PredictedMS, &t.PredictedPerSecond}
}

// lmStats is LM Studio's own account; its whole answers have it. Its rate is
// n / span.
type lmStats struct {
	TokensPerSecond  wire.Number `json:"tokens_per_second"`
	TimeToFirstToken wire.Number `json:"time_to_first_token"` // s
	GenerationTime   wire.Number `json:"generation_time"`     // s
}

func (l *lmStats) fields() []*wire.Number {
	return []*wire.Number{&l.TokensPerSecond, &l.TimeToFirstToken, &l.GenerationTime}
}

// readCounts reads the usage of a chunk; nil where it is absent or null.
func readCounts(raw json.RawMessage) *usage {
	if !isObject(raw) {
		return nil
	}
	u := &usage{}
	_ = json.Unmarshal(raw, u) // fields of odd types are not told
	return u
}

// stats gathers what the server says of itself.
type stats struct {
	asked   string // the model that was asked for
	model   string
	usage   usage
	timings timings
	lm      lmStats
	// The newest objects that told something, as they came.
	rawUsage, rawTimings, rawStats json.RawMessage
	rawMetrics                     json.RawMessage // kept, and not read
	generation, power              json.RawMessage // exo's; null where it says null
}

// maxStatistics bounds a statistics object, in bytes. A larger one is none,
// and is not read.
const maxStatistics = 64 << 10

// take keeps the statistics of a chunk.
func (s *stats) take(c *chunk, n *usage, raw json.RawMessage) {
	// One chunk of another model is enough to say that another answered.
	if c.Model != "" && (s.model == "" || path.Base(shown(s.model)) == path.Base(shown(s.asked))) {
		s.model = wire.Clip(c.Model, wire.MaxReason)
	}
	if n != nil && merge(s.usage.fields(), n.fields()) {
		s.rawUsage = raw
	}
	if isObject(c.Timings) {
		var t timings
		_ = json.Unmarshal(c.Timings, &t) // fields of odd types are not told
		if merge(s.timings.fields(), t.fields()) {
			s.rawTimings = c.Timings
		}
	}
	if isObject(c.Stats) {
		var l lmStats
		_ = json.Unmarshal(c.Stats, &l) // as above
		if merge(s.lm.fields(), l.fields()) {
			s.rawStats = c.Stats
		}
	}
	if isObject(c.Metrics) {
		s.rawMetrics = c.Metrics
	}
	s.exo(c)
}

// merge lets the newest word of each field stand, and reports whether there
// was any. A 0 is no word where there was a figure.
func merge(to, from []*wire.Number) (told bool) {
	for i, f := range from {
		if f.V == nil {
			continue
		}
		told = true
		if *f.V != 0 || to[i].V == nil {
			to[i].V = f.V
		}
	}
	return told
}

func isObject(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= maxStatistics && raw[0] == '{'
}

// report reads what was kept.
func (s *stats) report() collect.Report {
	r := collect.Report{
		Source:           collect.ReportServer,
		Model:            shown(s.model),
		PromptTokens:     whole(s.usage.PromptTokens.V),
		CompletionTokens: whole(s.usage.CompletionTokens.V),
		CachedTokens:     whole(either(s.usage.PromptDetails.CachedTokens.V, s.usage.CachedTokens.V)),
		ReasoningTokens:  whole(either(s.usage.CompletionDetails.ReasoningTokens.V, s.usage.ReasoningTokens.V)),
		JSON:             s.verbatim(),
		GenerationTPS:    either(s.lm.TokensPerSecond.V, s.usage.GenerationTPS.V),
	}
	if r.GenerationTPS != nil {
		r.GenerationRule = collect.RateTokens
	}
	if s.rawTimings != nil {
		s.timed(&r)
	}
	s.generated(&r)
	return r
}

// either is a, or b where there is no a.
func either(a, b *float64) *float64 {
	if a != nil {
		return a
	}
	return b
}

// whole is a count; nil for what can be none.
func whole(f *float64) *int64 {
	if f == nil || !(math.Abs(*f) <= 1<<53) { // nor is NaN
		return nil
	}
	n := int64(*f)
	return &n
}

// timed adds what llama.cpp says. Its counts stand in for usage, never over it.
func (s *stats) timed(r *collect.Report) {
	t := &s.timings
	if r.CompletionTokens == nil {
		r.CompletionTokens = whole(t.PredictedN.V)
	}
	if r.CachedTokens == nil {
		r.CachedTokens = whole(t.CacheN.V)
	}
	if r.PromptTokens == nil && t.CacheN.V != nil && t.PromptN.V != nil {
		n := *t.PromptN.V + *t.CacheN.V
		r.PromptTokens = whole(&n)
	}
	r.PromptTPS, r.GenerationTPS = t.PromptPerSecond.V, t.PredictedPerSecond.V
	r.PromptEvalNS, r.EvalNS = nanoseconds(t.PromptMS.V), nanoseconds(t.PredictedMS.V)
	if r.GenerationTPS != nil {
		r.GenerationRule = t.rule()
	}
}

// rule finds the formula behind predicted_per_second from the figures
// themselves: llama-server went from n / span to (n − 1) / span, and nothing
// but the numbers tells which one it is.
func (t *timings) rule() collect.RateRule {
	n, ms, rate := t.PredictedN.V, t.PredictedMS.V, t.PredictedPerSecond.V
	if n == nil || ms == nil || *ms <= 0 {
		return collect.RateTokens
	}
	perInterval, perToken := (*n-1) / *ms * 1e3, *n / *ms * 1e3
	if math.Abs(*rate-perInterval) < math.Abs(*rate-perToken) {
		return collect.RateIntervals
	}
	return collect.RateTokens
}

func nanoseconds(ms *float64) *float64 {
	if ms == nil {
		return nil
	}
	ns := *ms * 1e6
	return &ns
}

// verbatim joins the statistics objects as they came.
func (s *stats) verbatim() string {
	var b bytes.Buffer
	for _, o := range []struct {
		name string
		raw  json.RawMessage
	}{{"generation_stats", s.generation}, {"power_usage", s.power}, {"usage", s.rawUsage}, {"timings", s.rawTimings}, {"stats", s.rawStats}, {"metrics", s.rawMetrics}} {
		if o.raw == nil {
			continue
		}
		sep := byte(',')
		if b.Len() == 0 {
			sep = '{'
		}
		b.WriteByte(sep)
		b.WriteString(`"` + o.name + `":`)
		b.Write(o.raw)
	}
	if b.Len() == 0 {
		return ""
	}
	b.WriteByte('}')
	return b.String()
}

// totals turns running totals into tokens per chunk. That works only as long
// as every output chunk says how many tokens there are by now.
type totals struct {
	before float64
	lost   bool
}

// step is the number of tokens of the output chunk that came with counts.
func (t *totals) step(c *usage) int32 {
	if t.lost || c == nil || c.CompletionTokens.V == nil {
		t.lost = true
		return collect.TokensUnknown
	}
	now := *c.CompletionTokens.V
	if !(now > 0 && now >= t.before && now <= 1<<30) {
		t.lost = true
		return collect.TokensUnknown
	}
	n := int32(now - t.before)
	t.before = now
	return n
}
