package power

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Curve is the energy E(t) that went through one channel since its first
// reading: points that never fall, and what is known of the time between one
// and the next. A Curve does not change and may be used by several goroutines.
//
// It takes at most 25 bytes a point; a window costs a binary search and a look at each
// point in it.
type Curve struct {
	kind         Kind
	opts         CurveOptions
	node, source string

	t     []int64   // ns, rising
	e     []float64 // J since t[0], never falling
	w     []float64 // W at t, of instants alone
	early []int64   // of counters: E was reached in [early, t], see counterBuild
	flags []flag    // of the segment from the point before to this one

	rejected []int64 // stamps of what could not be used, rising
	frozen   bool    // it was still read after the last point, but not renewed
}

// CurveOptions say what is known of a channel beside its readings.
type CurveOptions struct {
	Nominal time.Duration // interval at which it was read; 0: the readings' own median
	Refresh time.Duration // how often the sensor is renewed; 0: not known, or at each reading
	Range   float64       // J after which a counter begins at 0 again; 0: not known
	Scope   Scope
	Stamped bool // stamps are the sensor's own: a counter that is unchanged at a new stamp used nothing
	Devices int  // how many devices' sum the readings are; 0: one
}

const (
	// minHole: time without a reading is a hole from here on, or from three
	// nominal intervals on where that is longer.
	minHole = 3 * time.Second
	// frozenAfter: a sensor that is read so long without being renewed.
	frozenAfter = 10 * time.Second
	// maxDeviceW is more than any device draws.
	maxDeviceW = 2000
	// maxStamp keeps differences of stamps within an int64: 73 years.
	maxStamp = 1 << 61
	// maxSetting bounds the options' durations for the same reason.
	maxSetting = 1000 * time.Hour
)

// flag is what is wrong with a segment.
type flag uint8

const (
	hole    flag = 1 << iota // no reading for long
	stale                    // read for long, never renewed
	reset                    // the counter began anew
	lost                     // what it used is not known
	bridged                  // not read for a while: between the powers before and after
	opening                  // the point is the start of an average, not a reading's own stamp
)

// NewCurve makes the curve of readings in any order. Of two with one stamp the
// later in the list counts. A reading that is negative, not a number, or over
// 2,000 W a device is rejected and counted. 0.0 W of something that can't be
// off is no reading.
func NewCurve(kind Kind, opts CurveOptions, readings []Reading) *Curve {
	c := &Curve{kind: kind, opts: opts.bounded()}
	usable := c.clean(readings)
	if c.opts.Nominal == 0 {
		c.opts.Nominal = medianStep(usable)
	}
	c.grow(len(usable))
	switch kind {
	case Counter:
		c.addCounter(usable)
	case Average:
		c.addAverages(usable)
	case Instant:
		c.addInstants(usable)
	}
	if n := len(usable); n > 0 && c.repeated(usable[n-1]) {
		c.frozen = true
	}
	slices.Sort(c.rejected)
	return c
}

func (o CurveOptions) bounded() CurveOptions {
	o.Nominal = min(max(o.Nominal, 0), maxSetting)
	o.Refresh = min(max(o.Refresh, 0), maxSetting)
	if !(o.Range > 0) || math.IsInf(o.Range, 0) {
		o.Range = 0
	}
	o.Devices = max(o.Devices, 1)
	return o
}

// hole is the longest time without a reading that is not a hole. A sensor that
// is renewed more rarely than the rule thinks of has none at each renewal.
func (o CurveOptions) hole() int64 {
	return int64(max(minHole, 3*o.Nominal, o.Refresh*3/2))
}

func (o CurveOptions) maxW() float64 { return maxDeviceW * float64(o.Devices) }

// reading is a usable Reading.
type reading struct {
	start, end int64
	value      float64
	repeats    int // how many more there were with the same stamp
}

// clean returns the usable readings by rising stamp, one a stamp.
func (c *Curve) clean(readings []Reading) []reading {
	out := make([]reading, 0, len(readings))
	for _, r := range readings {
		if !c.usable(r) {
			c.rejected = append(c.rejected, r.EndNS)
			continue
		}
		if r.Value == 0 && c.kind != Counter && neverOff(c.opts.Scope) {
			continue
		}
		one := reading{end: r.EndNS, value: r.Value}
		if r.StartNS != nil {
			one.start = *r.StartNS
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b reading) int { return cmp.Compare(a.end, b.end) })
	kept := out[:0]
	for _, r := range out {
		if n := len(kept); n > 0 && kept[n-1].end == r.end {
			r.repeats = kept[n-1].repeats + 1
			kept = kept[:n-1]
		}
		kept = append(kept, r)
	}
	return kept
}

func (c *Curve) usable(r Reading) bool {
	if !(r.Value >= 0) || math.IsInf(r.Value, 0) || !stampOK(r.EndNS) {
		return false
	}
	switch c.kind {
	case Average:
		return r.Value <= c.opts.maxW() && r.StartNS != nil && stampOK(*r.StartNS) && *r.StartNS < r.EndNS
	case Instant:
		return r.Value <= c.opts.maxW()
	}
	return true
}

func stampOK(t int64) bool { return -maxStamp < t && t < maxStamp }

// neverOff is of the scopes that draw something as long as anybody can ask.
func neverOff(s Scope) bool {
	return s == ScopeSystem || s == ScopePackage || s == ScopeSoC || s == ScopeWall
}

// repeated reports whether the sensor gave r again for so long that it is
// frozen. Only the number of repetitions is known, not when they were read.
func (c *Curve) repeated(r reading) bool {
	step := c.opts.Nominal
	if step == 0 {
		step = time.Second
	}
	return int64(r.repeats) >= int64((frozenAfter+step-1)/step)
}

func medianStep(rs []reading) time.Duration {
	if len(rs) < 2 {
		return 0
	}
	steps := make([]int64, len(rs)-1)
	for i := range steps {
		steps[i] = rs[i+1].end - rs[i].end
	}
	slices.Sort(steps)
	return min(time.Duration(steps[len(steps)/2]), maxSetting)
}

// grow makes room for n points.
func (c *Curve) grow(n int) {
	c.t = make([]int64, 0, n)
	c.e = make([]float64, 0, n)
	c.flags = make([]flag, 0, n)
	switch c.kind {
	case Counter:
		c.early = make([]int64, 0, n)
	case Instant:
		c.w = make([]float64, 0, n)
	}
}

// point adds a point joules above the one before.
func (c *Curve) point(t int64, joules float64, f flag) {
	if n := len(c.e); n > 0 {
		joules += c.e[n-1]
	}
	c.t, c.e, c.flags = append(c.t, t), append(c.e, joules), append(c.flags, f)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
