package analyze_test

import (
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// TestStated is about requests that come from another tool's file: what the
// file lacks is NULL, its facts go through our formulas, its figures stand as
// they are and say so.
func TestStated(t *testing.T) {
	cs := &collect.Case{Concurrency: 1, CacheMode: collect.CacheServer, Streaming: true}
	derive := func(r collect.Request) (analyze.BatchRow, analyze.RequestRow) {
		b, rows := analyze.Derive(analyze.Context{Target: &collect.TargetInfo{Driver: "import"}, Case: cs}, &collect.Batch{EndNS: r.EndNS, Requests: []collect.Request{r}}, nil)
		return b, rows[0]
	}
	n := collect.Report{CompletionTokens: ptr(int64(21)), PromptTokens: ptr(int64(64))}

	// Nothing but counts: a good row, and no figure.
	b, row := derive(collect.Request{Streamed: true, Report: n, Stated: &collect.Stated{}})
	for name, x := range map[string]*float64{"elapsed": row.ElapsedS, "response": row.ResponseMS, "ttft": row.TTFTMS, "total": row.TotalDurationMS, "tok/s": row.TokPerSec,
		"prompt": row.PromptTPS, "generation": row.GenerationTPS, "wall": b.BatchWallS, "spread": b.DispatchSpreadUS, "first chunk": row.FirstChunkMS} {
		if x != nil {
			t.Errorf("%s is %v without a fact", name, *x)
		}
	}
	if row.Status != analyze.StatusOK || !row.InStats || row.TokensSource != "" || *row.TokensGenerated != 21 || row.Chunks != nil || len(row.Flags) > 0 {
		t.Errorf("%+v", row)
	}

	// Facts: our formulas, our source.
	_, row = derive(collect.Request{Streamed: true, Report: n, EndNS: 3e8, Stated: &collect.Stated{FirstOutputNS: ptr(int64(5e7)), LastOutputNS: ptr(int64(25e7))}})
	if *row.TTFTMS != 50 || *row.TotalDurationMS != 250 || *row.GenerationTPS != 100 || row.GenerationTPSSource != analyze.SourceClient ||
		*row.TokPerSec != 105 || *row.PromptTPS != 1280 || *row.ElapsedS != 0.3 || row.Stated != nil || row.ITLP50MS != nil {
		t.Errorf("%+v", row)
	}

	// Figures: theirs.
	_, row = derive(collect.Request{Streamed: true, Report: n, Stated: &collect.Stated{TTFTMS: ptr(60.0), TotalDurationMS: ptr(260.0), TokPerSec: ptr(99.0), GenerationTPS: ptr(98.0), PromptTPS: ptr(0.0), MixedTPS: ptr(-1.0), Rule: "r"}})
	if *row.TTFTMS != 60 || *row.GenerationDurationMS != 200 || *row.TokPerSec != 99 || *row.GenerationTPS != 98 || row.GenerationTPSSource != analyze.SourceImport ||
		row.PromptTPS != nil || row.MixedTPS != nil || row.TTFTClientMS != nil || row.StatedRule != "r" ||
		!slices.Equal(row.Stated, []string{"ttft_ms", "total_duration_ms", "generation_tps", "tok_per_sec"}) {
		t.Errorf("%+v", row)
	}

	// The same contradictions as anywhere make a row invalid.
	_, row = derive(collect.Request{Streamed: true, Report: n, Stated: &collect.Stated{TTFTMS: ptr(300.0), TotalDurationMS: ptr(260.0)}})
	if row.Status != analyze.StatusInvalid || row.InStats {
		t.Errorf("TTFT over total: %+v", row)
	}

	// Starts are known only where the file says so.
	for _, known := range []bool{false, true} {
		batch := &collect.Batch{Requests: []collect.Request{{EndNS: 9e6, Stated: &collect.Stated{Sent: known}}, {StartNS: 2e6, EndNS: 9e6, Stated: &collect.Stated{Sent: known}}}}
		b, _ := analyze.Derive(analyze.Context{Target: &collect.TargetInfo{}, Case: cs}, batch, nil)
		if known != (b.DispatchSpreadUS != nil) || known && *b.DispatchSpreadUS != 2000 {
			t.Errorf("starts known: %t, spread %v", known, b.DispatchSpreadUS)
		}
	}
}
