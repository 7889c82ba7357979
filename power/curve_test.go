package power_test

import (
	"math"
	"testing"
	"time"

	"tokwatt/power"
)

// at is readings of instants or of a counter: second, value, second, value…
func at(pairs ...float64) []power.Reading {
	var out []power.Reading
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, power.Reading{EndNS: ns(pairs[i]), Value: pairs[i+1]})
	}
	return out
}

// over is averages: from, to, watts…
func over(triples ...float64) []power.Reading {
	var out []power.Reading
	for i := 0; i < len(triples); i += 3 {
		out = append(out, average(ns(triples[i]), ns(triples[i+1]), triples[i+2]))
	}
	return out
}

// steady is a value read each step from 0 to end.
func steady(end, step, value float64) []power.Reading {
	var out []power.Reading
	for i := 0.0; i*step <= end+1e-9; i++ {
		out = append(out, power.Reading{EndNS: ns(i * step), Value: value})
	}
	return out
}

// count is a counter at constant power.
func count(end, step, watts float64) []power.Reading {
	out := steady(end, step, 0)
	for i := range out {
		out[i].Value = watts * float64(out[i].EndNS) / 1e9
	}
	return out
}

func then(lists ...[]power.Reading) []power.Reading {
	var out []power.Reading
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

var none = math.NaN() // NULL, in the tables

func agrees(want float64, got *float64) bool {
	if got == nil {
		return math.IsNaN(want)
	}
	return math.Abs(want-*got) <= 1e-6
}

func show(x *float64) any {
	if x == nil {
		return "NULL"
	}
	return *x
}

func TestEnergy(t *testing.T) {
	const (
		counter, mean, instant = power.Counter, power.Average, power.Instant
		gap, frozen, uncovered = power.ReasonGap, power.ReasonFrozen, power.ReasonUncovered
		short, anew            = power.ReasonShortWindow, power.ReasonCounterReset
	)
	hz := power.CurveOptions{Nominal: time.Second}
	slow := power.CurveOptions{Nominal: 250 * time.Millisecond, Refresh: 2100 * time.Millisecond, Stamped: true}
	stamped := power.CurveOptions{Nominal: time.Second, Stamped: true}
	ranged := power.CurveOptions{Nominal: time.Second, Range: 1000}
	for _, c := range []struct {
		name         string
		kind         power.Kind
		opts         power.CurveOptions
		readings     []power.Reading
		from, to     float64
		j, low, high float64
		why          power.Reason
	}{
		{"nothing", counter, hz, nil, 0, 1, none, none, none, power.ReasonNoReading},
		{"no metric", 0, hz, at(0, 1, 1, 1), 0, 1, none, none, none, power.ReasonNoReading},
		{"one reading", instant, hz, at(1, 60), 0.5, 1.5, none, none, none, uncovered},
		{"no time", counter, hz, count(9, 1, 10), 3, 3, none, none, none, short},
		{"backwards", counter, hz, count(9, 1, 10), 4, 3, none, none, none, short},

		// A hole: a counter counts on and keeps its bounds.
		{"counter, hole", counter, hz, at(0, 0, 1, 10, 2, 20, 6, 60, 7, 70), 1, 7, none, 60, 60, gap},
		{"counter, hole at the edge", counter, hz, at(0, 0, 1, 10, 2, 20, 6, 60, 7, 70), 1.5, 4, none, 0, 50, gap},
		{"counter, 3 s are no hole", counter, hz, at(0, 0, 1, 10, 4, 40, 5, 50), 0, 5, 50, 50, 50, ""},
		{"counter, nominal 2 s", counter, power.CurveOptions{Nominal: 2 * time.Second}, at(0, 0, 2, 20, 8, 80, 10, 100), 0, 10, 100, 100, 100, ""},
		{"counter, nominal not given", counter, power.CurveOptions{}, at(0, 0, 2, 20, 4, 40, 10, 100, 12, 120), 0, 10, 100, 100, 100, ""},
		{"counter, hole in which the range may have been passed", counter, ranged, at(0, 900, 1, 910, 5, 30, 6, 40), 0, 6, none, none, none, gap},
		{"hole beside the window", instant, hz, at(0, 50, 1, 50, 9, 50, 10, 50, 11, 50), 9, 11, 100, 100, 100, ""},
		{"averages, hole", mean, hz, over(0, 1, 50, 1, 2, 50, 6, 7, 50, 7, 8, 50), 0.5, 7.5, none, none, none, gap},
		{"averages, not read for a while", mean, hz, over(0, 1, 50, 1, 2, 50, 3, 4, 70, 4, 5, 50), 0, 5, 50 + 50 + 60 + 70 + 50, 280, 280, ""},

		// Short: the bounds stand.
		{"counter, short", counter, hz, count(9, 1, 10), 3.2, 3.6, none, 0, 10, short},
		{"counter, half a step", counter, hz, count(9, 1, 10), 3.2, 3.7, 5, 0, 10, ""},
		{"counter, half a step over a point", counter, hz, count(9, 1, 10), 3.7, 4.2, 5, 0, 20, ""},
		{"averages, short", mean, hz, over(0, 1, 50, 1, 2, 50), 0.8, 1.2, none, 0, 100, short},
		{"readings at a short window's edges", counter, hz, at(0, 0, 1, 10, 1.1, 12, 1.3, 18, 2, 20), 1.1, 1.3, 6, 6, 6, ""},
		{"readings just after a short window's edges", counter, hz, at(0, 0, 1, 10, 1.1, 12, 1.3, 18, 2, 20), 1.099, 1.299, 5.99, 0, 8, ""},
		{"the sensor itself is slower", counter, power.CurveOptions{Nominal: time.Second, Refresh: time.Second}, at(0, 0, 1, 10, 1.1, 12, 1.3, 18, 2, 20), 1.1, 1.3, none, 6, 6, short},

		// A counter that is not renewed.
		{"held", counter, hz, at(0, 0, 1, 10, 2, 10, 3, 10, 4, 40, 5, 50), 1.5, 4, 25, 0, 40, ""},
		{"held, an edge where the renewal may have come before", counter, hz, at(0, 0, 1, 10, 2, 10, 3, 10, 4, 40, 5, 50), 0, 3.5, 35, 10, 50, ""},
		{"held for 3 to 10 s is no hole", counter, hz, then(count(2, 1, 10), at(3, 20, 4, 20, 5, 20, 6, 20, 7, 20, 8, 80, 9, 90)), 0, 9, 90, 90, 90, ""},
		{"held for 10 s", counter, hz, then(steady(10, 1, 5), at(11, 60, 12, 70)), 1, 12, none, none, none, frozen},
		{"held at the end", counter, hz, then(count(2, 1, 10), at(3, 20, 4, 20)), 0, 3, none, none, none, uncovered},
		{"held at the end for 10 s", counter, hz, then(count(2, 1, 10), at(7, 20, 9, 20, 12, 20)), 0, 4, none, none, none, frozen},
		{"before it froze", counter, hz, then(count(2, 1, 10), at(7, 20, 9, 20, 12, 20)), 0, 2, 20, 20, 20, ""},
		{"stuck at 0", counter, hz, steady(20, 1, 0), 2, 18, none, none, none, frozen},
		{"nothing used, and the sensor says so", counter, stamped, then(steady(12, 1, 5), at(13, 15, 14, 25)), 1, 13, 10, 10, 10, ""},
		{"batches of 2.1 s", counter, slow, at(0, 0, 2.1, 63, 4.2, 126, 6.3, 189), 1, 5, 120, 63, 189, ""},
		{"batches in two parts", counter, slow, at(0, 0, 2.1, 11, 2.12, 63, 4.18, 99, 4.2, 126, 6.3, 189), 1, 5, 120.283019, 63, 189, ""},
		{"a phase within a batch", counter, slow, at(0, 0, 2.1, 63, 4.2, 126, 6.3, 189), 2.2, 3.1, none, 0, 63, short},

		// Wraps and resets.
		{"wrap", counter, ranged, at(0, 980, 1, 990, 2, 0, 3, 10), 0, 3, 30, 30, 30, ""},
		{"reset", counter, hz, at(0, 980, 1, 990, 2, 3, 3, 13, 4, 23), 0, 4, none, none, none, anew},
		{"after a reset", counter, hz, at(0, 980, 1, 990, 2, 3, 3, 13, 4, 23), 2, 4, 20, 20, 20, ""},
		{"reset that is no wrap", counter, power.CurveOptions{Nominal: time.Second, Range: 1e6}, at(0, 980, 1, 990, 2, 3, 3, 13), 0, 3, none, none, none, anew},
		{"reset, then nothing used", counter, hz, at(0, 980, 1, 990, 2, 3, 3, 3, 4, 13), 0, 4, none, none, none, anew},
		{"reset in the last reading", counter, hz, at(0, 980, 1, 990, 2, 3), 0, 2, none, none, none, anew},
		{"a 0 that comes and goes", counter, hz, at(0, 4980, 1, 4990, 2, 0, 3, 5010), 0, 3, 30, 30, 30, ""},
		{"0s that come and go", counter, hz, at(0, 4980, 1, 4990, 2, 0, 2.5, 0, 3, 5010), 0, 3, 30, 30, 30, ""},
		{"a leap that comes and goes", counter, hz, at(0, 0, 1, 10, 2, 9e9, 3, 30), 0, 3, 30, 30, 30, ""},
		{"a leap that stays", counter, hz, at(0, 0, 1, 10, 2, 9e9, 3, 9e9+10), 0, 3, none, none, none, anew},
		{"a leap at the end", counter, hz, at(0, 0, 1, 10, 2, 9e9), 0, 1, 10, 10, 10, ""},

		// Averages.
		{"averages", mean, hz, over(0, 1, 10, 1, 2, 50, 2, 3, 10), 0.5, 2.5, 5 + 50 + 5, 50, 70, ""},
		{"averages, jitter of the stamps", mean, hz, over(0, 1, 50, 0.99, 2, 50, 2.01, 3, 50), 0, 3, 150, 150, 150, ""},
		{"averages, read twice a second", mean, hz, over(0, 1, 10, 0.5, 1.5, 80, 1, 2, 50, 1.5, 2.5, 80, 2, 3, 10), 0.5, 2.5, 60, 50, 70, ""},
		{"average without a start", mean, hz, then(over(0, 1, 10, 1, 2, 10), at(3, 10)), 0, 3, none, none, none, uncovered},
		{"average that ends before it starts", mean, hz, over(0, 1, 10, 1, 2, 10, 3, 2.5, 10, 2, 3, 10), 0, 3, 30, 30, 30, ""},

		// Instants.
		{"a ramp", instant, hz, at(0, 0, 1, 100, 2, 100), 0.5, 1.5, 37.5 + 50, 0, 150, ""},
		{"out of order", instant, hz, at(2, 50, 0, 50, 1, 50), 0, 2, 100, 100, 100, ""},
		{"NaN does not replace a number", instant, hz, at(0, 50, 1, 50, 1, none, 2, 50), 0, 2, 100, 100, 100, ""},
		{"over 2,000 W", instant, hz, at(0, 50, 1, 2001, 2, 50), 0, 2, 100, 100, 100, ""},
		{"over 2,000 W of two devices", instant, power.CurveOptions{Nominal: time.Second, Devices: 2}, at(0, 50, 1, 2050, 2, 50), 0, 2, 2100, 2100, 2100, ""},
		{"0 W of a GPU", instant, hz, steady(4, 1, 0), 0, 4, 0, 0, 0, ""},
		{"0 W of a package", instant, power.CurveOptions{Scope: power.ScopePackage}, steady(4, 1, 0), 0, 4, none, none, none, power.ReasonNoReading},
		{"one stamp for 12 s, then another", instant, stamped, at(0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 12, 9), 0, 12, none, none, none, frozen},
		{"one stamp of a counter for 12 s, then another", counter, stamped, at(0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 12, 19), 0, 12, none, none, none, frozen},
	} {
		w := power.NewCurve(c.kind, c.opts, c.readings).Energy(ns(c.from), ns(c.to))
		if !agrees(c.j, w.EnergyJ) || !agrees(c.low, w.LowJ) || !agrees(c.high, w.HighJ) || w.Reason != c.why {
			t.Errorf("%s: %v in [%v, %v] %q, want %v in [%v, %v] %q", c.name,
				show(w.EnergyJ), show(w.LowJ), show(w.HighJ), w.Reason, c.j, c.low, c.high, c.why)
		}
		if known := w.EnergyJ != nil; known != (w.MeanW != nil) {
			t.Errorf("%s: energy %v, mean power %v", c.name, show(w.EnergyJ), show(w.MeanW))
		}
	}
}

func TestWindowSaysWhatItSaw(t *testing.T) {
	hz := power.CurveOptions{Nominal: time.Second}
	for _, c := range []struct {
		name              string
		kind              power.Kind
		readings          []power.Reading
		from, to          float64
		samples, rejected int64
		gap, peak         float64
		indicative        bool
	}{
		{"counter", power.Counter, count(9, 1, 10), 2, 5, 4, 0, 1, none, false},
		{"counter, held", power.Counter, at(0, 0, 1, 10, 2, 10, 3, 30, 4, 40), 0, 3, 3, 0, 2, none, false},
		{"averages", power.Average, over(0, 1, 10, 1, 2, 50, 2, 3, 20), 0, 3, 3, 0, 1, 50, false},
		{"averages with jitter", power.Average, over(0, 1, 10, 1.01, 2, 50), 0, 2, 2, 0, 1, 50, false},
		{"averages, not read for a while", power.Average, over(0, 1, 10, 1.5, 2, 50), 0, 2, 2, 0, 1, 50, true},
		{"averages, not read before the window", power.Average, over(0, 1, 10, 1.5, 2, 50, 2, 3, 60), 1.5, 3, 2, 0, 1, 60, false},
		{"instants", power.Instant, at(0, 10, 1, 70, 1.5, -1, 2, 10), 1, 2, 2, 1, 1, 70, true},
		{"rejected beside the window", power.Instant, at(0, 10, 0.5, -1, 1, 70, 2, 10), 1, 2, 2, 0, 1, 70, true},
		{"uncovered", power.Instant, at(0, 10, 1, 70), 0.5, 3, 1, 0, 1, 70, true},
		{"counter, held before the last reading", power.Counter, at(0, 0, 1, 10, 2, 10, 3, 30), 0, 2.5, 2, 0, 2, none, true},
	} {
		w := power.NewCurve(c.kind, hz, c.readings).Energy(ns(c.from), ns(c.to))
		if w.Samples != c.samples || w.Rejected != c.rejected || !agrees(c.gap, w.MaxGapS) || !agrees(c.peak, w.PeakW) || w.Indicative != c.indicative {
			t.Errorf("%s: %d samples, %d rejected, gap %v, peak %v, indicative %t", c.name,
				w.Samples, w.Rejected, show(w.MaxGapS), show(w.PeakW), w.Indicative)
		}
	}
}

func TestNet(t *testing.T) {
	c := power.NewCurve(power.Counter, power.CurveOptions{}, then(count(20, 1, 8), at(21, 228, 22, 296)))
	idle := c.Energy(ns(5), ns(15))
	if net := c.Energy(ns(20), ns(22)).NetJ(idle.MeanW); !agrees(136-16, net) {
		t.Errorf("net %v, want 120", show(net))
	}
	if net := c.Energy(ns(2), ns(4)).NetJ(&[]float64{10}[0]); !agrees(16-20, net) {
		t.Errorf("net %v, want -4: the sign stays", show(net))
	}
	if net := c.Energy(ns(2), ns(99)).NetJ(idle.MeanW); net != nil {
		t.Errorf("net %v of an unknown energy", *net)
	}
	if net := c.Energy(ns(2), ns(4)).NetJ(nil); net != nil {
		t.Errorf("net %v without an idle power", *net)
	}
}
