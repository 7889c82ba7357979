package powermetrics

import (
	"time"

	"tokwatt/power"
)

// clock places the documents of one stream in time, and their energies.
type clock struct {
	last time.Time // the end of the document before

	// While the counter of the CPU stands still:
	since time.Time // when that began; zero: it moves
	gpu   float64   // J that the GPU has drawn since
	blind bool      // it has never moved, so since is when we came
	moved bool      // it has moved once
}

const (
	// late is how much later than the one before a document may arrive after
	// its end before its place is doubted.
	late = 100 * time.Millisecond
	// frozen is how long the counter may stand still for its next step to
	// mean something. macOS 27 renews some every 2.1 s.
	frozen = 10 * time.Second
)

// parse makes samples of one document, read at the given instant.
func (c *clock) parse(at time.Time, record []byte) ([]power.Sample, error) {
	d, err := parse(record)
	if err != nil {
		return nil, err
	}
	start, end := c.place(at, d.elapsed)
	return c.samples(d, start, end), nil
}

// place says when a document's time was. The stamp in it is of whole seconds,
// so its arrival is the clock; documents follow each other without a hole, so
// while they arrive about when they should, one begins where the one before
// ended, and what the arrivals jitter moves nothing.
func (c *clock) place(at time.Time, elapsed time.Duration) (start, end time.Time) {
	if !c.last.IsZero() {
		due := c.last.Add(elapsed)
		if wait := at.Sub(due); wait >= 0 && wait < late {
			start, c.last = c.last, due
			return start, due
		}
	}
	start, end = at.Add(-elapsed), at
	if start.Before(c.last) { // it came sooner after its end than any before
		start = c.last
	}
	if !end.After(start) {
		end = start.Add(time.Microsecond)
	}
	c.last = end
	return start, end
}

// samples are the document's figures.
func (c *clock) samples(d *document, start, end time.Time) []power.Sample {
	slow, total := c.settle(d, start, end)
	var out []power.Sample
	add := func(start time.Time, scope power.Scope, metric power.Metric, unit string, v float64) {
		out = append(out, power.Sample{Source: name, Scope: scope, Metric: metric, Unit: unit, Start: start, End: end, Value: v})
	}
	watts := func(scope power.Scope, start time.Time, seconds float64) {
		if j, ok := d.joules(scope); ok {
			add(start, scope, power.MetricPower, "W", j/seconds)
		}
	}
	dt := d.elapsed.Seconds()
	watts(power.ScopeCPU, slow, total)
	watts(power.ScopeGPU, start, dt)
	watts(power.ScopeANE, slow, total)
	watts(power.ScopeDRAM, slow, total)
	watts(power.ScopePackage, slow, total)
	if j, ok := c.sum(d, slow != start); ok {
		add(slow, power.ScopeSoC, power.MetricPower, "W", j/total)
	}
	if d.idle != nil {
		add(start, power.ScopeGPU, power.MetricUsage, "ratio", 1-*d.idle)
	}
	if d.freq > 0 {
		add(start, power.ScopeGPU, power.MetricFrequency, "MHz", d.freq)
	}
	if d.freqMax > 0 {
		add(time.Time{}, power.ScopeGPU, power.MetricFrequencyMax, "MHz", d.freqMax)
	}
	if d.pressure != nil {
		add(time.Time{}, "", power.MetricPressure, "level", *d.pressure)
	}
	return out
}

// settle gives the step that the counters of all but the GPU make after they
// have stood still to all the time in which they stood: it returns when that
// began and how many seconds it is. No CPU rests for half a second, so 0 is no
// reading; and a step after an unknown time is none either.
func (c *clock) settle(d *document, start, end time.Time) (slow time.Time, total float64) {
	cpu, told := d.joules(power.ScopeCPU)
	dt := d.elapsed.Seconds()
	if !told {
		return start, dt
	}
	if cpu == 0 {
		if c.since.IsZero() {
			c.since, c.gpu, c.blind = start, 0, !c.moved
		}
		gpu, _ := d.joules(power.ScopeGPU)
		c.gpu += gpu
		d.forgetSlow()
		return start, dt
	}
	since := c.since
	c.since, c.moved = time.Time{}, true
	switch {
	case since.IsZero():
		return start, dt
	case c.blind || end.Sub(since) > frozen:
		d.forgetSlow()
		return start, dt
	}
	return since, end.Sub(since).Seconds()
}

// sum is CPU, GPU and ANE in J, with what the GPU drew while the others' counters
// stood still.
func (c *clock) sum(d *document, held bool) (float64, bool) {
	cpu, a := d.joules(power.ScopeCPU)
	gpu, b := d.joules(power.ScopeGPU)
	ane, e := d.joules(power.ScopeANE)
	if held {
		gpu += c.gpu
	}
	return cpu + gpu + ane, a && b && e
}

func (d *document) forgetSlow() {
	for _, m := range []map[power.Scope]float64{d.mJ, d.mW} {
		for scope := range m {
			if scope != power.ScopeGPU {
				delete(m, scope)
			}
		}
	}
}
