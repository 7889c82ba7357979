package ioreport

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/power"
)

// TestFaults: what drivers do wrong, 15 s long, beside a GPU that works.
func TestFaults(t *testing.T) {
	const start = time.Hour
	five := constant(5)
	for _, c := range []struct {
		name    string
		cpu     counterModel
		unit    string
		missing power.Reason // at the end; empty: it is there
		atOnce  bool         // and known when it is first probed
		watts   float64      // between the first and the last sample; 0: there are no samples
		ours    bool         // timed by our readings, since the stamps are useless
		note    string       // what the channel's note has
	}{
		{name: "works", cpu: counterModel{joules: five}, watts: 5},
		{name: "stamps and value frozen long ago", cpu: counterModel{joules: five, publish: func(time.Duration) (time.Duration, bool) { return start / 2, true }}, missing: power.ReasonFrozen, atOnce: true, note: "10 s"},
		{name: "frozen after 3 s", cpu: counterModel{joules: five, publish: func(t time.Duration) (time.Duration, bool) {
			return min(t, start+3*time.Second), t > start+3*time.Second
		}}, missing: power.ReasonFrozen, watts: 5},
		{name: "always 0 at new stamps", cpu: counterModel{joules: constant(0)}, missing: power.ReasonFrozen, atOnce: true, note: "stands still"},
		{name: "stands still at new stamps", cpu: counterModel{joules: func(time.Duration) float64 { return 77 }}, missing: power.ReasonFrozen, watts: once},
		{name: "no stamps", cpu: counterModel{joules: five, distort: func(_ time.Duration, r reading) reading { r.stamp = 0; return r }}, watts: 5, ours: true},
		{name: "stamps stand still, values move", cpu: counterModel{joules: five, distort: func(_ time.Duration, r reading) reading { r.stamp = tick(start); return r }}, watts: 5, ours: true},
		{name: "stamps an hour ahead", cpu: counterModel{joules: five, distort: func(_ time.Duration, r reading) reading { r.stamp += tick(time.Hour); return r }}, watts: 5, ours: true},
		{name: "no value", cpu: counterModel{joules: five, distort: func(_ time.Duration, r reading) reading { r.count = invalid; return r }}, missing: power.ReasonNoReading, atOnce: true},
		{name: "unknown unit", cpu: counterModel{joules: five}, unit: "kWh", missing: power.ReasonNoChannel, atOnce: true, note: `"kWh"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			unit := "mJ"
			if c.unit != "" {
				unit = c.unit
			}
			s := newMac().counter("GPU Energy", "nJ", counterModel{joules: constant(30)}).counter("CPU Energy", unit, c.cpu).source()
			if ch := chans(s.Probe(t.Context()), power.ScopeCPU, power.MetricEnergy); (ch.Missing != "") != c.atOnce {
				t.Errorf("%s: at once: missing for %q", c.name, ch.Missing)
			}
			var got []power.Sample
			for range 60 {
				time.Sleep(250 * time.Millisecond)
				got = append(got, readAll(t, s)...)
			}
			ch := chans(s.Probe(t.Context()), power.ScopeCPU, power.MetricEnergy)
			if ch.Missing != c.missing || !strings.Contains(ch.Note, c.note) || (ch.Note == "") != (c.missing == "") {
				t.Errorf("%s: missing for %q (%s), want %q", c.name, ch.Missing, ch.Note, c.missing)
			}
			if c.missing == "" && ch.Stamped == c.ours {
				t.Errorf("%s: stamped %t", c.name, ch.Stamped)
			}
			checkSpan(t, c.name, all(got, power.ScopeCPU, power.MetricEnergy), c.watts)
			checkSpan(t, c.name, all(got, power.ScopeGPU, power.MetricEnergy), 30)
		})
	}
}

// once: there is one sample, before it was known that there is nothing to read.
const once = -1

// checkSpan: mean power from the first sample to the last, and time that goes
// forwards. 0 W is none.
func checkSpan(t *testing.T, name string, e []power.Sample, watts float64) {
	t.Helper()
	if watts == 0 || watts == once {
		if want := -int(watts); len(e) != want {
			t.Errorf("%s: %d samples, want %d", name, len(e), want)
		}
		return
	}
	if len(e) < 2 {
		t.Errorf("%s: %d samples", name, len(e))
		return
	}
	first, last := e[0], e[len(e)-1]
	for i := range e[1:] {
		if !e[i+1].End.After(e[i].End) {
			t.Errorf("%s: %v comes after %v", name, e[i+1].End, e[i].End)
		}
	}
	if w := (last.Value - first.Value) / last.End.Sub(first.End).Seconds(); !near(w, watts, .002*watts) {
		t.Errorf("%s: %g W, want %g", name, w, watts)
	}
}

// TestSwitchToObserving: when stamps turn out to be useless, the counter is
// shown where it stood at the reading before, not at its false stamp.
func TestSwitchToObserving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMac().counter("CPU Energy", "mJ", counterModel{joules: constant(5), distort: func(_ time.Duration, r reading) reading {
			r.stamp = tick(time.Hour - 9*time.Second)
			return r
		}})
		s := m.source()
		s.Probe(t.Context())
		before := time.Now()
		time.Sleep(time.Second)
		e := all(readAll(t, s), power.ScopeCPU, power.MetricEnergy)
		if len(e) != 2 && len(e) != 3 {
			t.Fatalf("%d samples: %v", len(e), e)
		}
		e = e[len(e)-2:]
		if got := e[0].End; got.Before(before.Add(-5*time.Millisecond)) || got.After(before) || !near(e[1].Value-e[0].Value, 5, .03) {
			t.Errorf("%g J at %v, %g J at %v; the reading before was at %v", e[0].Value, got, e[1].Value, e[1].End, before)
		}
	})
}

// TestCounterReset: a counter that begins anew is given out as it is, and
// nothing is interpolated across.
func TestCounterReset(t *testing.T) {
	channels := []channel{{group: groupEnergy, name: "DIE_0_CPU Energy", unit: "mJ"}, {group: groupEnergy, name: "DIE_1_CPU Energy", unit: "mJ"}}
	r := newRail(rails()[1], channels)
	var out []point
	for i, c := range [][4]uint64{ // count and stamp of each die
		{1000, 100, 2000, 100}, {1100, 200, 2100, 200}, {5, 300, 2200, 290}, {10, 400, 2300, 390}, {20, 500, 2400, 500},
	} {
		at := uint64(i+1) * 100
		s := &snapshot{channels: channels, began: at, ended: at, ticks: timebase{125, 3},
			readings: []reading{{count: int64(c[0]), stamp: c[1]}, {count: int64(c[2]), stamp: c[3]}}}
		out = r.take(s, out)
	}
	want := []point{{100, 3}, {200, 3.2}, {390, 2.30975}, {500, 2.42}}
	if len(out) != len(want) {
		t.Fatalf("%v, want %v", out, want)
	}
	for i := range want {
		if out[i].tick != want[i].tick || !near(out[i].joules, want[i].joules, 1e-3) {
			t.Errorf("point %d: %v, want %v", i, out[i], want[i])
		}
	}
}

func TestRailNames(t *testing.T) {
	for _, c := range []struct {
		rail  int
		names []string
		want  []int
	}{
		{0, []string{"GPU", "GPU Energy", "GPU0", "GPU0_0", "GPU SRAM"}, []int{1}},
		{0, []string{"GPU0_0", "GPU", "GPU0"}, []int{1}},
		{0, []string{"GPU0", "GPU1", "GPU0_0"}, []int{0, 1}},
		{0, []string{"GPU Energy Total", "My GPU Energy"}, nil},
		{1, []string{"CPU Energy"}, []int{0}},
		{1, []string{"DIE_0_CPU Energy", "DIE_1_CPU Energy", "PCPU Energy", "ECPU Energy"}, []int{0, 1}},
		{1, []string{"DIE_0_CPU Energy", "CPU Energy", "DIE_1_CPU Energy"}, []int{1}},
		{2, []string{"ANE0_0", "ANE0_1", "ANE0_SRAM", "ANECPU"}, []int{0, 1}},
		{3, []string{"DRAM0", "DRAM0_0", "DRAM0_1", "DRAM10"}, []int{0, 3}},
		{3, []string{"DRAM", "DRAM0", "DRAMX"}, []int{0}},
		{4, []string{"GPU SRAM0_0", "GPU SRAM0_1", "GPU SRAM DISP"}, []int{0, 1}},
	} {
		var channels []channel
		for _, n := range c.names {
			channels = append(channels, channel{group: groupEnergy, name: n, unit: "mJ"})
		}
		got := rails()[c.rail].members(channels)
		if len(got) != len(c.want) {
			t.Errorf("%v: %v, want %v", c.names, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] || !wanted(channels[got[i]], rails()) {
				t.Errorf("%v: %v, want %v, all of them subscribed to", c.names, got, c.want)
			}
		}
	}
	for _, c := range []channel{
		{group: groupEnergy, name: "PCPU0"}, {group: groupCPU, subgroup: "CPU Complex Performance States", name: "ECPU"},
		{group: groupCPU, subgroup: subgroupCPU, name: "ECPM"}, {group: groupGPU, subgroup: subgroupGPU, name: "BSTGPUPH"}, {group: "PMP", name: "GPU Energy"},
	} {
		if wanted(c, rails()) {
			t.Errorf("%+v is subscribed to", c)
		}
	}
}

func TestTimebase(t *testing.T) {
	base := timebase{125, 3}
	for _, c := range []struct {
		a, b uint64
		want time.Duration
	}{{0, 24, time.Microsecond}, {24_000_000, 0, -time.Second}, {0, 24_000_000 * 86400 * 3650, 3650 * 24 * time.Hour}, {0, math.MaxUint64, math.MaxInt64}} {
		if got := base.between(c.a, c.b); got != c.want {
			t.Errorf("from %d to %d: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if got := (timebase{}).between(0, 1); got != math.MaxInt64 {
		t.Errorf("without a timebase: %v", got)
	}
}

// TestRefresh: how often a rail is renewed that its driver publishes when it
// likes: as long as nothing was seen, what is known of them; then what was
// seen, but not between readings too far apart to tell.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		every := func(now time.Duration) (time.Duration, bool) {
			return now / (1500 * time.Millisecond) * 1500 * time.Millisecond, true
		}
		s := newMac().counter("CPU Energy", "mJ", counterModel{joules: constant(5), publish: every}).source()
		time.Sleep(700 * time.Millisecond)
		refresh := func() time.Duration { return chans(s.Probe(t.Context()), power.ScopeCPU, power.MetricEnergy).Refresh }
		if got := refresh(); got != batch {
			t.Errorf("at first: %v, want %v", got, batch)
		}
		for range 3 {
			time.Sleep(6 * time.Second)
			readAll(t, s)
		}
		if got := refresh(); got != batch {
			t.Errorf("read every 6 s: %v, want %v", got, batch)
		}
		for range 16 {
			time.Sleep(250 * time.Millisecond)
			readAll(t, s)
		}
		if got := refresh(); got != 1500*time.Millisecond {
			t.Errorf("read every 250 ms: %v, want 1.5 s", got)
		}
	})
}

// TestStates: residencies that fall or stand still are no figures.
func TestStates(t *testing.T) {
	channels := []channel{{group: groupGPU, subgroup: subgroupGPU, name: gpuStates, states: []string{"OFF", "P1"}}}
	m := meters(channels, nil)[0]
	now := time.Now()
	for i, c := range []struct {
		states  []int64
		usage   float64 // 0: none
		missing power.Reason
	}{
		{[]int64{50, 50}, 0, ""},
		{[]int64{60, 80}, .75, ""},
		{[]int64{90, 70}, 0, ""}, // P1 began anew
		{[]int64{91, 71}, .5, ""},
		{[]int64{91, 71}, 0, ""},
		{[]int64{91, 71}, 0, power.ReasonFrozen},
		{[]int64{92, 71}, -1, ""},
	} {
		now = now.Add(6 * time.Second)
		s := &snapshot{channels: channels, readings: []reading{{states: c.states}}, at: now}
		span, ok := m.take(s)
		if want := c.usage != 0; ok != want || ok && !near(span.usage(), max(0, c.usage), 1e-9) {
			t.Errorf("snapshot %d: %+v, %t; want %g", i, span, ok, c.usage)
		}
		if got := m.channels(now)[0].Missing; got != c.missing {
			t.Errorf("snapshot %d: missing for %q, want %q", i, got, c.missing)
		}
	}
}
