package analyze_test

import (
	"math"
	"reflect"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// TestRecorded: what a row says was recorded is what was, but for figures that
// are not numbers.
func TestRecorded(t *testing.T) {
	report := collect.Report{
		Source: collect.ReportServer, Model: "m", FinishReason: "stop", PromptTokens: ptr(int64(0)), CompletionTokens: ptr(int64(-3)), ReasoningTokens: ptr(int64(4)),
		CachedTokens: ptr(int64(5)), PrefixCacheHit: "exact", PromptTPS: ptr(6.5), GenerationTPS: ptr(0.0), GenerationRule: collect.RateTokens, PromptEvalNS: ptr(7.5),
		EvalNS: ptr(math.NaN()), LoadNS: ptr(-8.5), TotalNS: ptr(math.Inf(1)), PeakMemoryBytes: ptr(int64(9)), JSON: `{"a":1}`,
	}
	stated := &collect.Stated{FirstOutputNS: ptr(int64(1)), LastOutputNS: ptr(int64(2)), Sent: true, TTFTMS: ptr(3.5), TotalDurationMS: ptr(4.5), GenerationDurationMS: ptr(5.5),
		PromptTPS: ptr(6.5), GenerationTPS: ptr(7.5), TokPerSec: ptr(8.5), MixedTPS: ptr(9.5), Rule: "n / t < 1", SD: ptr(math.NaN()), N: ptr(int64(10))}
	_, rows := analyze.Derive(analyze.Context{Target: &collect.TargetInfo{}, Case: &collect.Case{}}, &collect.Batch{Requests: []collect.Request{
		{Streamed: true, OutputChars: 11, Recount: &collect.Recount{Tokens: 12, First: 13}, Report: report, Stated: stated}, {},
	}}, nil)
	if r := rows[0]; !r.Streamed || r.OutputChars != 11 || *r.RecountTokens != 12 || *r.RecountFirstTokens != 13 {
		t.Errorf("%+v", r.Recorded)
	}
	if !reflect.DeepEqual(rows[1].Recorded, analyze.Recorded{}) {
		t.Errorf("of nothing: %+v", rows[1].Recorded)
	}
	got, err := analyze.ReportOf(rows[0].ReportJSON)
	report.Model, report.FinishReason, report.JSON, report.EvalNS, report.TotalNS = "", "", "", ptr(-1.0), ptr(-1.0)
	if err != nil || !reflect.DeepEqual(got, report) {
		t.Errorf("%s gives %+v, want %+v, %v", rows[0].ReportJSON, got, report, err)
	}
	back, err := analyze.StatedOf(rows[0].StatedJSON)
	stated.SD = ptr(-1.0)
	if err != nil || !reflect.DeepEqual(back, stated) {
		t.Errorf("%s gives %+v, want %+v, %v", rows[0].StatedJSON, back, stated, err)
	}
	if s, err := analyze.StatedOf(""); s != nil || err != nil {
		t.Errorf("a measured request states %+v, %v", s, err)
	}
	if s, err := analyze.StatedOf("{}"); s == nil || err != nil {
		t.Errorf("an imported request that states nothing is measured, %v", err)
	}
}

// FuzzFacts: whatever stands in a JSON column is read or refused, and what was
// read and is written again is read alike.
func FuzzFacts(f *testing.F) {
	for _, text := range []string{"", "{}", "[]", "null", "[null]", `{"prompt_tps":1e999}`, `[{"every_ns":1,"channels":[{"range":5},{"note":"\u0000"}]}]`,
		`[{"message":"no","model":"m"}]`, `{"sent":true,"n":3}`, `[{"channels":null}]`, `{"eval_ns":"NaN"}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := analyze.ReportOf(text); err == nil {
			r.Model = ""
			_, rows := analyze.Derive(analyze.Context{Target: &collect.TargetInfo{}, Case: &collect.Case{}}, &collect.Batch{Requests: []collect.Request{{Report: r}}}, nil)
			if again, err := analyze.ReportOf(rows[0].ReportJSON); err != nil || !reflect.DeepEqual(again, r) {
				t.Errorf("%+v, then %+v, %v", r, again, err)
			}
		}
		analyze.StatedOf(text)
		sensors, err := analyze.SensorsOf(3, text)
		for _, s := range sensors {
			if err != nil || s.Segment != 3 {
				t.Errorf("%+v, %v", s, err)
			}
		}
		lost, err := analyze.LostOf(3, text)
		for _, l := range lost {
			if err != nil || l.Segment != 3 {
				t.Errorf("%+v, %v", l, err)
			}
		}
	})
}
