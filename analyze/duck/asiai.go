package duck

import (
	"context"

	"tokwatt/analyze"
)

// Asiai reads the view asiai for some sessions, or for all where none is
// named, in the order of session and target.
func (db *DB) Asiai(ctx context.Context, sessions []string) ([]analyze.Asiai, error) {
	where, err := db.ofSessions(ctx, sessions)
	if err != nil || where == "" {
		return nil, err
	}
	rows, err := db.run(ctx, "select * from asiai where "+where+" order by session_id, host, target_id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []analyze.Asiai
	names := columnsByName(rows.Names())
	for row, err := range rows.All() {
		if err != nil {
			return nil, err
		}
		out = append(out, newAsiai(record{names: names, row: row}))
	}
	return out, nil
}

func newAsiai(r record) analyze.Asiai {
	text := func(name string) string { return r.at(name).text() }
	double := func(name string) *float64 { return r.at(name).double() }
	count := func(name string) int64 { return r.at(name).integer() }
	return analyze.Asiai{
		SessionID: text("session_id"), Host: text("host"), Date: text("date"),
		Engine: text("engine"), EngineVersion: text("engine_version"), ModelID: text("model_id"),
		Quantization: text("model_quantization"), TargetID: count("target_id"),
		Sharding: text("placement_sharding"), InstanceMeta: text("placement_instance_meta"), Nodes: r.at("placement_nodes").texts(),
		TokPerSec: double("tok_per_sec"), TokPerSecResponse: double("tok_per_sec_response"), TTFTMS: double("ttft_ms"),
		TotalDurationMS: double("total_duration_ms"), TokensGenerated: double("tokens_generated"),
		GenerationDurationMS: double("generation_duration_ms"),
		PowerWatts:           double("power_watts"), PowerScope: text("power_scope"), TokPerSecPerWatt: double("tok_per_sec_per_watt"),
		TokPerSecMean: double("tok_per_sec_mean"), StdDevTokS: double("std_dev_tok_s"), PooledSDSample: double("pooled_sd_sample"),
		CV: double("cv"), Stability: text("stability"),
		NRuns: count("n_runs"), NRates: count("n_rates"), NWarm: count("n_warm"), NKinds: count("n_kinds"),
		NOK: count("n_ok"), NFailed: count("n_failed"), NInvalid: count("n_invalid"),
		NCacheHit: count("n_cache_hit"), NEstimated: count("n_estimated"), NImplausible: count("n_implausible"),
	}
}
