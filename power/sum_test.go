package power_test

import (
	"slices"
	"testing"
	"time"

	"tokwatt/power"
)

// known is a window with an energy, missing one without.
func known(node string, scope power.Scope, joules float64) power.Window {
	low, high, mean, gap := joules-1, joules+1, joules/10, 1.0
	return power.Window{
		Node: node, Source: "s", Scope: scope, To: 10e9, Samples: int64(joules),
		EnergyJ: &joules, LowJ: &low, HighJ: &high, MeanW: &mean, MaxGapS: &gap,
	}
}

func missing(node string, scope power.Scope, why power.Reason) power.Window {
	w := power.Unknown(0, 10e9, why)
	w.Node, w.Scope = node, scope
	return w
}

func TestSum(t *testing.T) {
	const system, soc, pkg, gpu, cpu = power.ScopeSystem, power.ScopeSoC, power.ScopePackage, power.ScopeGPU, power.ScopeCPU
	inHole := known("b", system, 40)
	inHole.EnergyJ, inHole.MeanW, inHole.Reason = nil, nil, power.ReasonGap
	for _, c := range []struct {
		name       string
		windows    []power.Window
		nodes      []string
		j, partial float64
		low        float64
		scope      power.Scope
		coverage   string
		why        power.Reason
	}{
		{"all", []power.Window{known("a", system, 60), known("b", system, 40)}, []string{"a", "b"}, 100, none, 98, system, "2/2", ""},
		{"another node", []power.Window{known("a", system, 60), known("b", system, 40)}, []string{"a"}, 60, none, 59, system, "1/1", ""},
		{"a node without a sensor", []power.Window{known("a", system, 60), known("b", system, 40)}, []string{"a", "c", "b"}, none, 100, none, system, "2/3", power.ReasonNodeMissing},
		{"a node that says why", []power.Window{known("a", system, 60), missing("b", system, power.ReasonDenied)}, []string{"a", "b"}, none, 60, none, system, "1/2", power.ReasonNodeMissing},
		{"a hole on one", []power.Window{known("a", system, 60), inHole}, []string{"a", "b"}, none, 60, 98, system, "1/2", power.ReasonGap},
		{"a hole on one, none on another", []power.Window{inHole, known("a", system, 60)}, []string{"a", "b", "c"}, none, 60, none, system, "1/3", power.ReasonNodeMissing},
		{"no node has one", []power.Window{missing("a", system, power.ReasonVM), missing("b", soc, power.ReasonVM)}, []string{"a", "b"}, none, none, none, "", "0/2", power.ReasonVM},
		{"no node has one, each for its own reason", []power.Window{missing("a", system, power.ReasonVM), missing("b", soc, power.ReasonOff)}, []string{"a", "b"}, none, none, none, "", "0/2", power.ReasonNodeMissing},
		{"no windows", nil, []string{"a"}, none, none, none, "", "0/1", power.ReasonNodeMissing},
		{"no nodes", []power.Window{known("a", system, 60)}, nil, none, none, none, "", "0/0", power.ReasonNoReading},
		{"widest", []power.Window{known("a", gpu, 30), known("a", system, 60), known("a", soc, 50), known("a", cpu, 10)}, []string{"a"}, 60, none, 59, system, "1/1", ""},
		{"widest has a hole", []power.Window{known("b", gpu, 30), inHole}, []string{"b"}, none, none, 39, system, "0/1", power.ReasonGap},
		{"widest reads nothing", []power.Window{known("b", gpu, 30), missing("b", system, power.ReasonNoReading)}, []string{"b"}, 30, none, 29, gpu, "1/1", ""},
		{"parts are no whole", []power.Window{known("a", cpu, 30)}, []string{"a"}, none, none, none, "", "0/1", power.ReasonNodeMissing},
		{"what they have in common", []power.Window{known("a", system, 60), known("a", gpu, 30), known("b", gpu, 40)}, []string{"a", "b"}, 70, none, 68, gpu, "2/2", ""},
		{"nothing in common", []power.Window{known("a", system, 60), known("b", gpu, 40)}, []string{"a", "b"}, none, none, none, "", "0/2", power.ReasonMixedScopes},
		{"a package is no soc", []power.Window{known("a", soc, 60), known("b", pkg, 40)}, []string{"a", "b"}, none, none, none, "", "0/2", power.ReasonMixedScopes},
	} {
		s := power.Sum(c.windows, c.nodes)
		if !agrees(c.j, s.EnergyJ) || !agrees(c.partial, s.PartialJ) || !agrees(c.low, s.LowJ) || s.Scope != c.scope || s.Coverage != c.coverage || s.Reason != c.why {
			t.Errorf("%s: %v, partial %v, low %v, %q, %s, %q", c.name, show(s.EnergyJ), show(s.PartialJ), show(s.LowJ), s.Scope, s.Coverage, s.Reason)
		}
		if s.Node != power.AllNodes {
			t.Errorf("%s: node %q", c.name, s.Node)
		}
	}
}

