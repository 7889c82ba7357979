package analyze

func energyColumns() []column[EnergyRow] {
	type row = EnergyRow
	return []column[row]{
		sessionID(func(r *row) string { return r.SessionID }),
		int64Col("target_id", "", func(r *row) int64 { return r.TargetID }),
		optInt64("batch_id", "NULL of a target's windows", func(r *row) *int64 { return r.BatchID }),
		optInt64("request_id", "NULL of windows that are not one request's", func(r *row) *int64 { return r.RequestID }),
		low(text("window_kind", "target (first prompt to last run), batch, request, prefill and generation (of single streams), idle", func(r *row) string { return string(r.WindowKind) })),
		int64Col("segment", "", func(r *row) int64 { return r.Segment }),
		in("ns", int64Col("start_ns", "from the segment's origin", func(r *row) int64 { return r.StartNS })),
		in("ns", int64Col("end_ns", "", func(r *row) int64 { return r.EndNS })),
		low(text("node", "the machine, or all: the sum over the target's own nodes", func(r *row) string { return r.Node })),
		low(text("source", "who read the sensor", func(r *row) string { return r.Source })),
		low(text("scope", "gpu, cpu, dram, ane, soc, package, system, wall; of a sum the widest that all nodes have", func(r *row) string { return r.Scope })),
		low(text("rule", "curve: ours; exo_client: exo-bench's trapezoid between samples; exo_server: exo's own figure", func(r *row) string { return r.Rule })),
		in("J", double("energy_j", "NULL: not known", func(r *row) *float64 { return r.EnergyJ })),
		in("J", double("low_j", "the truth is not below, unless indicative", func(r *row) *float64 { return r.LowJ })),
		in("J", double("high_j", "the truth is not above, unless indicative", func(r *row) *float64 { return r.HighJ })),
		in("J", double("partial_j", "of the nodes that have an energy, where not all do", func(r *row) *float64 { return r.PartialJ })),
		in("J", double("net_j", "energy_j less the target's idle power over the time; may be negative", func(r *row) *float64 { return r.NetJ })),
		in("W", double("mean_w", "energy_j over the window's time", func(r *row) *float64 { return r.MeanW })),
		in("W", double("peak_w", "highest reading of power", func(r *row) *float64 { return r.PeakW })),
		int64Col("samples", "readings in the window; of a sum those of the node with the fewest", func(r *row) int64 { return r.Samples }),
		in("s", double("max_gap_s", "longest time between two readings that is partly in the window", func(r *row) *float64 { return r.MaxGapS })),
		int64Col("rejected_samples", "negative, not a number, or over 2,000 W a device", func(r *row) int64 { return r.RejectedSamples }),
		low(text("coverage", "of a sum: nodes with an energy, of all", func(r *row) string { return r.Coverage })),
		low(text("null_reason", "why energy_j is NULL", func(r *row) string { return r.NullReason })),
		boolean("indicative", "power was read at instants: nothing bounds what happened between", func(r *row) bool { return r.Indicative }),
	}
}
