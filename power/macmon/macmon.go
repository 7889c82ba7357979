// Package macmon reads macmon, which knows an Apple chip's power without root
// (github.com/vladkens/macmon, versions 0.4 to 0.8.2).
//
//   - [Pipe] runs "macmon pipe", which prints an object each interval
//     (pipe.go).
//   - [Serve] asks a running "macmon serve", version 0.7 and later (serve.go).
//   - What an object says, and when what it says is no reading, is the same
//     for both (parse.go).
//
// Channels: power of cpu, gpu, ane, dram and soc in W, averages of an interval;
// power of the system in W, a reading of an instant; usage and frequency of the
// GPU, usage of the CPU, temperatures of both.
//
// soc is CPU, GPU and ANE, without memory. system is what the machine's own
// sensor says, behind the power supply; it contains all others. macmon prints
// the greater of the two as system power: where they are equal there is no
// reading of the system.
package macmon

import "tokwatt/power"

const name = "macmon"

// MetricScaledUsage is the busy ratio times the frequency over the greatest
// frequency, 0–1, so never more than [power.MetricUsage]. It is all that
// versions before 0.8 say of usage.
const MetricScaledUsage power.Metric = "usage_scaled"

// quantity is one channel and why it may be missing though macmon runs.
type quantity struct {
	scope  power.Scope
	metric power.Metric
	unit   string
	absent string
}

var quantities = []quantity{
	{power.ScopeCPU, power.MetricPower, "W", "macOS gives no energy of the CPU: its counters stand still"},
	{power.ScopeGPU, power.MetricPower, "W", "macOS gives no energy of the GPU"},
	{power.ScopeANE, power.MetricPower, "W", "macOS gives no energy of the ANE: its counters stand still"},
	{power.ScopeDRAM, power.MetricPower, "W", "this chip (M1), this macmon (before 0.4.2) or this macOS gives no energy of the memory"},
	{power.ScopeSoC, power.MetricPower, "W", "without the CPU's energy there is no sum"},
	{power.ScopeSystem, power.MetricPower, "W", "the machine's power sensor can't be read, or says no more than the chip alone"},
	{power.ScopeCPU, power.MetricUsage, "ratio", "this macmon is older than 0.8"},
	{power.ScopeGPU, power.MetricUsage, "ratio", "this macmon is older than 0.8"},
	{power.ScopeGPU, MetricScaledUsage, "ratio", "macmon says nothing of the GPU's usage"},
	{power.ScopeGPU, power.MetricFrequency, "MHz", "macmon says nothing of the GPU's frequency"},
	{power.ScopeCPU, power.MetricTemperature, "celsius", "no sensor of the CPU's temperature can be read"},
	{power.ScopeGPU, power.MetricTemperature, "celsius", "no sensor of the GPU's temperature can be read"},
}

// channelsOf tells from samples what there is.
// Refresh is left to the caller.
func channelsOf(node string, samples []power.Sample) []power.Channel {
	type key struct {
		scope  power.Scope
		metric power.Metric
	}
	seen := map[key]bool{}
	for _, x := range samples {
		seen[key{x.Scope, x.Metric}] = true
	}
	var channels []power.Channel
	for _, q := range quantities {
		c := power.Channel{Node: node, Source: name, Scope: q.scope, Metric: q.metric, Unit: q.unit}
		if !seen[key{q.scope, q.metric}] {
			c.Missing, c.Note = power.ReasonNoReading, q.absent
		}
		channels = append(channels, c)
	}
	return channels
}

// none is the answer where macmon says nothing at all.
func none(node string, why power.Reason, note string) []power.Channel {
	var channels []power.Channel
	for _, q := range quantities {
		if q.metric == power.MetricPower {
			channels = append(channels, power.Channel{Node: node, Source: name, Scope: q.scope, Metric: q.metric, Unit: q.unit, Missing: why, Note: note})
		}
	}
	return channels
}