func TestSumKeepsTheWorst(t *testing.T) {
	a, b := known("a", power.ScopeSystem, 60), known("b", power.ScopeSystem, 40)
	gap := 2.5
	b.MaxGapS, b.Rejected, b.Indicative, b.Source = &gap, 3, true, "exo"
	s := power.Sum([]power.Window{a, b}, []string{"a", "b"})
	if s.Samples != 40 || s.Rejected != 3 || !agrees(2.5, s.MaxGapS) || !s.Indicative || !agrees(10, s.MeanW) || s.Source != "s,exo" || s.To != 10e9 {
		t.Errorf("%+v", s)
	}
}

func TestWidestPrefers(t *testing.T) {
	bounds, guess := known("a", power.ScopeSoC, 50), known("a", power.ScopePackage, 51)
	guess.Indicative = true
	for _, order := range [][]power.Window{{bounds, guess}, {guess, bounds}} {
		if w := power.Widest(order); w.Scope != power.ScopeSoC {
			t.Errorf("%s before bounds", w.Scope)
		}
	}
	if w := power.Widest([]power.Window{known("a", power.ScopeDRAM, 5)}); w != nil {
		t.Errorf("%+v stands for a machine", w)
	}
}

func TestComponentAboveSystem(t *testing.T) {
	const system, soc, gpu, cpu = power.ScopeSystem, power.ScopeSoC, power.ScopeGPU, power.ScopeCPU
	for _, c := range []struct {
		name    string
		windows []power.Window
		above   bool
	}{
		{"parts", []power.Window{known("a", system, 40), known("a", cpu, 20), known("a", gpu, 29)}, true},
		{"a fifth more", []power.Window{known("a", system, 40), known("a", cpu, 20), known("a", gpu, 28)}, false},
		{"one contains the other", []power.Window{known("a", system, 40), known("a", soc, 40), known("a", gpu, 30)}, false},
		{"soc", []power.Window{known("a", system, 40), known("a", soc, 49)}, true},
		{"no system", []power.Window{known("a", soc, 49)}, false},
		{"system not known", []power.Window{missing("a", system, power.ReasonGap), known("a", soc, 49)}, false},
		{"part not known", []power.Window{known("a", system, 40), missing("a", soc, power.ReasonGap)}, false},
	} {
		if got := power.ComponentAboveSystem(c.windows); got != c.above {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestSeriesOf steps the wall clock back an hour between two samples: their
// monotonic readings don't know of it.
func TestSeriesOf(t *testing.T) {
	origin := time.Now()
	sample := func(node string, scope power.Scope, metric power.Metric, start, end time.Duration, v float64) power.Sample {
		s := power.Sample{Node: node, Source: "x", Scope: scope, Metric: metric, Unit: "W", End: origin.Add(end), Value: v}
		if start != end {
			s.Start = origin.Add(start)
		}
		return s
	}
	channels := []power.Channel{{Node: "a", Source: "x", Scope: power.ScopeGPU, Metric: power.MetricEnergy, Range: 100, Devices: 2}}
	all := power.SeriesOf(channels, []power.Sample{
		sample("a", power.ScopeGPU, power.MetricEnergy, 0, 0, 90),
		sample("b", power.ScopeGPU, power.MetricPower, 0, time.Second, 50),
		sample("a", power.ScopeGPU, power.MetricEnergy, time.Second, time.Second, 10),
		sample("a", power.ScopeGPU, power.MetricTemperature, time.Second, time.Second, 60),
	}, origin)
	if len(all) != 3 || len(all[0].Readings) != 2 || all[0].Channel.Devices != 2 {
		t.Fatalf("%+v", all)
	}
	if w := all[0].Curve(time.Second).Energy(0, 1e9); !agrees(20, w.EnergyJ) || w.Node != "a" || w.Source != "x" || w.Scope != power.ScopeGPU {
		t.Errorf("%+v", w)
	}
	if w := all[1].Curve(0).Energy(0, 1e9); !agrees(50, w.EnergyJ) || w.Indicative {
		t.Errorf("%+v", w)
	}
	if c := all[2].Curve(0); c != nil {
		t.Error("a temperature has an energy")
	}
	if i := slices.IndexFunc(all, func(s power.Series) bool { return s.Channel.Node == "b" }); all[i].Channel.Unit != "W" {
		t.Errorf("%+v", all[i].Channel)
	}
}
