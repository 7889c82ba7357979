package ioreport

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/power"
)

// chip is a machine by its names and tables, and what is read on it.
type chip struct {
	name  string
	mac   func() *mac
	watts map[power.Scope]float64 // of energy; a scope that isn't there has no channel
	other map[string]float64      // "scope metric"; 0: not known
}

func chips() []chip {
	simple := func(w float64) counterModel { return counterModel{joules: constant(w)} }
	return []chip{
		{
			name: "M1: no DRAM channel, Hz",
			mac: func() *mac {
				return newMac().counter("GPU Energy", "nJ", simple(9)).counter("CPU Energy", "mJ", simple(4)).counter("ANE", "mJ", simple(0)).
					counter("PCPU0", "mJ", simple(50)).counter("GPU0", "mJ", simple(50)).counter("ECPU Energy Total", "mJ", simple(50)).
					cores("ECPU0", []string{"IDLE", "V0P4", "V1P3"}, .5, .25, .25).cores("PCPU0", []string{"IDLE", "V0P1", "V1P0"}, 0, 0, 1).
					cores(gpuStates, []string{"OFF", "P1", "P2"}, .2, 0, .8).
					table("voltage-states1-sram", 600e6, 972e6).table("voltage-states5-sram", 600e6, 3204e6).table("voltage-states9", 0, 396e6, 1278e6)
			},
			watts: map[power.Scope]float64{power.ScopeGPU: 9, power.ScopeCPU: 4, power.ScopeANE: 0},
			other: map[string]float64{
				"cpu usage": .75, "cpu ecpu_usage": .5, "cpu ecpu_frequency": 786, "cpu pcpu_usage": 1, "cpu pcpu_frequency": 3204,
				"gpu usage": .8, "gpu frequency": 1278, "gpu frequency_max": 1278,
			},
		}, {
			name: "M2 Ultra: dies by prefix and suffix, summed",
			mac: func() *mac {
				m := newMac().counter("GPU Energy", "nJ", simple(60))
				for die := range 2 {
					m.counter(fmt.Sprintf("DIE_%d_CPU Energy", die), "mJ", simple(6)).counter(fmt.Sprintf("ANE0_%d", die), "mJ", simple(1)).
						counter(fmt.Sprintf("DRAM0_%d", die), "mJ", simple(3)).counter(fmt.Sprintf("GPU SRAM0_%d", die), "uJ ", simple(.25)).
						counter(fmt.Sprintf("DIE_%d_PCPU1_CPU0", die), "mJ", simple(70)).counter(fmt.Sprintf("DIE_%d_CPU SRAM", die), "mJ", simple(70)).
						cores(fmt.Sprintf("DIE_%d_PCPU1_CPU0", die), []string{"IDLE", "V0", "V1"}, .5, .5, 0)
				}
				return m.table("voltage-states5-sram", 660e6, 3504e6)
			},
			watts: map[power.Scope]float64{power.ScopeGPU: 60, power.ScopeCPU: 12, power.ScopeANE: 2, power.ScopeDRAM: 6},
			other: map[string]float64{"cpu usage": .5, "cpu pcpu_usage": .5, "cpu pcpu_frequency": 660, "gpu usage": 0, "gpu frequency": 0},
		}, {
			name: "M3: state DOWN",
			mac: func() *mac {
				return newMac().counter("GPU Energy", "nJ", simple(20)).counter("CPU Energy", "mJ", simple(5)).counter("DRAM", "mJ", simple(1)).
					cores("PCPU0", []string{"DOWN", "IDLE", "V0P1", "V1P0"}, .25, .25, .125, .375).
					table("voltage-states5-sram", 744e6, 4056e6)
			},
			watts: map[power.Scope]float64{power.ScopeGPU: 20, power.ScopeCPU: 5, power.ScopeDRAM: 1},
			other: map[string]float64{"cpu pcpu_usage": .5, "cpu pcpu_frequency": .25*744 + .75*4056, "cpu pcpu_frequency_max": 4056},
		}, {
			name: "M4: kHz for the CPU, Hz for the GPU",
			mac: func() *mac {
				return newMac().counter("GPU Energy", "nJ", simple(20)).counter("CPU Energy", "mJ", simple(5)).
					cores("ECPU0", []string{"DOWN", "IDLE", "V0", "V1"}, 0, 0, 0, 1).cores("PCPU0", []string{"DOWN", "IDLE", "V0", "V1"}, 0, 0, 0, 1).
					cores(gpuStates, []string{"OFF", "P1"}, .5, .5).
					table("voltage-states1-sram", 1020e3, 2592e3).table("voltage-states5-sram", 1260e3, 4464e3).table("voltage-states9", 0, 1578e6)
			},
			watts: map[power.Scope]float64{power.ScopeGPU: 20, power.ScopeCPU: 5},
			other: map[string]float64{"cpu usage": 1, "cpu ecpu_frequency": 2592, "cpu pcpu_frequency": 4464, "gpu usage": .5, "gpu frequency": 1578},
		}, {
			name: "M5 Max: clusters by acc-clusters; more GPU states than clocks",
			mac: func() *mac {
				m := newMac().counter("GPU Energy", "nJ", simple(70)).counter("CPU Energy", "mJ", simple(25)).counter("DRAM0", "mJ", simple(8)).
					cores("MCPU00", []string{"DOWN", "IDLE", "V0", "V1"}, 0, 0, 1, 0).cores("MCPU10", []string{"DOWN", "IDLE", "V0", "V1"}, 0, 0, 1, 0).
					cores("PCPU0", []string{"DOWN", "IDLE", "V0", "V1", "V2"}, 0, .5, 0, 0, .5).
					cores(gpuStates, []string{"OFF", "P1", "P2", "P3", "P4"}, .5, .5, 0, 0, 0).
					table("voltage-states22-sram", 1344e3, 4380e3).table("voltage-states23-sram", 1344e3, 4380e3).
					table("voltage-states5-sram", 1308e3, 2000e3, 4608e3).table("voltage-states9", 0, 338e6, 1620e6)
				m.tables["acc-clusters"] = []byte{22, 1, 0, 0, 0, 0, 0, 0, 23, 1, 0, 0, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 0, 0}
				return m
			},
			watts: map[power.Scope]float64{power.ScopeGPU: 70, power.ScopeCPU: 25, power.ScopeDRAM: 8},
			other: map[string]float64{
				"cpu mcpu_usage": 1, "cpu mcpu_frequency": 1344, "cpu pcpu_usage": .5, "cpu pcpu_frequency": 4608,
				"gpu usage": .5, "gpu frequency": 0, "gpu frequency_max": 1620,
			},
		},
	}
}

