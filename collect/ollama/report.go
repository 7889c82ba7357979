package ollama

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// stats gathers what the server says of itself.
type stats struct {
	asked  string // the model that was asked for
	model  string // that answered: asked, where it is the same to Ollama
	named  string // the newest name in an answer
	counts counts
	newest []byte // the newest object that told a figure
}

// take keeps the statistics of an object.
func (s *stats) take(o *object, data []byte) {
	if o.Model != "" && o.Model != s.named {
		s.answers(o.Model)
	}
	told := false
	for i, f := range o.counts.fields() {
		if f.V == nil {
			continue
		}
		told = true
		// A 0 is no word where there was a figure.
		if to := s.counts.fields()[i]; *f.V != 0 || to.V == nil {
			to.V = f.V
		}
	}
	if told {
		s.newest = append(s.newest[:0], data...)
	}
}

// answers takes the name of the model that answers. One object of another model
// is enough to say that another answered.
func (s *stats) answers(name string) {
	s.named = name
	switch {
	case same(name, s.asked):
		s.model = cmp.Or(s.model, s.asked)
	case s.model == "" || s.model == s.asked:
		s.model = name
	}
}

// maxStatistics bounds what is kept of an object, and maxField each value in
// it, in bytes.
const (
	maxStatistics = 64 << 10
	maxField      = 1 << 10
)

// noStatistic are the fields that are no statistics: the text, and context,
// which has a number for each token of the prompt.
var noStatistic = map[string]bool{
	"model": true, "created_at": true, "response": true, "thinking": true, "message": true,
	"context": true, "done": true, "tool_calls": true, "logprobs": true,
}

// statistics is an object as it came, without the fields that are no
// statistics; nil where nothing is left.
func statistics(data []byte) []byte {
	if !json.Valid(data) {
		if data = wire.Quoted(data); data == nil {
			return nil
		}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var out []byte
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		name, _ := key.(string)
		if noStatistic[name] || len(value) > maxField || len(out)+len(name)+len(value) > maxStatistics {
			continue
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			continue
		}
		sep := byte(',')
		if out == nil {
			sep = '{'
		}
		out = append(append(append(append(out, sep), quoted...), ':'), value...)
	}
	if out == nil {
		return nil
	}
	return append(out, '}')
}

// report reads what was kept. Ollama states no rates, so there are none in it:
// they follow from the counts and durations.
func (s *stats) report() collect.Report {
	c := &s.counts
	return collect.Report{
		Source:           collect.ReportServer,
		Model:            wire.Clip(shown(s.model), wire.MaxReason),
		PromptTokens:     whole(c.PromptEvalCount.V),
		CachedTokens:     whole(c.PromptCachedCount.V),
		CompletionTokens: whole(c.EvalCount.V),
		TotalNS:          c.TotalDuration.V,
		LoadNS:           c.LoadDuration.V,
		PromptEvalNS:     c.PromptEvalDuration.V,
		EvalNS:           c.EvalDuration.V,
		JSON:             string(statistics(s.newest)),
	}
}

// whole is a count; nil for what can be none.
func whole(f *float64) *int64 {
	if f == nil || !(math.Abs(*f) <= 1<<53) { // nor is NaN
		return nil
	}
	n := int64(*f)
	return &n
}
