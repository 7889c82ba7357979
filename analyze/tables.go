package analyze

import (
	"time"
)

// sessionID is the first column of every table.
func sessionID[R any](get func(*R) string) column[R] {
	return low(text("session_id", "UUIDv7 of the session", get))
}

func sessionColumns() []column[SessionRow] {
	type row = SessionRow
	return []column[row]{
		sessionID(func(r *row) string { return r.SessionID }),
		wall("started_at", "start of the first segment, UTC; NULL where an imported file does not say", func(r *row) time.Time { return r.StartedAt }),
		wall("ended_at", "NULL while the session runs, or where its process died", func(r *row) time.Time { return r.EndedAt }),
		text("status", "complete, interrupted, failed (nothing was measured); interrupted too where its process died; NULL while it runs", func(r *row) string { return r.Status }),
		text("hw_chip", "chip or CPU model", func(r *row) string { return r.HWChip }),
		text("hw_model", "model of the machine", func(r *row) string { return r.HWModel }),
		optInt64("cpu_cores", "", func(r *row) *int64 { return r.CPUCores }),
		optInt64("gpu_cores", "", func(r *row) *int64 { return r.GPUCores }),
		in("B", optInt64("ram_bytes", "", func(r *row) *int64 { return r.RAMBytes })),
		text("os_name", "", func(r *row) string { return r.OSName }),
		text("os_version", "", func(r *row) string { return r.OSVersion }),
		text("power_mode", "", func(r *row) string { return r.PowerMode }),
		optBool("on_battery", "", func(r *row) *bool { return r.OnBattery }),
		text("profile", "named set of defaults", func(r *row) string { return r.Profile }),
		text("options_json", "the options, without secrets", func(r *row) string { return r.OptionsJSON }),
		text("label", "", func(r *row) string { return r.Label }),
		list("tags", "", func(r *row) []string { return r.Tags }),
		text("note", "", func(r *row) string { return r.Note }),
		optInt64("not_run", "planned batches that were not run; NULL while the session runs, or where its process died", func(r *row) *int64 { return r.NotRun }),
		text("client_calibration_json", "how late this client's own times are, from tokwatt calibrate", func(r *row) string { return r.ClientCalibrationJSON }),
		text("import_format", "format of the file that the session was imported from; NULL, as all of these, where tokwatt measured it", func(r *row) string { return r.ImportFormat }),
		text("import_tool", "whose measurement it is", func(r *row) string { return r.ImportTool }),
		text("import_tool_version", "", func(r *row) string { return r.ImportToolVersion }),
		text("import_file", "base name of the file", func(r *row) string { return r.ImportFile }),
		text("import_hash", "of the session's part of the file: 16 hexadecimal digits of its SHA-256", func(r *row) string { return r.ImportHash }),
		wall("imported_at", "where started_at is NULL, date is this day", func(r *row) time.Time { return r.ImportedAt }),
		text("import_extra_json", "what the file says of the run as a whole, the tool's own averages among it", func(r *row) string { return r.ImportExtraJSON }),
	}
}

func segmentColumns() []column[SegmentRow] {
	type row = SegmentRow
	return []column[row]{
		sessionID(func(r *row) string { return r.SessionID }),
		int64Col("segment", "one process run of the session", func(r *row) int64 { return r.Segment.Segment }),
		wall("started_at", "wall time of the clock's origin", func(r *row) time.Time { return r.StartedAt }),
		text("tool_version", "", func(r *row) string { return r.ToolVersion }),
		text("boot_id", "", func(r *row) string { return r.BootID }),
		int64Col("pid", "", func(r *row) int64 { return r.PID }),
		int64Col("planned_batches", "", func(r *row) int64 { return r.PlannedBatches }),
		text("sensors_json", "what each source reads, how often, and of what it cannot read, why; target_id: whose engine has them, none: this machine's", func(r *row) string { return r.SensorsJSON }),
		text("lost_json", "what was not measured, or not to its end, by model, and why", func(r *row) string { return r.LostJSON }),
	}
}

