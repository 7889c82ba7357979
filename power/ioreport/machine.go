package ioreport

import (
	"math"
	"math/bits"
	"time"

	"tokwatt/power"
)

// machine is what can be read on a Mac. A part that is nil can't, for the
// reason beside it.
type machine struct {
	virtual  bool // a virtual machine, which has hardly a sensor
	ticks    timebase
	reports  reporter
	property func(name string) []byte // of the power manager; nil where there is no such property
	smc      smcReader
	hid      thermometers
	pressure func() (uint64, error)

	noReports, noSMC, noPressure error

	closers []func()
}

// reporter reads IOReport's channels.
type reporter interface {
	// read fills s, and may keep its memory for the next one.
	read(s *snapshot) error
}

// smcReader reads keys of the system management controller, four letters each.
type smcReader interface {
	keys() ([]string, error)
	float(key string) (float64, error)
}

// thermometers reads the temperature sensors that HID has, celsius by product.
type thermometers interface {
	temperatures() ([]temperature, error)
}

type temperature struct {
	product string
	celsius float64
}

// channel is what IOReport says of a channel once and for all.
type channel struct {
	group, subgroup, name, unit string
	states                      []string // names of its states; nil: a counter
}

// reading is what a channel has at one instant.
type reading struct {
	count  int64   // of a counter; invalid where the driver has none
	stamp  uint64  // when the driver published it, in ticks; 0: it doesn't say
	states []int64 // time in each state since an origin of the driver's own
}

// invalid is IOReport's word for a value that is none.
const invalid = math.MinInt64

// snapshot is one reading of all channels.
type snapshot struct {
	// generation tells one list of channels from another.
	generation int
	channels   []channel
	readings   []reading // one for each channel

	began, ended uint64    // ticks when the reading was begun and had come back
	at           time.Time // ended, by our clock

	ticks timebase
}

// time is a tick of this machine by our clock. The ticks are those that Go's
// own monotonic clock is made of, so both stand still in sleep and a
// difference can be carried over.
func (s *snapshot) time(tick uint64) time.Time {
	return s.at.Add(-s.ticks.between(tick, s.ended))
}

// timebase is how many nanoseconds a tick of mach_absolute_time takes: 125/3
// on Apple's own chips.
type timebase struct{ numer, denom uint32 }

// between is the time from tick a to tick b.
func (t timebase) between(a, b uint64) time.Duration {
	if a > b {
		return -t.between(b, a)
	}
	hi, lo := bits.Mul64(b-a, uint64(t.numer))
	if t.denom == 0 || hi >= uint64(t.denom) {
		return math.MaxInt64
	}
	ns, _ := bits.Div64(hi, lo, uint64(t.denom))
	return time.Duration(min(ns, math.MaxInt64))
}

// missingError says why a quantity can't be read, with the reason's word.
type missingError struct {
	reason power.Reason
	note   string
}

func (e *missingError) Error() string { return e.note }

func missing(reason power.Reason, note string) error {
	return &missingError{reason, note}
}
