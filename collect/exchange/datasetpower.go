package exchange

import (
	"math"
	"slices"

	"tokwatt/collect"
)

// lastSegment is behind every segment.
const lastSegment = math.MaxInt64

// datasetPower is what the tables tell of sensors and of quiet windows.
type datasetPower struct {
	channels []*powerChannel // in the order in which the tables name them
	known    map[channelKey]*powerChannel
	idle     []*collect.Idle
	owners   map[nodeKey][]int64 // the targets whose windows name a node
}

// powerChannel is a channel with the steps between its first readings.
type powerChannel struct {
	channelKey
	last  int64
	steps []int64 // ns
}

type channelKey struct {
	segment                                    int64
	node, source, scope, metric, unit, missing string
}

type nodeKey struct {
	segment int64
	node    string
}

// sample takes note of the channel of a reading.
func (p *datasetPower) sample(r row) {
	c := p.channel(channelKey{r.whole("segment"), r.text("node"), r.text("source"), r.text("scope"), r.text("metric"), r.text("unit"), ""})
	at := r.whole("end_ns")
	const most = 1000
	if c.last != 0 && len(c.steps) < most {
		c.steps = append(c.steps, at-c.last)
	}
	c.last = at
}

func (p *datasetPower) channel(k channelKey) *powerChannel {
	if p.known == nil {
		p.known = map[channelKey]*powerChannel{}
	}
	c := p.known[k]
	if c == nil {
		c = &powerChannel{channelKey: k}
		p.known[k] = c
		p.channels = append(p.channels, c)
	}
	return c
}

// step is the median time between readings, 0 where there are too few.
func (c *powerChannel) step() int64 {
	if len(c.steps) == 0 {
		return 0
	}
	slices.Sort(c.steps)
	return c.steps[len(c.steps)/2]
}

// energy takes note of quiet windows, of channels that gave nothing, and of
// which target a node is.
func (p *datasetPower) energy(r row) {
	segment, target, node := r.whole("segment"), r.whole("target_id"), r.text("node")
	if r.text("window_kind") == "idle" {
		i := collect.Idle{Segment: segment, TargetID: target, StartNS: r.whole("start_ns"), EndNS: r.whole("end_ns")}
		if !slices.ContainsFunc(p.idle, func(o *collect.Idle) bool { return *o == i }) {
			p.idle = append(p.idle, &i)
		}
	}
	if r.text("rule") != "curve" || r.text("source") == "" || node == allNodes {
		return
	}
	if p.owners == nil {
		p.owners = map[nodeKey][]int64{}
	}
	if k := (nodeKey{segment, node}); !slices.Contains(p.owners[k], target) {
		p.owners[k] = append(p.owners[k], target)
	}
	if r.whole("samples") == 0 && r.text("null_reason") != "" && r.text("window_kind") == "batch" {
		p.channel(channelKey{segment, node, r.text("source"), r.text("scope"), "energy", "", r.text("null_reason")})
	}
}

// allNodes is the node of a sum over nodes.
const allNodes = "all"

// sensors are the channels of a segment, by whose they are and who read them.
// Those of one source are read together, as often as the one that was renewed
// the most.
func (p *datasetPower) sensors(segment int64, host string) []collect.Record {
	type reader struct {
		target int64
		source string
	}
	by := map[reader]*collect.Sensors{}
	var out []collect.Record
	for _, c := range p.channels {
		if c.segment != segment || c.missing != "" && p.read(c) {
			continue
		}
		targets := p.owners[nodeKey{segment, c.node}]
		if c.node == host || len(targets) == 0 {
			targets = append([]int64{0}, targets...)
		}
		for _, target := range targets {
			of := reader{target, c.source}
			if by[of] == nil {
				by[of] = &collect.Sensors{Segment: segment, TargetID: target}
				out = append(out, by[of])
			}
			c.join(by[of])
		}
	}
	return out
}

// join adds a channel to its source.
func (c *powerChannel) join(s *collect.Sensors) {
	if step := c.step(); step > 0 && (s.EveryNS == 0 || step < s.EveryNS) {
		s.EveryNS = step
	}
	s.Channels = append(s.Channels, collect.Channel{
		Node: c.node, Source: c.source, Scope: c.scope, Metric: c.metric, Unit: c.unit, Missing: c.missing,
	})
}

// read reports whether a channel that gave nothing in some window was read in
// the segment.
func (p *datasetPower) read(c *powerChannel) bool {
	return slices.ContainsFunc(p.channels, func(o *powerChannel) bool {
		energetic := o.metric == "energy" || o.metric == "power"
		return o.missing == "" && energetic && o.segment == c.segment && o.node == c.node && o.source == c.source && o.scope == c.scope
	})
}

// before puts what comes before a batch: the quiet windows that end before it,
// and the readings until its end.
func (d *datasetReader) before(segment int64, b *collect.Batch) error {
	for len(d.power.idle) > 0 {
		i := d.power.idle[0]
		if i.Segment > segment || i.Segment == segment && i.EndNS > b.StartNS {
			break
		}
		d.power.idle = d.power.idle[1:]
		if err := d.put(i); err != nil {
			return err
		}
	}
	return d.readings(segment, b.EndNS)
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
