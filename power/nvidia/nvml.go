//go:build nvml && linux

package nvidia

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"tokwatt/power"
)

// NVML reads through the driver's library: energy counted in J since the driver
// was loaded where the GPU counts it (Volta and later), else power.
type NVML struct {
	path string
	lib  *library
	gpus []device
}

type device struct {
	source string
	handle uintptr
	counts bool // it has an energy counter
}

var _ power.Source = (*NVML)(nil)

// library's path and the interval at which the counter steps.
const (
	libraryName = "libnvidia-ml.so.1"
	counterStep = 100 * time.Millisecond // 10 to 100 ms have been seen
)

// New returns the source of this machine's GPUs: through the driver's library
// where it can be loaded, else through nvidia-smi.
func New() power.Source {
	if _, err := load(libraryName); err != nil {
		return NewSMI("nvidia-smi")
	}
	return NewNVML(libraryName)
}

// NewNVML returns a source that loads the library at path.
func NewNVML(path string) *NVML { return &NVML{path: path} }

// Name is "nvidia"; samples and channels carry the GPU's index besides.
func (s *NVML) Name() string { return name }

// OnDemand is true: a reading takes a few milliseconds.
func (s *NVML) OnDemand() bool { return true }

// Probe loads and starts the library and tries every reading of every GPU.
func (s *NVML) Probe(context.Context) []power.Channel {
	if err := s.Close(); err != nil {
		return none(power.ReasonNoReading, err.Error())
	}
	lib, err := load(s.path)
	if err != nil {
		return none(power.ReasonNoChannel, err.Error())
	}
	if code := lib.init(); code != 0 {
		return none(reasonOf(code), fmt.Sprintf("the driver's library does not start: %v", code))
	}
	s.lib = lib
	var n uint32
	if code := lib.count(&n); code != 0 {
		return none(reasonOf(code), fmt.Sprintf("GPUs can't be counted: %v", code))
	}
	var channels []power.Channel
	for i := range n {
		d := device{source: sourceOf(int(i))}
		if code := lib.byIndex(i, &d.handle); code != 0 {
			c := none(reasonOf(code), fmt.Sprintf("the GPU can't be opened: %v", code))[0]
			c.Source = d.source
			channels = append(channels, c)
			continue
		}
		channels = append(channels, s.draws(&d))
		channels = append(channels, s.others(d)...)
		s.gpus = append(s.gpus, d)
	}
	if channels == nil {
		return none(power.ReasonNoChannel, "the driver knows of no GPU")
	}
	return channels
}

// draws settles whether a GPU is read by its counter or its power.
func (s *NVML) draws(d *device) power.Channel {
	c := power.Channel{Source: d.source, Scope: power.ScopeGPU, Metric: power.MetricEnergy, Unit: "J", Refresh: counterStep, Note: "the board"}
	_, code := s.lib.joules(d.handle)
	if code == 0 {
		d.counts = true
		return c
	}
	c.Metric, c.Unit, c.Refresh, c.Note = power.MetricPower, "W", 0, "the board; this GPU has no energy counter"
	if _, code := s.lib.watts(d.handle); code != 0 {
		c.Missing, c.Note = reasonOf(code), fmt.Sprintf("the GPU tells neither energy nor power: %v", code)
	}
	return c
}

func (s *NVML) others(d device) []power.Channel {
	var channels []power.Channel
	for _, m := range beside {
		c := power.Channel{Source: d.source, Scope: power.ScopeGPU, Metric: m.metric, Unit: m.unit}
		if _, ok := s.value(d, m); !ok {
			c.Missing, c.Note = power.ReasonNoReading, "the GPU gives no "+m.field
		}
		channels = append(channels, c)
	}
	return channels
}

// Read reads every GPU. Energy comes first, stamped by itself.
func (s *NVML) Read(context.Context) ([]power.Sample, error) {
	if s.lib == nil || len(s.gpus) == 0 {
		return nil, errors.New("no NVIDIA GPU can be read: the probe says why")
	}
	var samples []power.Sample
	for _, d := range s.gpus {
		if x, ok := s.energy(d); ok {
			samples = append(samples, x)
		}
	}
	for _, d := range s.gpus {
		for _, m := range beside {
			if v, ok := s.value(d, m); ok {
				samples = append(samples, power.Sample{Source: d.source, Scope: power.ScopeGPU, Metric: m.metric, Unit: m.unit, End: time.Now(), Value: v})
			}
		}
	}
	if len(samples) == 0 {
		return nil, errors.New("the driver's library gives no reading of any GPU")
	}
	return samples, nil
}

// energy reads a GPU's counter, or its power where there is none. Power is
// given as a reading of an instant: this call does not say over what it is an
// average.
func (s *NVML) energy(d device) (power.Sample, bool) {
	x := power.Sample{Source: d.source, Scope: power.ScopeGPU, Metric: power.MetricEnergy, Unit: "J"}
	begin := time.Now()
	v, code := 0.0, status(0)
	if d.counts {
		v, code = s.lib.joules(d.handle)
	} else {
		x.Metric, x.Unit = power.MetricPower, "W"
		v, code = s.lib.watts(d.handle)
	}
	x.Value, x.End = v, begin.Add(time.Since(begin)/2)
	return x, code == 0
}

// value reads what is beside the power.
func (s *NVML) value(d device, m metric) (float64, bool) {
	v, code := math.NaN(), status(0)
	switch m.metric {
	case power.MetricUsage:
		v, code = s.lib.busy(d.handle)
	case power.MetricTemperature:
		v, code = s.lib.celsius(d.handle)
	case power.MetricFrequency:
		v, code = s.lib.clockMHz(d.handle)
	case power.MetricFrequencyMax:
		v, code = s.lib.maxClockMHz(d.handle)
	}
	v *= m.scale
	return v, code == 0 && v >= m.least && v <= m.most
}

// Close stops the library. It stays loaded: unloading one that runs threads of
// its own is not safe.
func (s *NVML) Close() error {
	if s.lib == nil {
		return nil
	}
	code := s.lib.shutdown()
	s.lib, s.gpus = nil, nil
	if code != 0 {
		return fmt.Errorf("the driver's library does not stop: %v", code)
	}
	return nil
}
