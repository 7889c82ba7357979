package meter

import (
	"cmp"
	"slices"

	"tokwatt/power"
)

// Windows are those of all channels of energy between two instants, by our own
// rule: of those that were read, and behind them of those that gave nothing,
// with the reason.
func (m *Meter) Windows(from, to int64) (windows []power.Window, read int) {
	for _, s := range m.series {
		if c := m.curveOf(s); c != nil {
			windows = append(windows, c.Energy(from, to))
		}
	}
	return append(windows, m.silent(from, to)...), len(windows)
}

// ExoClient are the windows by the rule of exo-bench's client, of the channels
// that read power at instants, as its samples are.
func (m *Meter) ExoClient(from, to int64) []power.Window {
	var out []power.Window
	for _, s := range m.series {
		if kind, ok := power.KindOf(s.key.metric, s.readings); ok && kind == power.Instant {
			out = append(out, m.of(s).ExoClient(from, to))
		}
	}
	return out
}

// telling orders the reasons of channels that gave nothing: first those that
// somebody can do something about. Of most machines some sensor or other is
// not there, which says the least.
var telling = []power.Reason{power.ReasonSudoNeeded, power.ReasonDenied, power.ReasonMasked, power.ReasonVM, power.ReasonFrozen,
	power.ReasonNoReading, power.ReasonOff}

func rank(r power.Reason) int {
	if i := slices.Index(telling, r); i >= 0 {
		return i
	}
	return len(telling)
}

// silent are the windows of channels of a machine's energy without a reading,
// those with the most telling reason first.
func (m *Meter) silent(from, to int64) []power.Window {
	var out []power.Window
	seen := map[key]bool{}
	for i := range m.declared {
		c, k := m.declared[i].channel, m.declared[i].key()
		_, energy := power.KindOf(c.Metric, nil)
		if !energy || seen[k] || m.at[k] != nil {
			continue
		}
		seen[k] = true
		w := power.Unknown(from, to, cmp.Or(c.Missing, power.ReasonNoReading))
		w.Node, w.Source, w.Scope = c.Node, c.Source, c.Scope
		out = append(out, w)
	}
	slices.SortStableFunc(out, func(a, b power.Window) int { return rank(a.Reason) - rank(b.Reason) })
	return out
}

// Values are what the channels of a metric and scope read in a window, by node
// and in the order of the readings.
func (m *Meter) Values(metric power.Metric, scope power.Scope, from, to int64) map[string][]float64 {
	out := map[string][]float64{}
	for _, s := range m.series {
		if s.key.metric != metric || scope != "" && s.key.scope != scope {
			continue
		}
		for _, r := range s.readings {
			if r.EndNS >= from && r.EndNS <= to {
				out[s.key.node] = append(out[s.key.node], r.Value)
			}
		}
	}
	return out
}
