package ioreport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tokwatt/power"
)

// mac is a machine whose true energy is known. Time in tests is synctest's.
type mac struct {
	born     time.Time // tick 0
	channels []channel
	counters map[string]counterModel
	states   map[string][]float64 // share of time in each state
	tables   map[string][]byte
	smcKeys  map[string]float64
	level    uint64
	virtual  bool
	down     bool // IOReport gives no samples
	changed  int  // generation

	said map[string]reading // what each channel had last
}

// counterModel is how a channel counts.
type counterModel struct {
	joules  func(t time.Duration) float64               // true energy since born
	publish func(t time.Duration) (time.Duration, bool) // the last publication at t; false: by the reading itself
	distort func(t time.Duration, r reading) reading    // what else is wrong
}

// broken is a level that can't be read.
const broken = 99

// constant power.
func constant(watts float64) func(time.Duration) float64 {
	return func(t time.Duration) float64 { return watts * t.Seconds() }
}

// batches are publications every 2.1 s, from phase on.
func batches(phase time.Duration) func(time.Duration) (time.Duration, bool) {
	return func(t time.Duration) (time.Duration, bool) {
		return (t-phase)/batch*batch + phase, true
	}
}

// tick is 125/3 ns.
func tick(t time.Duration) uint64 { return uint64(t.Nanoseconds()) * 3 / 125 }

func newMac() *mac {
	return &mac{born: time.Now().Add(-time.Hour), counters: map[string]counterModel{}, states: map[string][]float64{}, tables: map[string][]byte{}, said: map[string]reading{}, changed: 1}
}

func (m *mac) counter(name, unit string, c counterModel) *mac {
	m.channels = append(m.channels, channel{group: groupEnergy, name: name, unit: unit})
	m.counters[name] = c
	return m
}

func (m *mac) cores(name string, states []string, share ...float64) *mac {
	c := channel{group: groupCPU, subgroup: subgroupCPU, name: name, states: states}
	if name == gpuStates {
		c.group, c.subgroup = groupGPU, subgroupGPU
	}
	m.channels = append(m.channels, c)
	m.states[name] = share
	return m
}

// table is a clock table of pmgr's.
func (m *mac) table(name string, clocks ...uint32) *mac {
	var b []byte
	for i, c := range clocks {
		b = binary.LittleEndian.AppendUint32(b, c)
		b = binary.LittleEndian.AppendUint32(b, uint32(700+i))
	}
	m.tables[name] = b
	return m
}

// read implements reporter: it takes 5 ms.
func (m *mac) read(s *snapshot) error {
	if m.down {
		return noReading("down")
	}
	s.began = tick(time.Since(m.born))
	time.Sleep(3 * time.Millisecond)
	sampled := time.Since(m.born)
	time.Sleep(2 * time.Millisecond)
	s.generation, s.channels, s.readings = m.changed, m.channels, make([]reading, len(m.channels))
	for i, c := range m.channels {
		if c.states != nil {
			for _, share := range m.states[c.name] {
				s.readings[i].states = append(s.readings[i].states, int64(share*float64(tick(sampled))))
			}
			continue
		}
		s.readings[i] = m.count(c, sampled)
	}
	s.at = time.Now()
	s.ended = tick(time.Since(m.born))
	return nil
}

func (m *mac) count(c channel, t time.Duration) reading {
	model := m.counters[c.name]
	at := t
	if model.publish != nil {
		if last, own := model.publish(t); own {
			at = last
		}
	}
	unit, err := joules(c.unit)
	if err != nil {
		unit = 1
	}
	r := reading{count: int64(model.joules(at) / unit), stamp: tick(at)}
	if model.distort != nil {
		r = model.distort(t, r)
	}
	return r
}

func (m *mac) keys() ([]string, error) {
	var out []string
	for k := range m.smcKeys {
		out = append(out, k)
	}
	slices.Sort(out)
	return out, nil
}

func (m *mac) float(key string) (float64, error) {
	v, ok := m.smcKeys[key]
	if !ok {
		return 0, fmt.Errorf("no key %s", key)
	}
	return v, nil
}

func (m *mac) source() *Source {
	return newSource(func() (*machine, error) {
		out := &machine{virtual: m.virtual, ticks: timebase{125, 3}, property: func(name string) []byte { return m.tables[name] }}
		if m.channels != nil {
			out.reports = m
		} else {
			out.noReports = noChannel("IOReport has none of the channels")
		}
		if m.smcKeys != nil {
			out.smc = m
		} else {
			out.noSMC = noChannel("this machine has no SMC")
		}
		out.pressure = func() (uint64, error) {
			if m.level == broken {
				return 0, errors.New("no level")
			}
			return m.level, nil
		}
		return out, nil
	})
}

// truth is a rail's true energy at an instant.
func (m *mac) truth(at time.Time, names ...string) float64 {
	var sum float64
	for _, n := range names {
		sum += m.counters[n].joules(at.Sub(m.born))
	}
	return sum
}

// chans finds a channel in what Probe says.
func chans(list []power.Channel, scope power.Scope, metric power.Metric) power.Channel {
	for _, c := range list {
		if c.Scope == scope && c.Metric == metric {
			return c
		}
	}
	return power.Channel{Missing: "not in Probe's list"}
}

func all(samples []power.Sample, scope power.Scope, metric power.Metric) []power.Sample {
	var out []power.Sample
	for _, s := range samples {
		if s.Scope == scope && s.Metric == metric {
			out = append(out, s)
		}
	}
	return out
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }
