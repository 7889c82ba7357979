package power_test

import (
	"testing"
	"time"

	"tokwatt/power"
)

// TestExoClient has the figures that exo-bench's own client gives at a
// constant 60 W read once a second, and ours beside them.
func TestExoClient(t *testing.T) {
	var samples []float64
	for i := range 12 {
		samples = append(samples, float64(i)+0.3, 60)
	}
	s := power.Series{
		Channel:  power.Channel{Node: "a", Source: "exo", Scope: power.ScopeSystem, Metric: power.MetricPower},
		Readings: at(samples...),
	}
	for _, c := range []struct{ from, seconds, theirs, ours float64 }{
		{1.5, 0.6, 0, 36},
		{1.2, 1.2, 60, 72},
		{1.4, 4.8, 180, 288},
		{1.0, 7, 360, 420},
		{1.0, 1.2, 72, 72},    // one sample stands for the whole window
		{1.3, 1.0, 60, 60},    // samples at both edges count
		{30, 5, 0, none},      // none at all is 0 J to exo
		{11.0, 1.0, 60, none}, // ours does not guess what comes after the last
	} {
		from, to := ns(c.from), ns(c.from+c.seconds)
		theirs, ours := s.ExoClient(from, to), s.Curve(time.Second).Energy(from, to)
		if !agrees(c.theirs, theirs.EnergyJ) || !agrees(c.theirs/c.seconds, theirs.MeanW) {
			t.Errorf("%v s: exo-bench has %v J, want %v", c.seconds, show(theirs.EnergyJ), c.theirs)
		}
		if !agrees(c.ours, ours.EnergyJ) {
			t.Errorf("%v s: we have %v J, want %v", c.seconds, show(ours.EnergyJ), c.ours)
		}
		if theirs.Rule != power.RuleExoClient || ours.Rule != power.RuleCurve || theirs.LowJ != nil || theirs.Scope != power.ScopeSystem {
			t.Errorf("%v s: %+v, %+v", c.seconds, theirs, ours)
		}
	}
	s.Readings = at(0, none, 1, 60)
	if w := s.ExoClient(0, ns(1)); w.EnergyJ != nil || w.Reason == "" {
		t.Errorf("of NaN it makes %v J", show(w.EnergyJ))
	}
}
