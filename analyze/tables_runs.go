package analyze

// metric declares the column of a metric: unit and rule are those of the
// metric table.
func metric[R any](name string, get func(*R) *float64) column[R] {
	for _, m := range Metrics() {
		if m.Name == name {
			return in(m.Unit, double(name, m.Rule, get))
		}
	}
	panic("analyze: column " + name + " is not in the metric table")
}

func batchColumns() []column[BatchRow] {
	type row = BatchRow
	return []column[row]{
		sessionID(func(r *row) string { return r.SessionID }),
		int64Col("case_id", "", func(r *row) int64 { return r.CaseID }),
		int64Col("batch_id", "", func(r *row) int64 { return r.BatchID }),
		int64Col("segment", "", func(r *row) int64 { return r.Segment }),
		in("ns", int64Col("start_ns", "release of the barrier, from the segment's origin", func(r *row) int64 { return r.StartNS })),
		in("ns", int64Col("end_ns", "end of the last response", func(r *row) int64 { return r.EndNS })),
		int64Col("repeat_index", "from 0; warm-ups count apart", func(r *row) int64 { return r.RepeatIndex }),
		boolean("warmup", "", func(r *row) bool { return r.Warmup }),
		metric("batch_wall_s", func(r *row) *float64 { return r.BatchWallS }),
		int64Col("requests", "", func(r *row) int64 { return r.Requests }),
		int64Col("failed", "", func(r *row) int64 { return r.Failed }),
		metric("agg_gen_tps", func(r *row) *float64 { return r.AggGenTPS }),
		metric("agg_wall_tps", func(r *row) *float64 { return r.AggWallTPS }),
		metric("agg_steady_tps", func(r *row) *float64 { return r.AggSteadyTPS }),
		metric("dispatch_spread_us", func(r *row) *float64 { return r.DispatchSpreadUS }),
		metric("energy_j", func(r *row) *float64 { return r.EnergyJ }),
		in("J", double("energy_low_j", "lower bound of energy_j", func(r *row) *float64 { return r.EnergyLowJ })),
		in("J", double("energy_high_j", "upper bound of energy_j", func(r *row) *float64 { return r.EnergyHighJ })),
		in("J", double("energy_partial_j", "of the nodes that have a sensor", func(r *row) *float64 { return r.EnergyPartialJ })),
		in("J", double("energy_net_j", "energy_j less idle power over the time; may be negative", func(r *row) *float64 { return r.EnergyNetJ })),
		low(text("energy_coverage", "nodes with a sensor of all nodes", func(r *row) string { return r.EnergyCoverage })),
		low(text("energy_null_reason", "why energy_j is NULL", func(r *row) string { return r.EnergyNullReason })),
		metric("avg_power_w", func(r *row) *float64 { return r.AvgPowerW }),
		low(text("power_scope", "", func(r *row) string { return r.PowerScope })),
		low(text("power_source", "", func(r *row) string { return r.PowerSource })),
		optBool("energy_indicative", "energy_low_j and energy_high_j are no bounds: power was read at instants", func(r *row) *bool { return r.EnergyIndicative }),
		metric("j_per_output_token", func(r *row) *float64 { return r.JPerOutputToken }),
		metric("j_per_total_token", func(r *row) *float64 { return r.JPerTotalToken }),
		metric("prefill_j_per_prompt_token", func(r *row) *float64 { return r.PrefillJPerPromptToken }),
		in("%", double("speed_limit_pct", "lowest CPU speed that heat allowed, in the host's own words", func(r *row) *float64 { return r.SpeedLimitPct })),
		optBool("throttled", "NULL is unknown, not none", func(r *row) *bool { return r.Throttled }),
		in("%", double("client_cpu_pct", "of the cores the client may use", func(r *row) *float64 { return r.ClientCPUPct })),
		list("flags", "", func(r *row) []string { return r.Flags }),
		in("ns", optInt64("wakeup_p99_ns", "99th percentile lateness of a timer of ours during the batch", func(r *row) *int64 { return r.WakeupP99NS })),
		in("ns", int64Col("clock_step_ns", "wall time elapsed less monotonic time elapsed", func(r *row) int64 { return r.ClockStepNS })),
		optBool("host_throttled", "throttled, by the host's own word alone; NULL: it has none", func(r *row) *bool { return r.HostThrottled }),
	}
}

