package powermetrics

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"tokwatt/power"
)

// document is what is used of one of powermetrics' documents.
type document struct {
	elapsed  time.Duration
	pressure *float64 // level
	mJ       map[power.Scope]float64
	mW       map[power.Scope]float64
	freq     float64 // of the GPU while active, MHz; 0: not told
	freqMax  float64 // MHz
	idle     *float64
	virtual  bool // of a virtual machine
}

// joules is what a rail has drawn in the document's time. Energy is what
// powermetrics counts; power is the same divided, and stands in where a
// release has no energy.
func (d *document) joules(scope power.Scope) (float64, bool) {
	if mJ, ok := d.mJ[scope]; ok {
		return mJ / 1e3, true
	}
	mW, ok := d.mW[scope]
	return mW / 1e3 * d.elapsed.Seconds(), ok
}

// energies and powers are the paths of rails, by name of the value. The first
// of several counts: the gpu dictionary repeats the GPU's.
var (
	energies = map[string]power.Scope{
		"processor/cpu_energy": power.ScopeCPU, "processor/gpu_energy": power.ScopeGPU, "processor/ane_energy": power.ScopeANE,
		"processor/dram_energy": power.ScopeDRAM, "processor/package_energy": power.ScopePackage, "gpu/gpu_energy": power.ScopeGPU,
	}
	powers = map[string]power.Scope{
		"processor/cpu_power": power.ScopeCPU, "processor/gpu_power": power.ScopeGPU, "processor/ane_power": power.ScopeANE,
		"processor/dram_power": power.ScopeDRAM, "processor/package_power": power.ScopePackage,
	}
	levels = map[string]float64{"Nominal": 0, "Moderate": 1, "Heavy": 2, "Trapping": 3, "Sleeping": 4}
)

// most bounds what is believed of a rail: 100 kW, in mW or mJ of an interval.
const most = 1e8

func parse(text []byte) (*document, error) {
	d := &document{mJ: map[power.Scope]float64{}, mW: map[power.Scope]float64{}}
	leaves(text, func(l leaf) { d.take(l) })
	switch {
	case d.elapsed <= 0:
		return nil, errors.New("powermetrics printed a document without elapsed_ns")
	case d.virtual && len(d.mJ) == 0 && len(d.mW) == 0:
		return nil, errVirtual
	}
	return d, nil
}

var errVirtual = errors.New("virtual machines have no energy counters: measure on the host")

// take keeps a value that is known, the first of each.
func (d *document) take(l leaf) {
	switch l.path {
	case "hw_model":
		d.virtual = strings.HasPrefix(l.text, "VirtualMac")
		return
	case "thermal_pressure":
		if level, ok := levels[l.text]; ok && d.pressure == nil {
			d.pressure = &level
		}
		return
	}
	v, err := strconv.ParseFloat(l.text, 64)
	if err != nil || !(v >= 0) || v > math.MaxInt64/2 {
		return
	}
	if scope, ok := energies[l.path]; ok && v <= most {
		first(d.mJ, scope, v)
		return
	}
	if scope, ok := powers[l.path]; ok && v <= most {
		first(d.mW, scope, v)
		return
	}
	switch l.path {
	case "elapsed_ns":
		if d.elapsed == 0 && v <= float64(time.Hour) {
			d.elapsed = time.Duration(v)
		}
	default:
		d.takeOther(l.path, v)
	}
}

// takeOther keeps what Intel's processors say, and the GPU.
func (d *document) takeOther(path string, v float64) {
	switch path {
	case "processor/package_joules": // Intel
		first(d.mJ, power.ScopePackage, v*1e3)
	case "processor/package_watts":
		first(d.mW, power.ScopePackage, v*1e3)
	case "gpu/freq_hz":
		if d.freq == 0 {
			d.freq = megahertz(v)
		}
	case "gpu/dvfm_states[]/freq":
		d.freqMax = max(d.freqMax, megahertz(v))
	case "gpu/idle_ratio":
		if d.idle == nil && v <= 1 {
			d.idle = &v
		}
	}
}

func first(m map[power.Scope]float64, scope power.Scope, v float64) {
	if _, ok := m[scope]; !ok {
		m[scope] = v
	}
}

// megahertz reads a frequency whose name says Hz and whose value, of the GPU,
// is in MHz: no clock of a GPU is below 10 kHz or above 10 GHz.
func megahertz(v float64) float64 {
	if v > 1e4 {
		v /= 1e6
	}
	if v > 1e4 {
		return 0
	}
	return v
}
