package ioreport

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/power"
)

type hidTable []temperature

func (h hidTable) temperatures() ([]temperature, error) {
	if h == nil {
		return nil, errors.New("gone")
	}
	return h, nil
}

// TestSystemPower: a reading is PSTR's and of an instant; 0 is none.
func TestSystemPower(t *testing.T) {
	for _, c := range []struct {
		pstr   float64
		reason power.Reason
	}{{62.5, ""}, {-3, ""}, {0, power.ReasonNoReading}, {math.NaN(), power.ReasonNoReading}, {math.Inf(1), power.ReasonNoReading}} {
		m := newMac().counter("GPU Energy", "nJ", counterModel{joules: constant(1)})
		m.smcKeys = map[string]float64{"PSTR": c.pstr}
		s := m.source()
		ch := chans(s.Probe(t.Context()), power.ScopeSystem, power.MetricPower)
		got := all(readAll(t, s), power.ScopeSystem, power.MetricPower)
		if ch.Missing != c.reason || (len(got) > 0) != (c.reason == "") {
			t.Errorf("PSTR %g: missing for %q, %v", c.pstr, ch.Missing, got)
		}
		if len(got) > 0 && (got[0].Value != c.pstr || !got[0].Start.IsZero() || got[0].Unit != "W") {
			t.Errorf("PSTR %g: %+v", c.pstr, got[0])
		}
	}
}

func TestTemperatures(t *testing.T) {
	for _, c := range []struct {
		name     string
		keys     map[string]float64
		hid      hidTable
		cpu, gpu float64 // 0: missing
	}{
		{"SMC", map[string]float64{"Tp01": 60, "Tp0A": 70, "Te05": 50, "Tg0G": 40, "Ts0P": 20, "TB1T": 20}, hidTable{{"pACC MTR Temp Sensor0", 99}}, 60, 40},
		{"sensors that are none", map[string]float64{"Tp01": 60, "Tp02": 0, "Tp03": 5, "Tp04": 151, "Tp05": -8, "Tg0G": 5}, nil, 60, 0},
		{"HID where the SMC has none", map[string]float64{"PSTR": 3}, hidTable{{"pACC MTR Temp Sensor0", 50}, {"eACC MTR Temp Sensor1", 40}, {"GPU MTR Temp Sensor1", 30}, {"gas gauge battery", 25}}, 45, 30},
		{"HID that fails", nil, nil, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMac()
			m.smcKeys = c.keys
			s := m.source()
			open := s.open
			s.open = func() (*machine, error) { out, err := open(); out.hid = c.hid; return out, err }
			probed := s.Probe(t.Context())
			got := readAll(t, s)
			time.Sleep(500 * time.Millisecond)
			got = append(got, readAll(t, s)...)
			time.Sleep(600 * time.Millisecond)
			got = append(got, readAll(t, s)...)
			for scope, want := range map[power.Scope]float64{power.ScopeCPU: c.cpu, power.ScopeGPU: c.gpu} {
				ts, ch := all(got, scope, power.MetricTemperature), chans(probed, scope, power.MetricTemperature)
				if (want == 0) != (ch.Missing == power.ReasonNoChannel) || ch.Refresh != time.Second {
					t.Errorf("%s: %s: %+v", c.name, scope, ch)
				}
				if want == 0 && ts != nil || want != 0 && (len(ts) != 2 || ts[0].Value != want) {
					t.Errorf("%s: %s: %v, want %g once a second", c.name, scope, ts, want)
				}
			}
		})
	}
}

func TestPressure(t *testing.T) {
	for level, reason := range map[uint64]power.Reason{0: "", 4: "", 5: power.ReasonNoReading, broken: power.ReasonNoChannel} {
		m := newMac()
		m.level = level
		s := m.source()
		ch := chans(s.Probe(t.Context()), "", power.MetricPressure)
		got, _ := s.Read(t.Context())
		p := all(got, "", power.MetricPressure)
		if ch.Missing != reason || (len(p) > 0) != (reason == "") || len(p) > 0 && p[0].Value != float64(level) {
			t.Errorf("level %d: %v, missing for %q", level, p, ch.Missing)
		}
	}
}

// TestVirtualMachine: nothing is there, and it says why; nothing is 0.
func TestVirtualMachine(t *testing.T) {
	m := newMac()
	m.virtual, m.level = true, broken
	s := m.source()
	list := s.Probe(t.Context())
	for _, c := range list {
		if c.Missing != power.ReasonVM || c.Note == "" {
			t.Errorf("%s %s: missing for %q (%s)", c.Scope, c.Metric, c.Missing, c.Note)
		}
	}
	if got, err := s.Read(t.Context()); err == nil || got != nil || len(list) < 10 {
		t.Errorf("%d channels; reads %v, %v", len(list), got, err)
	}
}

// TestLostReports: IOReport that fails for a while is no reading, the rest is
// read on; other channels than before begin anew.
func TestLostReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMac().counter("GPU Energy", "nJ", counterModel{joules: constant(1)}).cores(gpuStates, []string{"OFF", "P1"}, .5, .5)
		s := m.source()
		s.Probe(t.Context())
		m.down = true
		if got := readAll(t, s); len(all(got, power.ScopeGPU, power.MetricEnergy)) != 1 {
			t.Errorf("what Probe read: %v", got)
		}
		probed := s.Probe(t.Context())
		for _, metric := range []power.Metric{power.MetricEnergy, power.MetricUsage} {
			if c := chans(probed, power.ScopeGPU, metric); c.Missing != power.ReasonNoReading {
				t.Errorf("%s is missing for %q", metric, c.Missing)
			}
		}
		m.down, m.changed = false, 2
		m.counter("DRAM", "mJ", counterModel{joules: constant(2)})
		time.Sleep(time.Second)
		if got := readAll(t, s); len(all(got, power.ScopeDRAM, power.MetricEnergy)) != 1 || all(got, power.ScopeGPU, power.MetricUsage) != nil {
			t.Errorf("after the change: %v", got)
		}
	})
}

// TestOpenFails: a machine without any of the libraries.
func TestOpenFails(t *testing.T) {
	s := newSource(func() (*machine, error) { return nil, noChannel("no library") })
	list := s.Probe(t.Context())
	for _, c := range list {
		if c.Missing != power.ReasonNoChannel || c.Note != "no library" || c.Source != s.Name() || c.Unit == "" {
			t.Errorf("%+v", c)
		}
	}
	if _, err := s.Read(t.Context()); err == nil || len(list) < 10 {
		t.Errorf("%d channels, %v", len(list), err)
	}
	if err := s.Close(); err != nil || !s.OnDemand() {
		t.Error(err)
	}
}
