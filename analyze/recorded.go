package analyze

import (
	"encoding/json"
	"fmt"

	"tokwatt/collect"
)

// Recorded is what was recorded of a request beside its times and its text.
// Figures are made of it by rules; it stands beside them, so that a session
// that is taken in from a dataset has all that was known of it, and a corrected
// rule applies to it too.
type Recorded struct {
	Streamed           bool   // the answer came as a stream
	OutputChars        int64  // code points of the whole output
	RecountTokens      *int64 // of the output, by the model's own tokenizer
	RecountFirstTokens *int64 // of its first chunk
	ReportJSON         string // see [ReportOf]; empty: the server said nothing
	StatedJSON         string // see [StatedOf]; empty: tokwatt measured it
}

func recorded(r *collect.Request) Recorded {
	out := Recorded{Streamed: r.Streamed, OutputChars: r.OutputChars, ReportJSON: reportJSON(r.Report), StatedJSON: statedJSON(r.Stated)}
	if n := r.Recount; n != nil {
		out.RecountTokens, out.RecountFirstTokens = &n.Tokens, &n.First
	}
	return out
}

// The types of the JSON columns are collect's, field by field, with the names
// that stand in the files, as in package store: Go converts between structs that
// differ in tags alone, so a field that is added to one does not compile without
// the other. None of the names is ever used for something else.

// reportFacts is a collect.Report but for what has a column as it is.
type reportFacts struct {
	Source           collect.ReportSource `json:"source,omitempty"`
	Model            string               `json:"-"` // served_model
	FinishReason     string               `json:"-"` // finish_reason
	PromptTokens     *int64               `json:"prompt_tokens,omitempty"`
	CompletionTokens *int64               `json:"completion_tokens,omitempty"`
	ReasoningTokens  *int64               `json:"reasoning_tokens,omitempty"`
	CachedTokens     *int64               `json:"cached_tokens,omitempty"`
	PrefixCacheHit   string               `json:"prefix_cache_hit,omitempty"`
	PromptTPS        *float64             `json:"prompt_tps,omitempty"`
	GenerationTPS    *float64             `json:"generation_tps,omitempty"`
	GenerationRule   collect.RateRule     `json:"generation_rule,omitempty"`
	PromptEvalNS     *float64             `json:"prompt_eval_ns,omitempty"`
	EvalNS           *float64             `json:"eval_ns,omitempty"`
	LoadNS           *float64             `json:"load_ns,omitempty"`
	TotalNS          *float64             `json:"total_ns,omitempty"`
	PeakMemoryBytes  *int64               `json:"peak_memory_bytes,omitempty"`
	JSON             string               `json:"-"` // server_json
}

type statedFacts struct {
	FirstOutputNS        *int64   `json:"first_output_ns,omitempty"`
	LastOutputNS         *int64   `json:"last_output_ns,omitempty"`
	Sent                 bool     `json:"sent,omitempty"`
	TTFTMS               *float64 `json:"ttft_ms,omitempty"`
	TotalDurationMS      *float64 `json:"total_duration_ms,omitempty"`
	GenerationDurationMS *float64 `json:"generation_duration_ms,omitempty"`
	PromptTPS            *float64 `json:"prompt_tps,omitempty"`
	GenerationTPS        *float64 `json:"generation_tps,omitempty"`
	TokPerSec            *float64 `json:"tok_per_sec,omitempty"`
	MixedTPS             *float64 `json:"mixed_tps,omitempty"`
	Rule                 string   `json:"rule,omitempty"`
	SD                   *float64 `json:"sd,omitempty"`
	N                    *int64   `json:"n,omitempty"`
}

// reportJSON is a report as column report_json has it. JSON has no word for a
// figure that is not a number: it stands as −1, which is none either.
func reportJSON(r collect.Report) string {
	known(&r.PromptTPS, &r.GenerationTPS, &r.PromptEvalNS, &r.EvalNS, &r.LoadNS, &r.TotalNS)
	facts := reportFacts(r)
	if text := jsonText(&facts); text != "{}" {
		return text
	}
	return ""
}

// ReportOf is the report that column report_json has, before any rule: the
// server's counts, rates in tokens/s and durations in ns. The model, the reason
// of the end and the statistics verbatim have columns of their own. No text is
// an empty report.
func ReportOf(text string) (collect.Report, error) {
	var r reportFacts
	err := parse("report_json", text, &r)
	return collect.Report(r), err
}

// statedJSON is column stated_json, as reportJSON.
func statedJSON(s *collect.Stated) string {
	if s == nil {
		return ""
	}
	out := *s
	known(&out.TTFTMS, &out.TotalDurationMS, &out.GenerationDurationMS, &out.PromptTPS, &out.GenerationTPS, &out.TokPerSec, &out.MixedTPS, &out.SD)
	return jsonText(statedFacts(out))
}

// StatedOf is what column stated_json says that an imported file states of a
// request; nil without a text, which is that of a request that tokwatt measured.
func StatedOf(text string) (*collect.Stated, error) {
	if text == "" {
		return nil, nil
	}
	var s statedFacts
	err := parse("stated_json", text, &s)
	return (*collect.Stated)(&s), err
}

// known replaces what is not a number.
func known(figures ...**float64) {
	for _, f := range figures {
		if *f != nil && finite(*f) == nil {
			*f = ptr(-1.0)
		}
	}
}

// jsonText is a value of a JSON column. Only numbers that are none could not be
// written, and those are replaced before.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("analyze: " + err.Error())
	}
	return string(text)
}

func parse(column, text string, to any) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return fmt.Errorf("column %s is not as tokwatt writes it: %w", column, err)
	}
	return nil
}
