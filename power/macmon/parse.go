package macmon

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"tokwatt/power"
)

// object is what macmon prints, as far as it is used. Names of power have been
// the same since 0.4.2; a pointer is nil where a version does not know it.
type object struct {
	Temp struct {
		CPU *float64 `json:"cpu_temp_avg"` // celsius
		GPU *float64 `json:"gpu_temp_avg"`
	} `json:"temp"`
	CPUPower *float64 `json:"cpu_power"` // W
	GPUPower *float64 `json:"gpu_power"`
	ANEPower *float64 `json:"ane_power"`
	AllPower *float64 `json:"all_power"` // the sum of the three
	SysPower *float64 `json:"sys_power"` // the greater of all_power and the machine's sensor
	RAMPower *float64 `json:"ram_power"`

	GPUUsage  []float64 `json:"gpu_usage"`        // MHz, scaled ratio
	GPUFreq   *float64  `json:"gpu_freq_mhz"`     // since 0.8
	GPUActive *float64  `json:"gpu_active_ratio"` // since 0.8
	GPUScaled *float64  `json:"gpu_scaled_ratio"` // since 0.8.1
	GPURatio  *float64  `json:"gpu_usage_ratio"`  // the same in 0.8.0
	CPUActive *float64  `json:"cpu_active_ratio"` // since 0.8

	Timestamp string `json:"timestamp"` // RFC 3339, since 0.6

	still bool // the counters of CPU, ANE and memory have not moved
}

func decode(record []byte) (*object, error) {
	o := new(object)
	if err := json.Unmarshal(record, o); err != nil {
		return nil, fmt.Errorf("what macmon printed is no object of its own: %w", err)
	}
	if o.CPUPower == nil && o.GPUPower == nil && o.SysPower == nil {
		return nil, errors.New("macmon printed an object without any power: is it newer than 0.8?")
	}
	o.rest()
	return o, nil
}

// rest takes away what is no reading. macmon prints 0 for what it could not
// read, and 0 W is possible of GPU and ANE alone.
func (o *object) rest() {
	for _, p := range []**float64{&o.CPUPower, &o.GPUPower, &o.ANEPower, &o.AllPower, &o.SysPower, &o.RAMPower} {
		keep(p, 0, 1e5)
	}
	for _, p := range []**float64{&o.RAMPower, &o.AllPower, &o.SysPower} {
		keep(p, math.SmallestNonzeroFloat64, 1e5)
	}
	keep(&o.Temp.CPU, math.SmallestNonzeroFloat64, 150)
	keep(&o.Temp.GPU, math.SmallestNonzeroFloat64, 150)
	for _, p := range []**float64{&o.GPUActive, &o.GPUScaled, &o.GPURatio, &o.CPUActive} {
		keep(p, 0, 1)
	}
	keep(&o.GPUFreq, math.SmallestNonzeroFloat64, 1e5)

	// A sensor that can't be read leaves the sum of the parts as the greater.
	if o.SysPower != nil && o.AllPower != nil && *o.SysPower == *o.AllPower {
		o.SysPower = nil
	}
	// No CPU rests for an interval: macOS 27's counters of CPU, ANE and memory
	// stand still for seconds, or for good. The GPU's has a life of its own.
	if o.CPUPower != nil && *o.CPUPower == 0 && o.RAMPower == nil {
		o.still = true
		o.forgetSlow()
	}
}

// forgetSlow forgets what comes of the counters that may stand still.
func (o *object) forgetSlow() {
	o.CPUPower, o.ANEPower, o.RAMPower, o.AllPower = nil, nil, nil, nil
}

// keep forgets a figure that is not from least to most.
func keep(p **float64, least, most float64) {
	if v := *p; v != nil && !(*v >= least && *v <= most) {
		*p = nil
	}
}

// frequency and scaled are what older versions print as a pair.
func (o *object) frequency() *float64 {
	if o.GPUFreq == nil && len(o.GPUUsage) == 2 && o.GPUUsage[0] > 0 && o.GPUUsage[0] <= 1e5 {
		return &o.GPUUsage[0]
	}
	return o.GPUFreq
}

func (o *object) scaled() *float64 {
	switch {
	case o.GPUScaled != nil:
		return o.GPUScaled
	case o.GPURatio != nil:
		return o.GPURatio
	case len(o.GPUUsage) == 2 && o.GPUUsage[1] >= 0 && o.GPUUsage[1] <= 1:
		return &o.GPUUsage[1]
	}
	return nil
}

// span is when an object's figures are of.
type span struct {
	slow   time.Time // the start of what may stand still; zero: readings of an instant
	start  time.Time // the start of the other averages; zero likewise
	end    time.Time
	sensed time.Time // when sensors were read
}

// samples are the object's figures.
func (o *object) samples(node string, t span) []power.Sample {
	var out []power.Sample
	add := func(start, end time.Time, scope power.Scope, metric power.Metric, unit string, v *float64) {
		if v != nil {
			out = append(out, power.Sample{Node: node, Source: name, Scope: scope, Metric: metric, Unit: unit, Start: start, End: end, Value: *v})
		}
	}
	add(t.slow, t.end, power.ScopeCPU, power.MetricPower, "W", o.CPUPower)
	add(t.start, t.end, power.ScopeGPU, power.MetricPower, "W", o.GPUPower)
	add(t.slow, t.end, power.ScopeANE, power.MetricPower, "W", o.ANEPower)
	add(t.slow, t.end, power.ScopeDRAM, power.MetricPower, "W", o.RAMPower)
	add(t.slow, t.end, power.ScopeSoC, power.MetricPower, "W", o.AllPower)
	add(t.start, t.end, power.ScopeCPU, power.MetricUsage, "ratio", o.CPUActive)
	add(t.start, t.end, power.ScopeGPU, power.MetricUsage, "ratio", o.GPUActive)
	add(t.start, t.end, power.ScopeGPU, MetricScaledUsage, "ratio", o.scaled())
	add(t.start, t.end, power.ScopeGPU, power.MetricFrequency, "MHz", o.frequency())
	add(time.Time{}, t.sensed, power.ScopeSystem, power.MetricPower, "W", o.SysPower)
	add(time.Time{}, t.sensed, power.ScopeCPU, power.MetricTemperature, "celsius", o.Temp.CPU)
	add(time.Time{}, t.sensed, power.ScopeGPU, power.MetricTemperature, "celsius", o.Temp.GPU)
	return out
}
