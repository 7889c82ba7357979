package power

import "math"

// ExoClient is the energy of a window as exo-bench's client has it: the
// trapezoid between the samples in the window, edges included, so what lies
// before the first and after the last is left out. One sample stands for all
// of the window, and none is 0 J, not unknown. It is kept to be compared with
// published figures; readings are taken as they come.
func (s Series) ExoClient(from, to int64) Window {
	w := Window{
		Node: s.Channel.Node, Source: s.Channel.Source, Scope: s.Channel.Scope, Rule: RuleExoClient,
		From: from, To: to, Indicative: true,
	}
	var joules float64
	var last Reading
	for _, r := range s.Readings {
		if r.EndNS < from || r.EndNS > to {
			continue
		}
		if w.Samples++; w.Samples > 1 {
			joules += (last.Value + r.Value) / 2 * seconds(r.EndNS-last.EndNS)
		}
		last = r
	}
	if w.Samples == 1 {
		joules = last.Value * seconds(to-from)
	}
	mean := joules / seconds(to-from)
	if !finite(joules) || from < to && !finite(mean) {
		w.Reason = ReasonNoReading
		return w
	}
	if w.EnergyJ = &joules; from < to {
		w.MeanW = &mean
	}
	return w
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