func targetColumns() []column[TargetRow] {
	type row = TargetRow
	return []column[row]{
		sessionID(func(r *row) string { return r.SessionID }),
		int64Col("target_id", "", func(r *row) int64 { return r.TargetID }),
		text("engine", "", func(r *row) string { return r.Engine }),
		text("engine_version", "", func(r *row) string { return r.EngineVersion }),
		text("driver", "the package that measured", func(r *row) string { return r.Driver }),
		text("endpoint", "URL without user, password and query; NULL in process", func(r *row) string { return r.Endpoint }),
		text("model_id", "as asked for; a path by its base name", func(r *row) string { return r.ModelID }),
		text("served_model", "as the server names it", func(r *row) string { return r.ServedModel }),
		text("model_format", "", func(r *row) string { return r.ModelFormat }),
		text("model_quantization", "", func(r *row) string { return r.Quantization }),
		text("placement_sharding", "", func(r *row) string { return r.Sharding }),
		text("placement_instance_meta", "", func(r *row) string { return r.InstanceMeta }),
		list("placement_nodes", "", func(r *row) []string { return r.Nodes }),
		text("instance_id", "", func(r *row) string { return r.InstanceID }),
		in("s", double("download_duration_s", "", func(r *row) *float64 { return finite(r.DownloadS) })),
		in("s", double("load_duration_s", "", func(r *row) *float64 { return finite(r.LoadS) })),
		text("sampling_json", "what was sent, and what the server says it used", func(r *row) string { return r.Sampling }),
		text("cluster_json", "", func(r *row) string { return r.Cluster }),
		in("W", double("power_watts", "mean power over the target's own window; of an imported session what its file states", func(r *row) *float64 { return r.PowerWatts })),
		text("power_scope", "", func(r *row) string { return r.PowerScope }),
		in("tok", optInt64("context_tokens", "the context window that was asked for or is in force", func(r *row) *int64 { return r.ContextTokens })),
		in("B", optInt64("model_size_bytes", "memory that the loaded model takes", func(r *row) *int64 { return r.ModelBytes })),
		in("B", optInt64("model_gpu_bytes", "how much of that is on the GPU", func(r *row) *int64 { return r.ModelGPUBytes })),
		optInt64("max_streams", "requests that the server runs at once; more wait", func(r *row) *int64 { return r.MaxStreams }),
		boolean("model_unlisted", "the server lists models, and model_id is not among them", func(r *row) bool { return r.Unlisted }),
		in("W", double("idle_watts", "mean power of the quiet window before the first request, in power_scope", func(r *row) *float64 { return r.IdleWatts })),
	}
}

func caseColumns() []column[CaseRow] {
	type row = CaseRow
	return []column[row]{
		sessionID(func(r *row) string { return r.SessionID }),
		int64Col("target_id", "", func(r *row) int64 { return r.TargetID }),
		int64Col("case_id", "", func(r *row) int64 { return r.CaseID }),
		in("tok", optInt64("pp", "wanted prompt tokens; NULL for own prompts", func(r *row) *int64 { return r.PP })),
		in("tok", int64Col("tg", "most tokens to generate", func(r *row) int64 { return r.TG })),
		in("tok", optInt64("template_head_tokens", "the chat template's part before the prompt", func(r *row) *int64 { return r.TemplateHeadTokens })),
		int64Col("concurrency", "streams released together", func(r *row) int64 { return r.Concurrency }),
		text("cache_mode", "cold, prefix, server (whatever it does by itself)", func(r *row) string { return string(r.CacheMode) }),
		text("cold_method", "how reuse was kept out", func(r *row) string { return r.ColdMethod }),
		text("eos_ban", "how the end token was kept out", func(r *row) string { return r.EOSBan }),
		text("prompt_kind", "sized, own, or the kind's name", func(r *row) string { return r.PromptKind }),
		text("prompt_source", "how the length is known: tokenizer, calibrated, text", func(r *row) string { return string(r.PromptSource) }),
		boolean("streaming", "a stream was asked for", func(r *row) bool { return r.Streaming }),
		text("prompt_hash", "of an own prompt: which text it was", func(r *row) string { return r.PromptHash }),
		boolean("tg_wanted", "tg is a wanted length, not a mere limit", func(r *row) bool { return r.TGWanted }),
		in("tok", optInt64("depth", "tokens that the context held before the prompt; NULL: not known, or none", func(r *row) *int64 { return r.Depth })),
	}
}

func sampleColumns() []column[SampleRow] {
	type row = SampleRow
	return []column[row]{
		sessionID(func(r *row) string { return r.SessionID }),
		int64Col("segment", "", func(r *row) int64 { return r.Segment }),
		low(text("node", "the machine that the sensor is in", func(r *row) string { return r.Node })),
		low(text("source", "who read the sensor", func(r *row) string { return r.Source })),
		low(text("scope", "what is measured: gpu, cpu, soc, package, system, wall, …", func(r *row) string { return r.Scope })),
		low(text("metric", "", func(r *row) string { return r.Metric })),
		low(text("unit", "of value", func(r *row) string { return r.Unit })),
		in("ns", optInt64("start_ns", "NULL: an instantaneous reading; else value is an average from here to end_ns", func(r *row) *int64 { return r.StartNS })),
		in("ns", int64Col("end_ns", "from the segment's origin", func(r *row) int64 { return r.EndNS })),
		double("value", "in the unit of column unit", func(r *row) *float64 { return finite(&r.Value) }),
	}
}

func chunkColumns() []column[ChunkRow] {
	type row = ChunkRow
	return []column[row]{
		sessionID(func(r *row) string { return r.SessionID }),
		int64Col("request_id", "", func(r *row) int64 { return r.RequestID }),
		int64Col("seq", "from 0 within the request", func(r *row) int64 { return r.Seq }),
		in("ns", int64Col("t_ns", "from the start of the request", func(r *row) int64 { return r.T })),
		in("B", int64Col("bytes", "length of the event's data", func(r *row) int64 { return int64(r.Bytes) })),
		low(text("kind", "role, content, reasoning, tool, usage, progress, report", func(r *row) string { return r.Kind.String() })),
		in("tok", declare("tokens", Int64, "where the server counts per chunk", putTokens)),
	}
}

// putTokens takes no pointer, because one for each of millions of chunks would
// cost more than all the rest of the row.
func putTokens(v *values, r *ChunkRow) {
	if r.Tokens >= 0 {
		v.int64(int64(r.Tokens))
	} else {
		v.null()
	}
}
