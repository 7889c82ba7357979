package analyzetest

import (
	"math"

	"tokwatt/collect"
)

// The sensors of a synthetic machine: a counter of the GPU's energy and the
// power of the whole, once a second, the clock of the GPU, and a package that
// it may not read.
const every = 1000 * millisecond

func sensors() *collect.Sensors {
	return &collect.Sensors{Segment: 1, EveryNS: every, Channels: []collect.Channel{
		{Source: "synthetic", Scope: "gpu", Metric: "energy", Unit: "J"},
		{Source: "synthetic", Scope: "system", Metric: "power", Unit: "W"},
		{Source: "synthetic", Scope: "gpu", Metric: "frequency", Unit: "MHz"},
		{Source: "rapl", Scope: "package", Metric: "energy", Unit: "J", Missing: "denied", Note: "the counters belong to root"},
	}}
}

// idle is a quiet window of ten seconds before a target's first request.
func (g *generator) idle(target int64) {
	if g.o.Power {
		g.put(&collect.Idle{Segment: 1, TargetID: target, StartNS: g.now, EndNS: g.now + 10_000*millisecond})
		g.now += 10_000 * millisecond
	}
}

// meter reads the sensors.
type meter struct {
	next   int64 // the next reading
	joules float64
}

// read is what was read up to an instant since it was last called.
func (m *meter) read(until int64) *collect.Samples {
	s := &collect.Samples{Segment: 1}
	for ; m.next <= until; m.next += every {
		watts := 30 + 20*math.Sin(float64(m.next)/5e9)
		m.joules += watts
		for _, r := range []collect.Sample{
			{Scope: "gpu", Metric: "energy", Unit: "J", Value: m.joules},
			{Scope: "system", Metric: "power", Unit: "W", Value: watts + 12},
			{Scope: "gpu", Metric: "frequency", Unit: "MHz", Value: 1400},
		} {
			r.Source, r.EndNS = "synthetic", m.next
			s.Samples = append(s.Samples, r)
		}
	}
	return s
}