func requestColumns() []column[RequestRow] {
	var cols []column[RequestRow]
	cols = append(cols, requestFacts()...)
	cols = append(cols, requestCounts()...)
	cols = append(cols, requestTimes()...)
	cols = append(cols, requestRates()...)
	cols = append(cols, requestRest()...)
	cols = append(cols, requestRecorded()...)
	return append(cols, requestOfBatch()...)
}

func requestFacts() []column[RequestRow] {
	type row = RequestRow
	return []column[row]{
		sessionID(func(r *row) string { return r.SessionID }),
		int64Col("case_id", "", func(r *row) int64 { return r.CaseID }),
		int64Col("batch_id", "", func(r *row) int64 { return r.BatchID }),
		int64Col("request_id", "", func(r *row) int64 { return r.RequestID }),
		int64Col("segment", "", func(r *row) int64 { return r.Segment }),
		in("ns", int64Col("start_ns", "just before the request is written, from the segment's origin; imported without times: behind the request before", func(r *row) int64 { return r.StartNS })),
		in("ns", int64Col("end_ns", "end of the response, or when it failed", func(r *row) int64 { return r.EndNS })),
		int64Col("concurrent_index", "the stream's number, from 0", func(r *row) int64 { return r.ConcurrentIndex }),
		low(text("status", "ok, failed, invalid (complete, but its figures contradict each other)", func(r *row) string { return string(r.Status) })),
		low(text("error_kind", "", func(r *row) string { return r.ErrorKind })),
		text("error", "", func(r *row) string { return r.Error }),
		optInt64("http_status", "", func(r *row) *int64 { return r.HTTPStatus }),
		in("s", double("retry_after_s", "", func(r *row) *float64 { return r.RetryAfterS })),
		low(text("served_model", "the model that answered, in its own words", func(r *row) string { return r.ServedModel })),
		list("flags", "", func(r *row) []string { return r.Flags }),
	}
}

func requestCounts() []column[RequestRow] {
	type row = RequestRow
	return []column[row]{
		in("tok", optInt64("pp_tokens", "tokens of the rendered prompt, by our own count", func(r *row) *int64 { return r.PPTokens })),
		in("tok", optInt64("prompt_tokens", "the server's own count; 0 counts as absent", func(r *row) *int64 { return r.PromptTokens })),
		in("tok", optInt64("tokens_generated", "n: the server's count, else a recount by the model's tokenizer, else max(1, characters / 4), an estimate", func(r *row) *int64 { return r.TokensGenerated })),
		low(text("tokens_source", "server, engine, tokenizer, estimate; NULL where an imported file does not say", func(r *row) string { return string(r.TokensSource) })),
		in("tok", optInt64("reasoning_tokens", "", func(r *row) *int64 { return r.ReasoningTokens })),
		in("tok", optInt64("cached_tokens", "of the prompt, taken from the prefix cache", func(r *row) *int64 { return r.CachedTokens })),
		low(text("prefix_cache_hit", "none, partial, exact, unknown", func(r *row) string { return string(r.PrefixCacheHit) })),
		boolean("in_stats", "ok, not a warm-up, not implausible, of the wanted lengths", func(r *row) bool { return r.InStats }),
		boolean("in_cold_stats", "in_stats, of a cold case, and nothing but the template's head cached", func(r *row) bool { return r.InColdStats }),
		boolean("in_prefill_stats", "in_stats and no exact hit", func(r *row) bool { return r.InPrefillStats }),
	}
}

func requestTimes() []column[RequestRow] {
	type row = RequestRow
	return []column[row]{
		metric("ttft_ms", func(r *row) *float64 { return r.TTFTMS }),
		metric("ttft_client_ms", func(r *row) *float64 { return r.TTFTClientMS }),
		metric("first_chunk_ms", func(r *row) *float64 { return r.FirstChunkMS }),
		metric("first_text_ms", func(r *row) *float64 { return r.FirstTextMS }),
		metric("total_duration_ms", func(r *row) *float64 { return r.TotalDurationMS }),
		metric("response_ms", func(r *row) *float64 { return r.ResponseMS }),
		metric("generation_duration_ms", func(r *row) *float64 { return r.GenerationDurationMS }),
		metric("load_duration_ms", func(r *row) *float64 { return r.LoadDurationMS }),
	}
}

