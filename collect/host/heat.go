package host

import (
	"io/fs"
	"regexp"
	"strconv"

	"tokwatt/collect"
)

var (
	speedLimit   = regexp.MustCompile(`(?m)^\s*CPU_Speed_Limit\s*=\s*(\d+)\s*$`)
	warningLevel = regexp.MustCompile(`(?m)^\s*(?:Thermal|Performance) Warning Level\s*=\s*(\d+)\s*$`)
)

// The levels of IOKit's thermal and performance warnings.
const (
	levelNormal  = 0
	levelUnknown = 255
)

// parseTherm reads "pmset -g therm". A Mac with an Intel processor has a speed
// limit; one with Apple silicon says for the most part that nothing was
// recorded, which tells nothing: its clocks fall without a word.
func parseTherm(pmset string) collect.Heat {
	var h collect.Heat
	if m := speedLimit.FindStringSubmatch(pmset); m != nil {
		if pct, err := strconv.ParseFloat(m[1], 64); err == nil && pct <= 100 {
			throttled := pct < 100
			h.SpeedLimitPct, h.Throttled = &pct, &throttled
		}
	}
	for _, m := range warningLevel.FindAllStringSubmatch(pmset, -1) {
		level, err := strconv.Atoi(m[1])
		if err != nil || level == levelUnknown {
			continue
		}
		throttled := level != levelNormal || h.Throttled != nil && *h.Throttled
		h.Throttled = &throttled
	}
	return h
}

// throttleCounts are the times that the processor slowed itself, counted since
// boot by core and by package; empty where the kernel counts none.
func (l linux) throttleCounts() map[string]int64 {
	counts := map[string]int64{}
	for _, of := range []string{"core_throttle_count", "package_throttle_count"} {
		files, err := fs.Glob(l.root, "sys/devices/system/cpu/cpu*/thermal_throttle/"+of)
		if err != nil {
			continue
		}
		for _, at := range files {
			if n := number(l.read(at)); n != nil {
				counts[at] = *n
			}
		}
	}
	return counts
}

// throttling tells of rising counters. Each call is about the time since the
// one before, so the first tells nothing.
type throttling struct {
	linux
	last map[string]int64
}

func (t *throttling) heat() collect.Heat {
	now := t.throttleCounts()
	last := t.last
	t.last = now
	if len(now) == 0 || last == nil {
		return collect.Heat{}
	}
	risen := false
	for at, n := range now {
		before, known := last[at]
		risen = risen || known && n > before
	}
	return collect.Heat{Throttled: &risen}
}
