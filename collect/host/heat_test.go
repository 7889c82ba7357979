package host

import (
	"testing"
	"testing/fstest"
)

func TestTherm(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		limit     *float64
		throttled *bool
	}{
		"nothing": {"", nil, nil},
		"apple": {"Note: No thermal warning level has been recorded\nNote: No performance warning level has been recorded\n" +
			"Note: No CPU power status has been recorded\n", nil, nil},
		"full speed": {"2026-07-01 12:00:00 +0200 CPU Power notify\n\tCPU_Scheduler_Limit \t= 100\n\tCPU_Available_CPUs \t= 12\n\tCPU_Speed_Limit \t= 100\n", ptr(100.0), ptr(false)},
		"slowed":     {"CPU Power notify\n\tCPU_Scheduler_Limit \t= 100\n\tCPU_Speed_Limit \t= 61\n", ptr(61.0), ptr(true)},
		"warned":     {"Thermal Warning Level = 5\nNote: No CPU power status has been recorded\n", nil, ptr(true)},
		"normal":     {"Thermal Warning Level = 0\nPerformance Warning Level = 0\n", nil, ptr(false)},
		"unknown":    {"Thermal Warning Level = 255\n", nil, nil},
		"both":       {"Thermal Warning Level = 0\n\tCPU_Speed_Limit \t= 80\n", ptr(80.0), ptr(true)},
		"odd":        {"\tCPU_Speed_Limit \t= 1000\n\tCPU_Speed_Limit \t= -3\n\tCPU_Speed_Limit_x = 7\n", nil, nil},
	} {
		h := parseTherm(c.text)
		if !equal(h.SpeedLimitPct, c.limit) || !equal(h.Throttled, c.throttled) {
			t.Errorf("%s: limit %v, throttled %v", name, text(h.SpeedLimitPct), text(h.Throttled))
		}
	}
}

func FuzzTherm(f *testing.F) {
	f.Add("\tCPU_Speed_Limit \t= 61\nThermal Warning Level = 5\n")
	f.Fuzz(func(t *testing.T, s string) {
		h := parseTherm(s)
		if p := h.SpeedLimitPct; p != nil && (!(*p >= 0 && *p <= 100) || h.Throttled == nil) {
			t.Errorf("%q: a limit of %v", s, *p)
		}
	})
}

// TestThrottleCounters: a counter that rises is heat, since the last time it
// was asked; none at all is not known.
func TestThrottleCounters(t *testing.T) {
	const core, pkg = "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"
	root := fstest.MapFS{}
	set := func(name, text string) { root[name] = &fstest.MapFile{Data: []byte(text)} }
	h := &throttling{linux: linux{root}}
	expect := func(what string, want *bool) {
		t.Helper()
		if got := h.heat(); !equal(got.Throttled, want) || got.SpeedLimitPct != nil {
			t.Errorf("%s: %v, want %v", what, text(got.Throttled), text(want))
		}
	}
	set("sys/devices/system/cpu/online", "0-1")
	expect("no counters", nil)
	expect("no counters, again", nil)
	set(core, "7\n")
	expect("counters that are new", ptr(false))
	set(pkg, "1\n")
	expect("one more that is new", ptr(false))
	set(core, "8\n")
	expect("the core's rises", ptr(true))
	expect("it stays", ptr(false))
	set(pkg, "12\n")
	expect("the package's rises", ptr(true))
	set(core, "0\n")
	expect("it starts anew", ptr(false))
	set(core, "x\n")
	expect("it can't be read", ptr(false))
	first := &throttling{linux: linux{root}}
	if got := first.heat(); got.Throttled != nil {
		t.Errorf("the first answer is %v", *got.Throttled)
	}
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func text[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
