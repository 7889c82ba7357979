// Package power knows sensors: what they read and when. It knows nothing of
// benchmarks.
//
// A [Source] is read again and again and answers with samples; each says on
// which node it was taken, of which part of it, and over what time. What a
// source can't read is missing from its samples, never 0.
package power

import (
	"context"
	"time"
)

// Sample is one reading of one sensor.
type Sample struct {
	Node   string // the machine, by the name that people know it by
	Source string // the Source that read it: "exo"
	Scope  Scope  // what part of the node it is about; empty where that is no question of power
	Metric string // "power", "temperature", "gpu_usage", …
	Unit   string // "W", "celsius", "ratio"
	// Start is zero for an instantaneous reading; else the value is the
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

// Source reads sensors.
type Source interface {
	// Name is what Sample.Source says.
	Name() string
	// Read takes one reading of all that can be read now. Readings that
	// failed are left out; the error says why none could be taken.
	Read(ctx context.Context) ([]Sample, error)
}