func TestChips(t *testing.T) {
	for _, c := range chips() {
		synctest.Test(t, func(t *testing.T) {
			s := c.mac().source()
			probed := s.Probe(t.Context())
			var got []power.Sample
			for range 5 {
				time.Sleep(250 * time.Millisecond)
				got = append(got, readAll(t, s)...)
			}
			for _, scope := range []power.Scope{power.ScopeGPU, power.ScopeCPU, power.ScopeANE, power.ScopeDRAM} {
				want, there := c.watts[scope]
				checkRail(t, c.name, all(got, scope, power.MetricEnergy), chans(probed, scope, power.MetricEnergy), want, there)
			}
			for what, want := range c.other {
				scope, metric, _ := strings.Cut(what, " ")
				found, ch := all(got, power.Scope(scope), power.Metric(metric)), chans(probed, power.Scope(scope), power.Metric(metric))
				switch n := len(found); {
				case want == 0 && (n > 0 || ch.Missing != power.ReasonNoChannel || ch.Note == ""):
					t.Errorf("%s: %s: %v, missing for %q (%s)", c.name, what, found, ch.Missing, ch.Note)
				case want != 0 && (n == 0 || ch.Missing != "" || !near(found[n-1].Value, want, 1e-4*want)):
					t.Errorf("%s: %s: %v, missing for %q; want %g", c.name, what, found, ch.Missing, want)
				}
			}
		})
	}
}

