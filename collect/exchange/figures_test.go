package exchange_test

import (
	"bytes"
	"iter"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// TestFigures takes sessions of every kind of fault: each entry has the figures
// of one row, each row that is not failed has one entry, in the order of a run.
func TestFigures(t *testing.T) {
	for seed := range uint64(20) {
		o := analyzetest.Options{Seed: seed, Repeats: 2, PP: []int64{128, 4096}, Concurrency: []int64{1, 5}}
		want := rowsOf(t, analyzetest.Records(o))
		var out bytes.Buffer
		if err := exchange.ExoResults(&out, analyzetest.Records(o)); err != nil {
			t.Fatal(err)
		}
		var f struct{ Runs []map[string]any }
		unmarshal(t, out.Bytes(), &f)
		if len(f.Runs) != len(want) || len(want) < 40 {
			t.Fatalf("seed %d: %d entries for %d rows", seed, len(f.Runs), len(want))
		}
		for i, run := range f.Runs {
			row := want[i]
			stats := run["stats"].(map[string]any)
			for name, pair := range map[string][2]any{
				"elapsed_s": {run["elapsed_s"], number(row.ElapsedS)}, "pp_tokens": {run["pp_tokens"], number(row.PPTokens)},
				"prompt_tps": {stats["prompt_tps"], number(row.PromptTPS)}, "generation_tps": {stats["generation_tps"], number(row.GenerationTPS)},
				"prompt_tokens": {stats["prompt_tokens"], number(row.PromptTokens)}, "generation_tokens": {stats["generation_tokens"], number(counted(row))},
				"peak": {stats["peak_memory_usage"].(map[string]any)["inBytes"], number(row.PeakMemoryBytes)},
			} {
				if pair[0] != pair[1] {
					t.Errorf("seed %d, request %d: %s is %v, want %v", seed, row.RequestID, name, pair[0], pair[1])
				}
			}
		}
	}
}

// counted are the tokens of a row, where somebody counted them.
func counted(row analyze.RequestRow) *int64 {
	if row.TokensSource == analyze.SourceEstimate {
		return nil
	}
	return row.TokensGenerated
}

// number is what JSON makes of a figure.
func number[T int64 | float64](x *T) any {
	if x == nil {
		return nil
	}
	return float64(*x)
}

// rowsOf are the rows that have an entry, in the order of the entries.
func rowsOf(t *testing.T, recs iter.Seq2[collect.Record, error]) []analyze.RequestRow {
	var out []analyze.RequestRow
	targets, cases := map[int64]*collect.TargetInfo{}, map[int64]*collect.Case{}
	for rec, err := range recs {
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			targets[rec.TargetID] = rec
		case *collect.Case:
			cases[rec.CaseID] = rec
		case *collect.Batch:
			c := cases[rec.CaseID]
			_, rows := analyze.Derive(analyze.Context{Target: targets[c.TargetID], Case: c}, rec, nil)
			for !rec.Warmup {
				next := -1 // the one that ended first
				for i := range rows {
					if rows[i].Status != analyze.StatusFailed && (next < 0 || rows[i].EndNS < rows[next].EndNS) {
						next = i
					}
				}
				if next < 0 {
					break
				}
				out = append(out, rows[next])
				rows = append(rows[:next:next], rows[next+1:]...)
			}
		}
	}
	return out
}
