// Package amdgpu reads AMD's GPUs under Linux, by the files of their driver in
// /sys/class/drm.
//
// Each card is a source of its own, "amdgpu:0" for card0: power in W, the
// share of time that it was busy, its temperature and clock. The driver's
// figure of power is a short average of the firmware's whose length nobody
// states, so it is given as a reading of one instant, which makes energy from
// it indicative. The accumulated energy that some cards have is left out: its
// unit is known to be wrong on several.
//
// On a processor with a built-in GPU (an APU) the same file says what the
// whole chip draws, CPU included: its scope is soc, not gpu. Only APUs have a
// voltage called vddnb, which is how they are told.
package amdgpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tokwatt/power"
)

const name = "amdgpu"

// Source reads the cards. It holds no handle between readings.
type Source struct {
	root     string
	readFile func(path string) ([]byte, error)
	sensors  []sensor
}

// sensor is one readable file.
type sensor struct {
	file    string
	channel power.Channel
	scale   float64 // from the file's unit to the channel's
	least   float64 // below it, in the channel's unit, it is no reading
	most    float64
}

var _ power.Source = (*Source)(nil)

// New returns the source of the machine whose file system begins at root,
// which is "/" but for tests.
func New(root string) *Source { return &Source{root: root, readFile: os.ReadFile} }

// Name is "amdgpu"; samples and channels carry the card's number besides.
func (s *Source) Name() string { return name }

// OnDemand is true: a reading takes a fraction of a millisecond.
func (s *Source) OnDemand() bool { return true }

// Close has nothing to end.
func (s *Source) Close() error { return nil }

// Probe looks for cards and tries each file once.
func (s *Source) Probe(context.Context) []power.Channel {
	s.sensors = nil
	var channels []power.Channel
	for _, card := range s.cards() {
		for _, options := range s.wanted(card) {
			found, ok := s.choose(options)
			if ok {
				s.sensors = append(s.sensors, found)
			}
			channels = append(channels, found.channel)
		}
	}
	if channels == nil {
		channels = append(channels, power.Channel{Source: name, Scope: power.ScopeGPU, Metric: power.MetricPower, Unit: "W",
			Missing: power.ReasonNoChannel, Note: "no card in /sys/class/drm has the driver amdgpu"})
	}
	return channels
}

// card is one GPU by its files' folders.
type card struct {
	source string
	device string // what the GPU itself says
	hwmon  string // what its sensors say
	apu    bool
}

var cardName = regexp.MustCompile(`^card(\d+)$`) // card0-DP-1 is a connector

// cards returns the cards that have a sensor chip called amdgpu.
func (s *Source) cards() []card {
	drm := filepath.Join(s.root, "sys/class/drm")
	entries, _ := os.ReadDir(drm) // that there is none means that there is no card
	var cards []card
	for _, e := range entries {
		number := cardName.FindStringSubmatch(e.Name())
		if number == nil {
			continue
		}
		device := filepath.Join(drm, e.Name(), "device")
		chips, _ := filepath.Glob(filepath.Join(device, "hwmon", "hwmon*")) // fails on bad patterns alone
		for _, chip := range chips {
			if s.text(filepath.Join(chip, "name")) == name {
				cards = append(cards, card{source: name + ":" + number[1], device: device, hwmon: chip, apu: s.isAPU(chip)})
				break
			}
		}
	}
	return cards
}

func (s *Source) isAPU(chip string) bool {
	for _, label := range []string{"in0_label", "in1_label"} {
		if s.text(filepath.Join(chip, label)) == "vddnb" {
			return true
		}
	}
	return false
}

// wanted is what a card should tell, each by the files that may tell it, the
// better first.
func (s *Source) wanted(c card) [][]sensor {
	hwmon := func(file string) string { return filepath.Join(c.hwmon, file) }
	channel := func(scope power.Scope, metric power.Metric, unit, note string) power.Channel {
		return power.Channel{Source: c.source, Scope: scope, Metric: metric, Unit: unit, Note: note}
	}
	draws := channel(power.ScopeGPU, power.MetricPower, "W", "the board; a short average of unknown length")
	if c.apu {
		draws = channel(power.ScopeSoC, power.MetricPower, "W", "the whole chip, CPU included; a short average of unknown length")
	}
	busy := channel(power.ScopeGPU, power.MetricUsage, "ratio", "")
	heat := channel(power.ScopeGPU, power.MetricTemperature, "celsius", "")
	clock := channel(power.ScopeGPU, power.MetricFrequency, "MHz", "")
	return [][]sensor{
		{
			{hwmon("power1_average"), draws, 1e-6, math.SmallestNonzeroFloat64, math.MaxFloat64},
			{hwmon("power1_input"), draws, 1e-6, math.SmallestNonzeroFloat64, math.MaxFloat64},
		},
		{{filepath.Join(c.device, "gpu_busy_percent"), busy, 0.01, 0, 1}},
		{{hwmon("temp1_input"), heat, 1e-3, math.SmallestNonzeroFloat64, 150}},
		{{hwmon("freq1_input"), clock, 1e-6, math.SmallestNonzeroFloat64, math.MaxFloat64}},
	}
}

// choose returns the first that can be read. Where none can it returns the
// first with the reason.
func (s *Source) choose(options []sensor) (sensor, bool) {
	for _, o := range options {
		if _, err := s.value(o); err == nil {
			return o, true
		}
	}
	_, err := s.value(options[0])
	for _, o := range options[1:] {
		// One that is there and fails says more than one that is not there.
		if _, other := s.value(o); errors.Is(err, os.ErrNotExist) {
			err = other
		}
	}
	missing := options[0]
	c := &missing.channel
	switch {
	case errors.Is(err, os.ErrNotExist):
		c.Missing, c.Note = power.ReasonNoChannel, fmt.Sprintf("this card has no %s", filepath.Base(missing.file))
	case errors.Is(err, os.ErrPermission):
		c.Missing, c.Note = power.ReasonDenied, fmt.Sprintf("no permission to read %s: run as root", missing.file)
	default:
		c.Missing, c.Note = power.ReasonNoReading, fmt.Sprintf("the card gives no reading: %v", err)
	}
	return missing, false
}

// Read reads every file that could be read when it was probed.
func (s *Source) Read(context.Context) ([]power.Sample, error) {
	var samples []power.Sample
	var failed []error
	for _, sensor := range s.sensors {
		v, err := s.value(sensor)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		c := sensor.channel
		samples = append(samples, power.Sample{Source: c.Source, Scope: c.Scope, Metric: c.Metric, Unit: c.Unit, End: time.Now(), Value: v})
	}
	switch {
	case len(samples) > 0:
		return samples, nil
	case len(failed) > 0:
		return nil, errors.Join(failed...)
	}
	return nil, errors.New("no sensor of an AMD GPU can be read: the probe says why")
}

func (s *Source) text(file string) string {
	b, err := s.readFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (s *Source) value(x sensor) (float64, error) {
	b, err := s.readFile(x.file)
	if err != nil {
		return 0, err // carries the path
	}
	v, err := x.parse(b)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", x.file, err)
	}
	return v, nil
}

// parse reads one whole number and holds it against what is possible.
func (x sensor) parse(text []byte) (float64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, err
	}
	v := float64(n) * x.scale
	if v < x.least || v > x.most {
		return 0, fmt.Errorf("%v %s is no reading", v, x.channel.Unit)
	}
	return v, nil
}
