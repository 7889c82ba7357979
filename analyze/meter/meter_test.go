package meter

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tokwatt/collect"
	"tokwatt/power"
)

func samples(s collect.Sample, every float64, from, to float64, value func(t float64) float64) *collect.Samples {
	out := &collect.Samples{Segment: 1}
	for t := from; t <= to; t += every {
		s.EndNS, s.Value = int64(math.Round(t*1e9)), value(t)
		out.Samples = append(out.Samples, s)
	}
	return out
}

func second(s float64) int64 { return int64(math.Round(s * 1e9)) }

// TestSpansForgetNothing: whatever is forgotten and when, a span has the figures
// of all of its readings.
func TestSpansForgetNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		noise := make([]float64, 4000)
		joules := make([]float64, len(noise))
		for i := range noise {
			noise[i] = 20 + 60*rnd.Float64()
			joules[i] = noise[i]
			if i > 0 {
				joules[i] += joules[i-1]
			}
		}
		at := func(list []float64) func(float64) float64 {
			return func(t float64) float64 { return list[int(math.Round(t))] }
		}
		from, to := 5+200*rnd.Float64(), 2500+500*rnd.Float64()
		run := func(forget bool) []power.Window {
			m := New("here", 1<<20)
			span := m.Begin(second(from))
			for t := 0.0; t < 3600; t += 100 {
				for _, s := range []*collect.Samples{
					samples(collect.Sample{Source: "c", Scope: "gpu", Metric: "energy"}, 1, t, t+99, at(joules)),
					samples(collect.Sample{Source: "i", Scope: "system", Metric: "power"}, 1, t, t+99, at(noise)),
				} {
					m.Add(s)
				}
				span.To = second(min(max(from, t-50), to))
				if forget && rnd.IntN(3) == 0 {
					m.Forget(second(t - 20))
				}
			}
			if n := len(m.series[0].readings); forget == (n == 3600) {
				t.Fatalf("%d readings are kept", n)
			}
			return m.End(span)
		}
		want, got := run(false), run(true)
		for i, w := range want {
			g := got[i]
			if !near(g.EnergyJ, w.EnergyJ) || !near(g.LowJ, w.LowJ) || !near(g.HighJ, w.HighJ) || !near(g.MeanW, w.MeanW) || !near(g.PeakW, w.PeakW) ||
				!near(g.MaxGapS, w.MaxGapS) || g.Samples != w.Samples || g.Reason != w.Reason || g.From != w.From || g.To != w.To || g.Node != "here" {
				t.Fatalf("%s: %+v, want %+v", w.Source, g, w)
			}
		}
	}
}

func near(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) <= 1e-9*max(1, math.Abs(*b))
}

// TestDeclared: what is said of a channel rules its curve, before or after its
// readings, and a channel that gives nothing has the reason.
func TestDeclared(t *testing.T) {
	wraps := func(t float64) float64 { return math.Mod(40*t, 1000) }
	sensors := &collect.Sensors{Segment: 1, EveryNS: 1e9, Channels: []collect.Channel{
		{Source: "rapl", Scope: "package", Metric: "energy", Range: 1000},
		{Source: "nvidia", Scope: "gpu", Metric: "power", Missing: "no_channel"},
		{Source: "ioreport", Scope: "gpu", Metric: "energy", Missing: "sudo_needed"},
		{Source: "thermal", Scope: "cpu", Metric: "temperature", Missing: "vm"},
		{Node: "there", Source: "exo", Scope: "system", Metric: "power"}}}
	readings := samples(collect.Sample{Source: "rapl", Scope: "package", Metric: "energy"}, 1, 0, 60, wraps)
	for _, first := range []bool{true, false} {
		m := New("here", Limit)
		if first {
			m.Declare(sensors)
		}
		m.Add(readings)
		m.Windows(0, 1)
		if !first {
			m.Declare(sensors)
		}
		got, read := m.Windows(second(10), second(50))
		var reasons []power.Reason
		for _, w := range got {
			reasons = append(reasons, w.Reason)
		}
		if want := []power.Reason{"", "sudo_needed", "no_reading", "no_channel"}; !slices.Equal(reasons, want) {
			t.Fatalf("reasons %q, want %q", reasons, want)
		}
		if w := got[0]; read != 1 || *w.EnergyJ != 1600 || w.Node != "here" || got[2].Node != "there" {
			t.Errorf("%+v", w)
		}
		if nodes := m.Declared(0); !slices.Equal(nodes, []string{"here", "there"}) || m.Declared(1) != nil || m.Undeclared() != nil {
			t.Errorf("%q", nodes)
		}
	}
}

func TestValues(t *testing.T) {
	m := New("here", Limit)
	m.Add(samples(collect.Sample{Scope: "gpu", Metric: "frequency"}, 1, 0, 9, func(t float64) float64 { return t }))
	m.Add(samples(collect.Sample{Scope: "cpu", Metric: "frequency"}, 1, 0, 9, func(t float64) float64 { return 100 }))
	if got := m.Values("frequency", "gpu", second(2), second(4)); !slices.Equal(got["here"], []float64{2, 3, 4}) || len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// TestFull: readings are worth forgetting only where there are many.
func TestFull(t *testing.T) {
	m := New("", 100)
	add := func(from, to float64) {
		m.Add(samples(collect.Sample{Scope: "gpu", Metric: "power"}, 1, from, to, func(float64) float64 { return 1 }))
	}
	add(0, 98)
	if _, full := m.Full(); full {
		t.Error("99 readings are many")
	}
	add(99, 999)
	before, full := m.Full()
	if !full || before != second(950) {
		t.Fatalf("%d, %v", before, full)
	}
	m.Forget(before)
	if n := len(m.series[0].readings); n < 50 || n > 250 {
		t.Errorf("%d readings are left", n)
	}
	if _, full := m.Full(); full {
		t.Error("it is full when it has just forgotten")
	}
}
