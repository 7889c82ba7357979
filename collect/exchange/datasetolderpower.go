package exchange

import (
	"errors"
	"slices"

	"tokwatt/collect"
)

// olderFacts is what the older tables tell of what has columns now.
func (d *datasetReader) olderFacts() error {
	var p olderPower
	err := errors.Join(
		d.olderTells(),
		d.each("energy", p.energy, "window_kind", "target_id", "segment", "node", "source", "scope", "rule", "null_reason", "samples"),
		d.each("samples", p.sample, "segment", "node", "source", "scope", "metric", "unit", "end_ns"),
	)
	for i := range d.segments {
		s := &d.segments[i]
		s.sensors = p.sensors(s.Segment.Segment, d.session.Host.Name)
	}
	return err
}

// olderTells finds what only the flags of requests tell of their cases and
// targets. Where the end token was banned a length was surely wanted.
func (d *datasetReader) olderTells() error {
	for _, c := range d.caseList {
		c.TGWanted = c.EOSBan != ""
	}
	caseOf := map[int64]int64{} // by batch
	if err := d.each("batches", func(r row) { caseOf[r.whole("batch_id")] = r.whole("case_id") }, "batch_id", "case_id"); err != nil {
		return err
	}
	return d.each("requests", func(r row) {
		c := d.cases[caseOf[r.whole("batch_id")]]
		if c == nil {
			return // batch says so
		}
		n := r.count("tokens_generated")
		if r.flag("short_output") {
			c.TGWanted = true
		} else if n != nil && *n < c.TG && r.text("tokens_source") != "estimate" {
			c.TGWanted = false
		}
		if t := d.targets[c.TargetID]; t != nil && r.flag("model_unlisted") {
			t.Unlisted = true
		}
	}, "batch_id", "flags", "tokens_generated", "tokens_source")
}

// olderPower is what readings and energies tell of sensors.
type olderPower struct {
	channels []*powerChannel // in the order in which the tables name them
	known    map[channelKey]*powerChannel
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
func (p *olderPower) sample(r row) {
	c := p.channel(channelKey{r.whole("segment"), r.text("node"), r.text("source"), r.text("scope"), r.text("metric"), r.text("unit"), ""})
	at := r.whole("end_ns")
	const most = 1000
	if c.last != 0 && len(c.steps) < most {
		c.steps = append(c.steps, at-c.last)
	}
	c.last = at
}

func (p *olderPower) channel(k channelKey) *powerChannel {
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

// energy takes note of channels that gave nothing, and of which target a node
// is.
func (p *olderPower) energy(r row) {
	segment, target, node := r.whole("segment"), r.whole("target_id"), r.text("node")
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
func (p *olderPower) sensors(segment int64, host string) []*collect.Sensors {
	type reader struct {
		target int64
		source string
	}
	by := map[reader]*collect.Sensors{}
	var out []*collect.Sensors
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
func (p *olderPower) read(c *powerChannel) bool {
	return slices.ContainsFunc(p.channels, func(o *powerChannel) bool {
		energetic := o.metric == "energy" || o.metric == "power"
		return o.missing == "" && energetic && o.segment == c.segment && o.node == c.node && o.source == c.source && o.scope == c.scope
	})
}
