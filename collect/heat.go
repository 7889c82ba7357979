package collect

import "fmt"

// Heat is the host's own word on how far heat or a power limit slows it. What
// it does not tell is nil: unknown is not none.
type Heat struct {
	SpeedLimitPct *float64 // CPU speed allowed now, 0–100
	Throttled     *bool    // slowed now, or at any time since it was last asked
}

// heat asks the host and its thermal sensors. It may cost some milliseconds, so it is never asked
// during a batch.
func (s *run) heat() Heat {
	var h Heat
	if s.Heat != nil {
		h = s.Heat()
	}
	if s.sensors.hot() {
		h.Throttled = value(true)
	}
	return h
}

// note puts the worse of two readings, around a batch, into it.
func (b *Batch) note(before, after Heat) {
	for _, h := range []Heat{before, after} {
		if p := h.SpeedLimitPct; p != nil && (b.SpeedLimitPct == nil || *p < *b.SpeedLimitPct) {
			b.SpeedLimitPct = p
		}
		if t := h.Throttled; t != nil && (b.Throttled == nil || *t) {
			b.Throttled = t
		}
	}
}

// tellHeat warns of heat once per target.
func (t *targetRun) tellHeat(b *Batch) {
	limited := b.SpeedLimitPct != nil && *b.SpeedLimitPct < 100
	if t.told || !limited && (b.Throttled == nil || !*b.Throttled) {
		return
	}
	t.told = true
	limit := ""
	if limited {
		limit = fmt.Sprintf(" to %.0f %% of its speed", *b.SpeedLimitPct)
	}
	t.warn("this machine is throttled%s while %s is measured: it is too hot or short of power, and the rates are lower than they could be", limit, t.info.ModelID)
}
