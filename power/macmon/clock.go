package macmon

import (
	"bytes"
	"time"

	"tokwatt/power"
)

// clock places the objects of one stream in time.
type clock struct {
	last time.Time // the end of the interval before

	// While the counters of CPU, ANE and memory stand still:
	since time.Time // when that began; zero: they move
	gpu   float64   // J that the GPU has drawn since
	blind bool      // they have never moved, so since is when we came
	moved bool      // they have moved once
}

const (
	// believed is how old an object may be by its own stamp: the wall clock
	// may have been set meanwhile.
	believed = 2 * time.Second
	// frozen is how long the counters may stand still for their next step to
	// mean something. macOS 27 renews them every 2.1 s.
	frozen = 10 * time.Second
)

// parse makes samples of one line, read at the given instant.
func (c *clock) parse(at time.Time, line []byte) ([]power.Sample, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, nil
	}
	o, err := decode(line)
	if err != nil {
		return nil, err
	}
	start, end := c.place(at, o.Timestamp)
	return o.samples("", span{slow: c.spread(o, start, end), start: start, end: end, sensed: end}), nil
}

// place says when the interval of an object was that was read at the given
// instant. Its end is the object's own stamp, put on the monotonic clock by
// the time that the wall clock says has passed since. Each interval begins
// where the one before ended, as macmon's own readings do, unless one was lost.
func (c *clock) place(at time.Time, stamp string) (start, end time.Time) {
	end = at
	if t, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
		if age := at.Round(0).Sub(t); age > 0 && age < believed {
			end = at.Add(-age)
		}
	}
	if !end.After(c.last) { // objects without a stamp, read at once: the order is all we know
		end = c.last.Add(time.Microsecond)
	}
	start = end.Add(-interval)
	if gap := end.Sub(c.last); !c.last.IsZero() && gap < interval*3/2 {
		start = c.last
	}
	c.last = end
	return start, end
}

// spread gives the step that counters make after they have stood still to all
// the time in which they stood, and returns when that began: P = Σ P·Δt ÷ ΣΔt,
// where P was 0 but in the last Δt. The GPU's part of the sum was told all the
// time. A step after an unknown time is no reading.
func (c *clock) spread(o *object, start, end time.Time) time.Time {
	dt := end.Sub(start).Seconds()
	if o.still {
		if c.since.IsZero() {
			c.since, c.gpu, c.blind = start, 0, !c.moved
		}
		if o.GPUPower != nil {
			c.gpu += *o.GPUPower * dt
		}
		return start
	}
	since := c.since
	c.since, c.moved = time.Time{}, true
	switch {
	case since.IsZero():
		return start
	case c.blind || end.Sub(since) > frozen:
		o.forgetSlow()
		return start
	}
	total := end.Sub(since).Seconds()
	for _, p := range []*float64{o.CPUPower, o.ANEPower, o.RAMPower} {
		if p != nil {
			*p *= dt / total
		}
	}
	if o.AllPower != nil && o.CPUPower != nil && o.ANEPower != nil && o.GPUPower != nil {
		*o.AllPower = *o.CPUPower + *o.ANEPower + (c.gpu+*o.GPUPower*dt)/total
	} else {
		o.AllPower = nil
	}
	return since
}