func readAll(t *testing.T, s *Source) []power.Sample {
	t.Helper()
	got, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func checkRail(t *testing.T, chip string, e []power.Sample, ch power.Channel, want float64, there bool) {
	t.Helper()
	if !there {
		if e != nil || ch.Missing != power.ReasonNoChannel || ch.Note == "" {
			t.Errorf("%s: %s has no channel: %v, missing for %q (%s)", chip, ch.Scope, e, ch.Missing, ch.Note)
		}
		return
	}
	if len(e) != 6 || ch.Missing != "" || ch.Refresh != 0 || !ch.Stamped {
		t.Fatalf("%s: %s: %d samples, want 6, of %+v", chip, ch.Scope, len(e), ch)
	}
	if w := (e[5].Value - e[0].Value) / e[5].End.Sub(e[0].End).Seconds(); !near(w, want, .003) {
		t.Errorf("%s: %s: %g W, want %g", chip, ch.Scope, w, want)
	}
}

// batching is an M1 Ultra whose drivers publish every 2.1 s, in parts, each die
// by itself, while the GPU is renewed by each reading.
func batching() *mac {
	swell := func(watts float64) func(time.Duration) float64 { // 0 to 2 × watts and back in 8 s
		return func(t time.Duration) float64 {
			x := t.Seconds() * math.Pi / 4
			return watts * (x - math.Sin(x)) * 4 / math.Pi
		}
	}
	// Two unequal publications, the first with a tail 20 ms later.
	uneven := func(now time.Duration) (time.Duration, bool) {
		base := now / batch * batch
		for _, at := range []time.Duration{1300, 20} {
			if now-base >= at*time.Millisecond {
				return base + at*time.Millisecond, true
			}
		}
		return base, true
	}
	m := newMac().counter("GPU Energy", "nJ", counterModel{joules: swell(40)})
	for die := range 2 {
		m.counter(fmt.Sprintf("DIE_%d_CPU Energy", die), "mJ", counterModel{joules: swell(8), publish: uneven})
		m.counter(fmt.Sprintf("DRAM0_%d", die), "mJ", counterModel{joules: swell(3), publish: batches(time.Duration(die) * 3 * time.Millisecond)})
	}
	for i := range 310 {
		m.counter(fmt.Sprintf("DTL%d", i), "mJ", counterModel{joules: constant(9)})
	}
	return m
}

func TestMacOS27(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := batching()
		s := m.source()
		s.Probe(t.Context())
		origin := time.Now()
		var got []power.Sample
		for range 80 {
			time.Sleep(time.Duration(200+rand.IntN(100)) * time.Millisecond)
			got = append(append(got, readAll(t, s)...), readAll(t, s)...) // again at once, as at a first token
		}
		probed := s.Probe(t.Context())
		for scope, names := range map[power.Scope][]string{
			power.ScopeGPU: {"GPU Energy"}, power.ScopeCPU: {"DIE_0_CPU Energy", "DIE_1_CPU Energy"}, power.ScopeDRAM: {"DRAM0_0", "DRAM0_1"},
		} {
			e := all(got, scope, power.MetricEnergy)
			for _, p := range e {
				// Counts are whole; of DRAM, 3 ms of one die are interpolated.
				if want := m.truth(p.End, names...); !near(p.Value, want, .003+.003*6) {
					t.Errorf("%s: %g J at %v, truth %g", scope, p.Value, p.End.Sub(origin), want)
				}
			}
			ch := chans(probed, scope, power.MetricEnergy)
			if own := scope != power.ScopeGPU; (ch.Refresh > time.Second) != own || (len(e) > 150) == own || !ch.Stamped || ch.Missing != "" {
				t.Errorf("%s: %d samples, %+v", scope, len(e), ch)
			}
			windows(t, power.Series{Channel: ch, Readings: power.SeriesOf(nil, e, origin)[0].Readings}, m, origin, names)
		}
	})
}

// windows checks that the truth of random windows is inside their bounds.
func windows(t *testing.T, series power.Series, m *mac, origin time.Time, names []string) {
	t.Helper()
	curve, known := series.Curve(250*time.Millisecond), 0
	for range 300 {
		from := time.Duration(rand.Int64N(int64(12 * time.Second)))
		to := from + time.Duration(rand.Int64N(int64(7*time.Second)))
		w := curve.Energy(int64(from), int64(to))
		if w.LowJ == nil || w.Indicative {
			continue
		}
		known++
		truth := m.truth(origin.Add(to), names...) - m.truth(origin.Add(from), names...)
		if slack := .02 * float64(len(names)); truth < *w.LowJ-slack || truth > *w.HighJ+slack {
			t.Errorf("%s from %v to %v: %g J is not in %g to %g", series.Channel.Scope, from, to, truth, *w.LowJ, *w.HighJ)
		}
	}
	if known < 100 {
		t.Errorf("%s: only %d windows of 300 have bounds", series.Channel.Scope, known)
	}
}

// TestFirstToken: two readings 5 ms apart give two points of the GPU's energy.
func TestFirstToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMac().counter("GPU Energy", "nJ", counterModel{joules: constant(50)}).cores(gpuStates, []string{"OFF", "P1"}, .5, .5).source()
		for i := range 3 {
			got, err := s.Read(t.Context())
			if n := len(all(got, power.ScopeGPU, power.MetricEnergy)); err != nil || n != 1 {
				t.Errorf("reading %d: %d points, %v", i, n, err)
			}
			if u := all(got, power.ScopeGPU, power.MetricUsage); u != nil {
				t.Errorf("utilisation of 5 ms: %v", u)
			}
		}
	})
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newMac().source().Read(ctx); err == nil {
		t.Error("a cancelled reading reads")
	}
}
