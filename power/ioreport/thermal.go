package ioreport

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tokwatt/power"
)

// tempEvery is how often temperatures are read: there are dozens of sensors,
// and they change in seconds.
const tempEvery = time.Second

// The range of temperatures that a chip at work can have, celsius. Sensors
// that aren't there say 0, and an Ultra's say 5.
const coldest, hottest = 10, 150

// mostPressure is the highest level of thermal pressure: sleeping.
const mostPressure = 4

// heat reads temperatures: from the SMC, and where it has none of the CPU, as
// with M1 and older systems, from HID.
type heat struct {
	cpu, gpu []string // the SMC's keys
	byHID    bool
	next     time.Time
	seen     map[power.Scope]bool // which gave anything at the last reading
}

// newHeat looks through the SMC's keys. Tp and Te are sensors of CPU cores, Tg
// of the GPU. Ts are not, whatever some tools say of them.
func newHeat(m *machine) *heat {
	h := &heat{seen: map[power.Scope]bool{}}
	if m.smc != nil {
		keys, err := m.smc.keys()
		if err == nil {
			for _, k := range keys {
				switch {
				case strings.HasPrefix(k, "Tp"), strings.HasPrefix(k, "Te"):
					h.cpu = append(h.cpu, k)
				case strings.HasPrefix(k, "Tg"):
					h.gpu = append(h.gpu, k)
				}
			}
			h.cpu, h.gpu = readable(m.smc, h.cpu), readable(m.smc, h.gpu)
		}
	}
	h.byHID = len(h.cpu) == 0 && m.hid != nil
	return h
}

// readable drops keys that are no numbers.
func readable(smc smcReader, keys []string) []string {
	return slices.DeleteFunc(keys, func(k string) bool { _, err := smc.float(k); return err != nil })
}

// read returns the mean over the sensors of each block that has any.
func (h *heat) read(m *machine, out []power.Sample) []power.Sample {
	now := time.Now()
	if now.Before(h.next) {
		return out
	}
	h.next = now.Add(tempEvery)
	var cpu, gpu mean
	if h.byHID {
		all, _ := m.hid.temperatures() // none is none, whatever the reason
		for _, t := range all {
			switch {
			case strings.HasPrefix(t.product, "pACC MTR Temp Sensor"), strings.HasPrefix(t.product, "eACC MTR Temp Sensor"):
				cpu.add(t.celsius)
			case strings.HasPrefix(t.product, "GPU MTR Temp Sensor"):
				gpu.add(t.celsius)
			}
		}
	} else if m.smc != nil {
		cpu.addKeys(m.smc, h.cpu)
		gpu.addKeys(m.smc, h.gpu)
	}
	now = time.Now()
	for _, b := range []struct {
		scope power.Scope
		mean  mean
	}{{power.ScopeCPU, cpu}, {power.ScopeGPU, gpu}} {
		h.seen[b.scope] = b.mean.n > 0
		if b.mean.n > 0 {
			out = append(out, power.Sample{Source: name, Scope: b.scope, Metric: power.MetricTemperature, Unit: "celsius", End: now, Value: b.mean.sum / float64(b.mean.n)})
		}
	}
	return out
}

// channels says which temperatures there are.
func (h *heat) channels(m *machine) []power.Channel {
	var out []power.Channel
	for _, scope := range []power.Scope{power.ScopeCPU, power.ScopeGPU} {
		c := power.Channel{Source: name, Scope: scope, Metric: power.MetricTemperature, Unit: "celsius", Refresh: tempEvery}
		if !h.seen[scope] {
			c.Missing, c.Note = power.ReasonNoChannel, "neither the SMC nor HID has a sensor for it"
			if m.smc == nil && m.hid == nil && m.noSMC != nil {
				c.Missing, c.Note = reasonOf(m.noSMC), m.noSMC.Error()
			}
		}
		out = append(out, c)
	}
	return out
}

// mean of the temperatures that can be true.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(celsius float64) {
	if celsius > coldest && celsius <= hottest {
		m.sum += celsius
		m.n++
	}
}

func (m *mean) addKeys(smc smcReader, keys []string) {
	for _, k := range keys {
		if v, err := smc.float(k); err == nil {
			m.add(v)
		}
	}
}

// gauge is a quantity that is read as one number: the machine's power, the
// thermal pressure.
type gauge struct {
	power.Channel
	read func() (float64, error)
	err  error // of the last reading
}

// gauges of a machine. The SMC's PSTR is what the machine draws behind its
// power supply, display and disks included, as smoothed by the firmware; a 0 is
// its way of saying that it has no reading.
func gauges(m *machine) []*gauge {
	system := &gauge{Channel: power.Channel{Source: name, Scope: power.ScopeSystem, Metric: power.MetricPower, Unit: "W"}, err: m.noSMC}
	if m.smc != nil {
		system.read = func() (float64, error) { return watts(m.smc) }
	}
	pressure := &gauge{Channel: power.Channel{Source: name, Metric: power.MetricPressure, Unit: "level"}, err: m.noPressure}
	if m.pressure != nil {
		pressure.read = func() (float64, error) {
			level, err := m.pressure()
			if err == nil && level > mostPressure {
				err = noReading(fmt.Sprintf("the system's thermal pressure is %d, which we don't know", level))
			}
			return float64(level), err
		}
	}
	return []*gauge{system, pressure}
}

func watts(smc smcReader) (float64, error) {
	w, err := smc.float("PSTR")
	switch {
	case err != nil:
		return 0, err
	case w == 0, math.IsNaN(w), math.IsInf(w, 0):
		return 0, noReading("the SMC's key PSTR has no reading at the moment")
	}
	return w, nil
}

func (g *gauge) sample(out []power.Sample) []power.Sample {
	if g.read == nil {
		return out
	}
	var v float64
	if v, g.err = g.read(); g.err != nil {
		return out
	}
	return append(out, power.Sample{Source: name, Scope: g.Scope, Metric: g.Metric, Unit: g.Unit, End: time.Now(), Value: v})
}

func (g *gauge) channel() power.Channel {
	c := g.Channel
	if g.err != nil {
		c.Missing, c.Note = reasonOf(g.err), g.err.Error()
	}
	return c
}
