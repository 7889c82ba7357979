// Package powermetrics reads Apple's powermetrics, which only root may run.
//
//   - [Source] runs it, by itself where this process is root's, else through
//     "sudo -n", which never asks for a password: without a rule that allows
//     it the channels are missing with sudo_needed (source.go).
//   - Its documents are split and read by a reader of our own (plist.go): the
//     gpu dictionary repeats keys, of which decoders into Go values keep the
//     last without a word, and they refuse a document for any part of it that
//     they can't read.
//   - A document's energies become power over the time that the document
//     itself states (parse.go, clock.go).
//
// Channels: power of cpu, gpu, ane and soc (their sum) in W, and where the
// system still tells them (macOS 12 and before, Intel) of dram and package;
// averages of about half a second. Usage and frequency of the GPU, its greatest
// frequency, and thermal pressure. Apple calls all of it an estimate.
//
// powermetrics is never left behind: its standard output is a pipe to this
// process, so at the latest its next document, half a second after this
// process is gone, ends it.
package powermetrics

import "tokwatt/power"

const name = "powermetrics"

// quantity is one channel and why it may be missing though powermetrics runs.
type quantity struct {
	scope  power.Scope
	metric power.Metric
	unit   string
	absent string
	rare   bool // only old systems have it: no channel where it is absent
}

var quantities = []quantity{
	{power.ScopeCPU, power.MetricPower, "W", "macOS gives no energy of the CPU: its counter stands still, or this is a virtual machine", false},
	{power.ScopeGPU, power.MetricPower, "W", "macOS gives no energy of the GPU", false},
	{power.ScopeANE, power.MetricPower, "W", "macOS gives no energy of the ANE", false},
	{power.ScopeSoC, power.MetricPower, "W", "one of CPU, GPU and ANE is missing from the sum", false},
	{power.ScopeDRAM, power.MetricPower, "W", "", true},
	{power.ScopePackage, power.MetricPower, "W", "", true},
	{power.ScopeGPU, power.MetricUsage, "ratio", "macOS says nothing of the GPU's usage", false},
	{power.ScopeGPU, power.MetricFrequency, "MHz", "the GPU rests, or macOS says nothing of its frequency", false},
	{power.ScopeGPU, power.MetricFrequencyMax, "MHz", "macOS says nothing of the GPU's frequencies", false},
	{"", power.MetricPressure, "level", "macOS says nothing of thermal pressure", false},
}

// channelsOf tells from samples what there is.
func channelsOf(samples []power.Sample) []power.Channel {
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
		c := power.Channel{Source: name, Scope: q.scope, Metric: q.metric, Unit: q.unit, Refresh: interval}
		there := seen[key{q.scope, q.metric}]
		if !there {
			c.Missing, c.Note = power.ReasonNoReading, q.absent
		}
		if there || !q.rare {
			channels = append(channels, c)
		}
	}
	return channels
}

// none is the answer where powermetrics says nothing at all.
func none(why power.Reason, note string) []power.Channel {
	channels := channelsOf(nil)
	for i := range channels {
		channels[i].Missing, channels[i].Note = why, note
	}
	return channels
}