func requestRates() []column[RequestRow] {
	type row = RequestRow
	return []column[row]{
		metric("prompt_tps", func(r *row) *float64 { return r.PromptTPS }),
		low(text("prompt_tps_source", "server, engine, client, import", func(r *row) string { return string(r.PromptTPSSource) })),
		metric("generation_tps", func(r *row) *float64 { return r.GenerationTPS }),
		low(text("generation_tps_source", "server, engine, client, import", func(r *row) string { return string(r.GenerationTPSSource) })),
		metric("generation_tps_client", func(r *row) *float64 { return r.GenerationTPSClient }),
		metric("generation_tps_server", func(r *row) *float64 { return r.GenerationTPSServer }),
		metric("decode_tps", func(r *row) *float64 { return r.DecodeTPS }),
		metric("tok_per_sec", func(r *row) *float64 { return r.TokPerSec }),
	}
}

func requestRest() []column[RequestRow] {
	type row = RequestRow
	return []column[row]{
		metric("elapsed_s", func(r *row) *float64 { return r.ElapsedS }),
		metric("itl_p50_ms", func(r *row) *float64 { return r.ITLP50MS }),
		metric("itl_p99_ms", func(r *row) *float64 { return r.ITLP99MS }),
		metric("itl_max_ms", func(r *row) *float64 { return r.ITLMaxMS }),
		optInt64("chunks", "output-bearing arrivals; NULL where the answer was not streamed", func(r *row) *int64 { return r.Chunks }),
		in("B", optInt64("peak_memory_bytes", "as the engine states it; exo: "+exoPeakMemory, func(r *row) *int64 { return r.PeakMemoryBytes })),
		low(text("finish_reason", "", func(r *row) string { return r.FinishReason })),
		text("output_text_preview", "first 200 code points of the visible text", func(r *row) string { return r.OutputTextPreview }),
		text("server_json", "the server's statistics, verbatim", func(r *row) string { return r.ServerJSON }),
		low(text("stamp_source", "who stamped the arrivals: kernel, user", func(r *row) string { return r.StampSource })),
		metric("mixed_tps", func(r *row) *float64 { return r.MixedTPS }),
		list("stated", "columns of the row that have an imported file's own figure, by its tool's rule", func(r *row) []string { return r.Stated }),
		low(text("stated_rule", "the formula behind the stated rates", func(r *row) string { return r.StatedRule })),
		double("stated_sd", "sample standard deviation of the stated rate over its runs, tok/s", func(r *row) *float64 { return r.StatedSD }),
		optInt64("stated_n", "how many runs the stated rate is the mean of; NULL: not known, or one", func(r *row) *int64 { return r.StatedN }),
	}
}

func requestRecorded() []column[RequestRow] {
	type row = RequestRow
	return []column[row]{
		boolean("streamed", "the answer came as a stream", func(r *row) bool { return r.Streamed }),
		int64Col("output_chars", "code points of the whole output", func(r *row) int64 { return r.OutputChars }),
		in("tok", optInt64("recount_tokens", "of the output, counted with the model's own tokenizer; NULL where that or some of the text is not at hand", func(r *row) *int64 { return r.RecountTokens })),
		in("tok", optInt64("recount_first_tokens", "of the first output chunk, as recount_tokens", func(r *row) *int64 { return r.RecountFirstTokens })),
		text("report_json", "the server's counts, rates and durations as it states them, before any rule; −1: a figure that is not a number", func(r *row) string { return r.ReportJSON }),
		text("stated_json", "imported: what the file states of the request, before any rule", func(r *row) string { return r.StatedJSON }),
	}
}

func requestOfBatch() []column[RequestRow] {
	type row = RequestRow
	return []column[row]{
		int64Col("repeat_index", "of the batch", func(r *row) int64 { return r.RepeatIndex }),
		boolean("warmup", "of the batch", func(r *row) bool { return r.Warmup }),
		in("%", double("client_cpu_pct", "of the batch", func(r *row) *float64 { return r.ClientCPUPct })),
		in("%", double("speed_limit_pct", "of the batch", func(r *row) *float64 { return r.SpeedLimitPct })),
		optBool("throttled", "of the batch", func(r *row) *bool { return r.Throttled }),
		list("batch_flags", "of the batch", func(r *row) []string { return r.BatchFlags }),
	}
}
