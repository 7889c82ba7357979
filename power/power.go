// Package power knows sensors, curves and windows: what can be read on a
// machine, how the readings add up to energy, and how sure that is. It knows
// nothing of benchmarks.
//
//   - A [Source] is read again and again and answers with samples (power.go).
//     It says first which channels it can read, and why not the others.
//   - Samples of one channel make a curve of energy over time, whose value
//     between two instants is the energy, with the bounds of the truth: a
//     [Series] has the readings (reading.go), [NewCurve] sorts out the usable
//     ones (curve.go) and makes points of counters (counter.go) or of power
//     (watts.go), [Curve.Energy] is a [Window] (window.go).
//   - Windows of several nodes and scopes come together in [Sum] and [Widest]
//     (sum.go). exo-bench's own rule stands beside ours (exoclient.go).
//
// The sources are packages below this one. What a source can't read is
// missing from its samples, never 0.
package power

import (
	"context"
	"time"
)

// Sample is one reading of one sensor.
type Sample struct {
	Node   string // the machine, by the name that people know it by; empty: this one
	Source string // the Source that read it: "rapl"
	Scope  Scope  // the part of the node; empty where that is no question of power
	Metric Metric
	Unit   string
	// Start is zero for a reading of one instant; else the value is the
	// average from Start to End. Both carry a monotonic reading.
	Start, End time.Time
	Value      float64
}

// Scope is the part of a machine that a reading is about.
type Scope string

// The scopes. Scopes are never added unless one contains the other by
// definition.
const (
	ScopeGPU     Scope = "gpu"
	ScopeCPU     Scope = "cpu"
	ScopeDRAM    Scope = "dram"
	ScopeANE     Scope = "ane"
	ScopeSoC     Scope = "soc"
	ScopePackage Scope = "package"
	ScopeSystem  Scope = "system"
	ScopeWall    Scope = "wall"
)

// Metric is what a reading says. Others than these are free to be added.
type Metric string

// The metrics.
const (
	MetricEnergy       Metric = "energy"        // J since an origin of the sensor's own: a counter
	MetricPower        Metric = "power"         // W
	MetricTemperature  Metric = "temperature"   // celsius
	MetricUsage        Metric = "usage"         // ratio of time that was busy, 0–1
	MetricFrequency    Metric = "frequency"     // MHz while active
	MetricFrequencyMax Metric = "frequency_max" // MHz that the table has
	MetricPressure     Metric = "pressure"      // thermal pressure, level: 0 nominal to 4
)

// Channel is one quantity that a source can read, or can't.
type Channel struct {
	Node, Source string
	Scope        Scope
	Metric       Metric
	Unit         string
	Refresh      time.Duration // how often the sensor itself is renewed; 0: not known, or at each reading
	Range        float64       // value after which a counter begins at 0 again; 0: not known
	Stamped      bool          // readings carry the sensor's own stamps: a counter unchanged at a new one used nothing
	Devices      int           // how many devices' sum the readings are; 0: one
	Missing      Reason        // why it can't be read; empty: it can
	Note         string        // the same for people, and what to do about it, in one sentence
}

// Reason says why a figure is not known. The words are part of the interface.
type Reason string

// The reasons.
const (
	ReasonGap          Reason = "gap"           // a hole in the readings
	ReasonUncovered    Reason = "uncovered"     // the readings don't reach the window's edges
	ReasonFrozen       Reason = "frozen"        // the sensor is no longer renewed
	ReasonNoReading    Reason = "no_reading"    // it gave nothing
	ReasonCounterReset Reason = "counter_reset" // it began anew
	ReasonShortWindow  Reason = "short_window"  // shorter than half the sensor's refresh
	ReasonNodeMissing  Reason = "node_missing"  // one of several nodes has none
	ReasonMixedScopes  Reason = "mixed_scopes"  // nodes differ in what they measure
	ReasonConcurrent   Reason = "concurrent"    // phases of several requests overlap
	ReasonSudoNeeded   Reason = "sudo_needed"
	ReasonDenied       Reason = "denied" // no permission
	ReasonMasked       Reason = "masked" // hidden by a container
	ReasonNoChannel    Reason = "no_channel"
	ReasonVM           Reason = "vm" // virtual machines have no such sensor
	ReasonOff          Reason = "off"
)

// Source reads sensors.
type Source interface {
	// Name is what Sample.Source says.
	Name() string
	// Probe says what can be read, and of what can't, why. It may start
	// what Read needs.
	Probe(ctx context.Context) []Channel
	// Read returns what was read since it was last called, at least one
	// reading of each channel where it can read on demand. Readings that
	// failed are left out; the error says why none could be taken.
	Read(ctx context.Context) ([]Sample, error)
	// OnDemand reports whether Read reads at the instant of its call, in
	// milliseconds: then a reading can be had at the first token.
	OnDemand() bool
	// Close ends what Probe has started.
	Close() error
}
