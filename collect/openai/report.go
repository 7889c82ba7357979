package openai

import (
	"bytes"
	"encoding/json"
	"math"

	"tokwatt/collect"
)

// usage is the counts object of the API.
type usage struct {
	PromptTokens     *float64 `json:"prompt_tokens"`
	CompletionTokens *float64 `json:"completion_tokens"`
	PromptDetails    struct {
		CachedTokens *float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens *float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// timings is llama.cpp's own account. prompt_n leaves out the cached tokens.
type timings struct {
	CacheN             *float64 `json:"cache_n"`
	PromptN            *float64 `json:"prompt_n"`
	PromptMS           *float64 `json:"prompt_ms"`
	PromptPerSecond    *float64 `json:"prompt_per_second"`
	PredictedN         *float64 `json:"predicted_n"`
	PredictedMS        *float64 `json:"predicted_ms"`
	PredictedPerSecond *float64 `json:"predicted_per_second"`
}

// counts is a usage object, read and as it came.
type counts struct {
	usage
	raw json.RawMessage
}

// readCounts reads the usage of a chunk; nil where it is absent or null.
func readCounts(raw json.RawMessage) *counts {
	if !isObject(raw) {
		return nil
	}
	c := &counts{raw: raw}
	_ = json.Unmarshal(raw, &c.usage) // fields of odd types are not told
	return c
}

// stats gathers what the server says of itself.
type stats struct {
	model   string
	counts  []*counts
	timings json.RawMessage
}

// What is kept of one answer: usage objects, and the bytes of each statistics
// object. A larger one is no statistics, and is not read.
const (
	maxCounts     = 16
	maxStatistics = 64 << 10
)

// take keeps the statistics of a chunk. Of running totals, which a server may
// send with every chunk, only the newest is kept, unless it leaves out what
// an older one told.
func (s *stats) take(c *chunk, n *counts) {
	if c.Model != "" {
		s.model = clip(c.Model, maxReason)
	}
	if isObject(c.Timings) {
		s.timings = c.Timings
	}
	if n == nil {
		return
	}
	if last := len(s.counts) - 1; last >= 0 && n.covers(s.counts[last]) {
		s.counts[last] = n
	} else if len(s.counts) < maxCounts {
		s.counts = append(s.counts, n)
	}
}

// covers reports whether n tells all that old told: a 0 tells nothing where
// there was a count.
func (n *counts) covers(old *counts) bool {
	for _, f := range [...][2]*float64{
		{n.PromptTokens, old.PromptTokens},
		{n.CompletionTokens, old.CompletionTokens},
		{n.PromptDetails.CachedTokens, old.PromptDetails.CachedTokens},
		{n.CompletionDetails.ReasoningTokens, old.CompletionDetails.ReasoningTokens},
	} {
		if f[1] != nil && (f[0] == nil || *f[0] == 0 && *f[1] != 0) {
			return false
		}
	}
	return true
}

func isObject(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) <= maxStatistics && raw[0] == '{'
}

// report reads what was kept.
func (s *stats) report() collect.Report {
	r := collect.Report{Source: collect.ReportServer, Model: shown(s.model)}
	var last json.RawMessage
	for _, n := range s.counts {
		latest(&r.PromptTokens, n.PromptTokens)
		latest(&r.CompletionTokens, n.CompletionTokens)
		latest(&r.CachedTokens, n.PromptDetails.CachedTokens)
		latest(&r.ReasoningTokens, n.CompletionDetails.ReasoningTokens)
		last = n.raw
	}
	if s.timings != nil {
		s.timed(&r)
	}
	r.JSON = verbatim(last, s.timings)
	return r
}

// latest lets the newest word of a count stand, but no 0 over a count.
func latest(to **int64, from *float64) {
	if from == nil || *to != nil && *from == 0 {
		return
	}
	*to = whole(from)
}

// whole is a count; nil for what can be none.
func whole(f *float64) *int64 {
	if f == nil || math.Abs(*f) > 1<<53 {
		return nil
	}
	n := int64(*f)
	return &n
}

// timed adds what llama.cpp says. Its counts stand in for usage, never over it.
func (s *stats) timed(r *collect.Report) {
	var t timings
	_ = json.Unmarshal(s.timings, &t) // fields of odd types are not told
	if r.CompletionTokens == nil {
		r.CompletionTokens = whole(t.PredictedN)
	}
	if r.CachedTokens == nil {
		r.CachedTokens = whole(t.CacheN)
	}
	if r.PromptTokens == nil && t.CacheN != nil && t.PromptN != nil {
		n := *t.PromptN + *t.CacheN
		r.PromptTokens = whole(&n)
	}
	r.PromptTPS, r.GenerationTPS = t.PromptPerSecond, t.PredictedPerSecond
	r.PromptEvalNS, r.EvalNS = nanoseconds(t.PromptMS), nanoseconds(t.PredictedMS)
	if r.GenerationTPS != nil {
		r.GenerationRule = t.rule()
	}
}

// rule finds the formula behind predicted_per_second from the figures
// themselves: llama-server went from n / span to (n − 1) / span, and nothing
// but the numbers tells which one it is.
func (t timings) rule() collect.RateRule {
	if t.PredictedN == nil || t.PredictedMS == nil || *t.PredictedMS <= 0 {
		return collect.RateTokens
	}
	perInterval := (*t.PredictedN - 1) / *t.PredictedMS * 1e3
	perToken := *t.PredictedN / *t.PredictedMS * 1e3
	if math.Abs(*t.PredictedPerSecond-perInterval) < math.Abs(*t.PredictedPerSecond-perToken) {
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
func verbatim(usage, timings json.RawMessage) string {
	var b bytes.Buffer
	for _, o := range []struct {
		name string
		raw  json.RawMessage
	}{{"usage", usage}, {"timings", timings}} {
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
func (t *totals) step(c *counts) int32 {
	if t.lost || c == nil || c.CompletionTokens == nil {
		t.lost = true
		return collect.TokensUnknown
	}
	now := *c.CompletionTokens
	if now < t.before || now <= 0 || now > 1<<30 {
		t.lost = true
		return collect.TokensUnknown
	}
	n := int32(now - t.before)
	t.before = now
	return n
}
