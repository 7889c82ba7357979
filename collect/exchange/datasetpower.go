package exchange

import (
	"math"
	"slices"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// lastSegment is behind every segment.
const lastSegment = math.MaxInt64

// quiet takes a quiet window, which each sensor has a row of.
func (d *datasetReader) quiet(r row) {
	if r.text("window_kind") != string(analyze.WindowIdle) {
		return
	}
	i := collect.Idle{Segment: r.whole("segment"), TargetID: r.whole("target_id"), StartNS: r.whole("start_ns"), EndNS: r.whole("end_ns")}
	if !slices.ContainsFunc(d.idle, func(o *collect.Idle) bool { return *o == i }) {
		d.idle = append(d.idle, &i)
	}
}

// before puts what comes before a batch: the quiet windows that end before it,
// and the readings until its end.
func (d *datasetReader) before(b *collect.Batch) error {
	for len(d.idle) > 0 {
		i := d.idle[0]
		if i.Segment > b.Segment || i.Segment == b.Segment && i.EndNS > b.StartNS {
			break
		}
		d.idle = d.idle[1:]
		if err := d.put(i); err != nil {
			return err
		}
	}
	return d.readings(b.Segment, b.EndNS)
}

// maxReadings is how many readings are one record.
const maxReadings = 4096

// readings puts the readings of the segments before one, and those of it up to
// a time.
func (d *datasetReader) readings(segment, until int64) error {
	c := d.samples
	for c.ok {
		s := &collect.Samples{Segment: c.whole("segment")}
		for c.ok && len(s.Samples) < maxReadings {
			of, at := c.whole("segment"), c.whole("end_ns")
			if of != s.Segment || of > segment || of == segment && at > until {
				break
			}
			value, ok := c.page.Column("value").Double(c.i)
			if !ok {
				value = math.NaN() // a sensor may read nothing else
			}
			s.Samples = append(s.Samples, collect.Sample{
				Node: c.text("node"), Source: c.text("source"), Scope: c.text("scope"), Metric: c.text("metric"), Unit: c.text("unit"),
				StartNS: c.count("start_ns"), EndNS: at, Value: value,
			})
			c.next()
		}
		if len(s.Samples) == 0 {
			break
		}
		if err := d.put(s); err != nil {
			return err
		}
	}
	return c.err
}
