package analyze

import "tokwatt/collect"

// imported reports whether the request comes from another tool's file.
func (d *derivation) imported() bool { return d.r.Stated != nil }

// timed reports whether the request's start and end are known; of a file that
// has neither, they are the same.
func (d *derivation) timed() bool { return !d.imported() || d.r.EndNS != d.r.StartNS }

// sent reports whether the time at which a request was sent is known.
func sent(r *collect.Request) bool { return r.Stated == nil || r.Stated.Sent }

// state takes the times of output that a file has without the arrivals.
func (o *outputs) state(s *collect.Stated) {
	if s.FirstOutputNS != nil {
		o.first, o.begun = *s.FirstOutputNS, true
	}
	if s.LastOutputNS != nil {
		o.last, o.ended = *s.LastOutputNS, true
	}
	o.backwards = o.begun && o.first < 0 || o.ended && o.last < 0
}

// stateTimes puts a file's own times into their columns. A figure that a file
// states stands even where another could be computed: its reader states it
// only where the column is the tool's (see collect.Stated).
func (d *derivation) stateTimes() {
	if s := d.r.Stated; s != nil {
		d.put("ttft_ms", &d.row.TTFTMS, figure(s.TTFTMS))
		d.put("total_duration_ms", &d.row.TotalDurationMS, figure(s.TotalDurationMS))
		d.put("generation_duration_ms", &d.row.GenerationDurationMS, figure(s.GenerationDurationMS))
	}
}

// stateRates puts a file's own rates into their columns, and says whose they
// are and by which rule.
func (d *derivation) stateRates() {
	s, row := d.r.Stated, d.row
	if s == nil {
		return
	}
	if d.put("prompt_tps", &row.PromptTPS, positive(s.PromptTPS)) {
		row.PromptTPSSource = SourceImport
	}
	if d.put("generation_tps", &row.GenerationTPS, positive(s.GenerationTPS)) {
		row.GenerationTPSSource = SourceImport
	}
	d.put("tok_per_sec", &row.TokPerSec, figure(s.TokPerSec))
	d.put("mixed_tps", &row.MixedTPS, positive(s.MixedTPS))
	row.StatedRule, row.StatedSD, row.StatedN = s.Rule, figure(s.SD), count(s.N)
}

// put states a figure in a column, and reports whether there was one.
func (d *derivation) put(column string, to **float64, x *float64) bool {
	if x == nil {
		return false
	}
	*to = x
	d.row.Stated = append(d.row.Stated, column)
	return true
}
