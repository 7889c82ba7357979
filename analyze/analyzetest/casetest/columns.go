package casetest

import (
	"strings"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// recorded is what a case's run left behind.
type recorded struct {
	target *collect.TargetInfo
	cs     *collect.Case
	batch  *collect.Batch
}

func (r *recorded) take(rec collect.Record) {
	switch rec := rec.(type) {
	case *collect.TargetInfo:
		r.target = rec
	case *collect.Case:
		r.cs = rec
	case *collect.Batch:
		r.batch = rec
	}
}

// columns are those that the cases name: of the first request, and of the
// batch.
func (r *recorded) columns() map[string]any {
	ctx := analyze.Context{Target: r.target, Case: r.cs}
	batch, rows := analyze.Derive(ctx, r.batch, nil)
	cols := requestColumns(rows[0])
	// The records keep 200 code points of a text; its whole length is known.
	if n := r.batch.Requests[0].OutputChars; n > 200 {
		cols["text"] = rows[0].OutputTextPreview + strings.Repeat(".", int(n)-200)
	}
	cols["rows"] = len(rows)
	cols["batch_wall_s"] = value(batch.BatchWallS)
	cols["agg_gen_tps"] = value(batch.AggGenTPS)
	cols["agg_wall_tps"] = value(batch.AggWallTPS)
	cols["agg_steady_tps"] = value(batch.AggSteadyTPS)
	cols["energy_j"] = value(batch.EnergyJ)
	cols["j_per_output_token"] = value(batch.JPerOutputToken)
	cols["j_per_total_token"] = value(batch.JPerTotalToken)
	cols["prefill_j_per_prompt_token"] = value(batch.PrefillJPerPromptToken)
	cols["power_samples"] = nil
	if e := analyze.ExoEnergy(ctx, r.batch); e != nil {
		cols["power_samples"] = count(e.Samples)
	}
	return cols
}

func requestColumns(r analyze.RequestRow) map[string]any {
	return map[string]any{
		"http_status": count(r.HTTPStatus), "error_kind": text(r.ErrorKind), "error": text(r.Error),
		"retry_after_s": value(r.RetryAfterS), "row_status": string(r.Status), "flags": r.Flags,
		"ttft_ms": value(r.TTFTMS), "ttft_client_ms": value(r.TTFTClientMS),
		"first_chunk_ms": value(r.FirstChunkMS), "first_text_ms": value(r.FirstTextMS),
		"total_duration_ms": value(r.TotalDurationMS), "generation_duration_ms": value(r.GenerationDurationMS),
		"response_ms": value(r.ResponseMS), "load_duration_ms": value(r.LoadDurationMS), "elapsed_s": value(r.ElapsedS),
		"tokens_generated": count(r.TokensGenerated), "tokens_source": text(string(r.TokensSource)),
		"pp_tokens": count(r.PPTokens), "prompt_tokens": count(r.PromptTokens), "cached_tokens": count(r.CachedTokens),
		"prefix_cache_hit": text(string(r.PrefixCacheHit)), "in_stats": r.InStats,
		"in_cold_stats": r.InColdStats, "in_prefill_stats": r.InPrefillStats,
		"prompt_tps": value(r.PromptTPS), "generation_tps": value(r.GenerationTPS),
		"generation_tps_source": text(string(r.GenerationTPSSource)), "generation_tps_client": value(r.GenerationTPSClient),
		"generation_tps_server": value(r.GenerationTPSServer), "decode_tps": value(r.DecodeTPS),
		"tok_per_sec": value(r.TokPerSec), "chunks": count(r.Chunks), "peak_memory_bytes": count(r.PeakMemoryBytes),
		"finish_reason": text(r.FinishReason), "text": text(r.OutputTextPreview),
	}
}

// value, count and text turn a column into nil, a float64 or a string.
func value(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}

func count(x *int64) any {
	if x == nil {
		return nil
	}
	return float64(*x)
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
