package ioreport

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tokwatt/power"
)

// The groups of channels that are read.
const (
	groupEnergy = "Energy Model"
	groupCPU    = "CPU Stats"
	groupGPU    = "GPU Stats"
	subgroupCPU = "CPU Core Performance States"
	subgroupGPU = "GPU Performance States"
)

// MetricSRAMEnergy is energy of the GPU's own memory, J since an origin of the
// sensor's own, in scope gpu. It is no part of that scope's MetricEnergy.
const MetricSRAMEnergy power.Metric = "sram_energy"

// railSpec is a rail and the names of its channels. The names are anchored,
// because Energy Model has hundreds of channels for single cores and units
// beside the sums. Of several patterns the first that any channel has counts.
type railSpec struct {
	scope    power.Scope
	metric   power.Metric
	patterns []*regexp.Regexp
	// neverStill: a machine that runs uses this energy, so that a counter
	// that stands still is broken.
	neverStill bool
}

// rails: Ultra chips have a channel for each die, by prefix for the CPU and by
// suffix for the others. "GPU" is for chips without "GPU Energy".
func rails() []railSpec {
	return []railSpec{
		{power.ScopeGPU, power.MetricEnergy, patterns(`^GPU Energy$`, `^GPU$`, `^GPU\d+$`), false},
		{power.ScopeCPU, power.MetricEnergy, patterns(`^(DIE_\d+_)?CPU Energy$`), true},
		{power.ScopeANE, power.MetricEnergy, patterns(`^ANE\d*(_\d+)?$`), false},
		{power.ScopeDRAM, power.MetricEnergy, patterns(`^DRAM\d*(_\d+)?$`), true},
		{power.ScopeGPU, MetricSRAMEnergy, patterns(`^GPU SRAM\d*(_\d+)?$`), false},
	}
}

func patterns(expressions ...string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, e := range expressions {
		out = append(out, regexp.MustCompile(e))
	}
	return out
}

// wanted reports whether a channel is any of those that are read.
func wanted(c channel, specs []railSpec) bool {
	switch {
	case c.group == groupEnergy:
		for _, spec := range specs {
			for _, p := range spec.patterns {
				if p.MatchString(c.name) {
					return true
				}
			}
		}
		return false
	case c.group == groupCPU && c.subgroup == subgroupCPU:
		return tierOf(c.name) != ""
	}
	return c.group == groupGPU && c.subgroup == subgroupGPU && c.name == gpuStates
}

// members are the channels that make a rail: those of the first pattern that
// any has, without those that are parts of others.
func (spec railSpec) members(channels []channel) []int {
	for _, p := range spec.patterns {
		var found []int
		for i, c := range channels {
			if c.group == groupEnergy && c.states == nil && p.MatchString(c.name) {
				found = append(found, i)
			}
		}
		if found != nil {
			return withoutParts(channels, found)
		}
	}
	return nil
}

// withoutParts drops a channel that is part of another one of them, as DRAM0_1
// is of DRAM0 and DIE_0_CPU Energy of CPU Energy: it is counted there.
func withoutParts(channels []channel, found []int) []int {
	names := map[string]bool{}
	for _, i := range found {
		names[channels[i].name] = true
	}
	return slices.DeleteFunc(found, func(i int) bool {
		for whole := channels[i].name; ; {
			at := partOf.FindStringIndex(whole)
			if at == nil {
				return false
			}
			whole = whole[:at[0]] + whole[at[1]:]
			if names[whole] {
				return true
			}
		}
	})
}

// partOf is what the name of a part has more than that of the whole.
var partOf = regexp.MustCompile(`^DIE_\d+_|_\d+$|\d+$`)

// joules is how many joules a count of a channel is. A unit that we don't know
// is an error: to guess would be a thousand times too much or too little.
func joules(unit string) (float64, error) {
	switch strings.TrimSpace(unit) {
	case "mJ":
		return 1e-3, nil
	case "uJ", "µJ":
		return 1e-6, nil
	case "nJ":
		return 1e-9, nil
	}
	return 0, fmt.Errorf("its unit %q is not one that we know", unit)
}

// gpuStates is the channel of the GPU's performance states.
const gpuStates = "GPUPH"

var coreName = regexp.MustCompile(`^(?:DIE_\d+_)?([EMP])CPU\d*(?:_CPU\d+)?$`)

// tierOf is the kind of CPU core that a channel is of, by the letter that
// Apple's names have: E efficiency, M performance beside super cores, P the
// fastest there are. Empty: it is of no core.
func tierOf(name string) string {
	m := coreName.FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	return m[1]
}

// idle reports whether a state is one in which nothing runs. They are known by
// name: which of them a chip has differs.
func idle(state string) bool { return state == "IDLE" || state == "DOWN" || state == "OFF" }
