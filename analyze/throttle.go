package analyze

import (
	"tokwatt/analyze/meter"
	"tokwatt/collect"
	"tokwatt/power"
)

// A GPU that is held back shows in its clock before the system says so, or
// without it: its median frequency is over a tenth below what it was in an
// earlier batch of the same case, and the rate fell with it, by more than the
// 5 % that a steady case may vary.
const (
	clockFell = 0.90
	rateFell  = 0.95
)

// heat judges the batches of a target by what the sensors tell of heat.
type heat struct {
	before map[heatKey]pace
}

type heatKey struct {
	caseID int64
	node   string
}

// pace is the fastest that a GPU was in a case.
type pace struct{ mhz, rate float64 }

// judge reports whether the host was held back during a batch: thermal
// pressure, or a clock that fell with the rate. False needs a clock that can
// be compared; nil is unknown.
func (h *heat) judge(m *meter.Meter, nodes []string, b *collect.Batch, row *BatchRow, rows []RequestRow) *bool {
	var verdict *bool
	pressure := m.Values(power.MetricPressure, "", b.StartNS, b.EndNS)
	clocks := m.Values(power.MetricFrequency, power.ScopeGPU, b.StartNS, b.EndNS)
	rate := paceOf(row, rows)
	for _, node := range nodes {
		for _, level := range pressure[node] {
			if level > 0 {
				verdict = ptr(true)
			}
		}
		mhz := medianOf(clocks[node])
		if mhz == nil || rate == nil || b.Warmup {
			continue
		}
		before, ok := h.before[heatKey{b.CaseID, node}]
		if ok && verdict == nil {
			verdict = ptr(false)
		}
		if ok && *mhz < clockFell*before.mhz && *rate < rateFell*before.rate {
			verdict = ptr(true)
		}
		h.remember(heatKey{b.CaseID, node}, pace{max(before.mhz, *mhz), max(before.rate, *rate)})
	}
	return verdict
}

func (h *heat) remember(k heatKey, p pace) {
	if h.before == nil {
		h.before = map[heatKey]pace{}
	}
	h.before[k] = p
}

// paceOf is how fast a batch was: its median rate, else all that came out over
// the time.
func paceOf(row *BatchRow, rows []RequestRow) *float64 {
	var rates []float64
	for i := range rows {
		if r := rows[i].GenerationTPS; rows[i].Status == StatusOK && r != nil {
			rates = append(rates, *r)
		}
	}
	if m := medianOf(rates); m != nil {
		return m
	}
	return row.AggWallTPS
}

func medianOf(values []float64) *float64 {
	s, _ := NewSample(values)
	return s.Median()
}
