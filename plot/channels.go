package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// channel is what one sensor says, with a trace for each segment.
type channel struct {
	node, source, scope string
	style               int
	name                string
	parts               []analyze.PowerTrace
}

// channelsOf sorts the traces by channel: a counter rather than averages, and
// these rather than instants, where a sensor has several for one scope.
func channelsOf(s analyze.PowerSession, opt PowerOptions) ([]*channel, error) {
	var list []*channel
	for _, t := range s.Traces {
		if opt.Node != "" && t.Node != opt.Node || opt.Source != "" && t.Source != opt.Source || opt.Scope != "" && t.Scope != opt.Scope {
			continue
		}
		i := slices.IndexFunc(list, func(c *channel) bool { return c.node == t.Node && c.source == t.Source && c.scope == t.Scope })
		if i < 0 {
			i = len(list)
			list = append(list, &channel{node: t.Node, source: t.Source, scope: t.Scope})
		}
		list[i].add(t)
	}
	if len(list) == 0 && len(s.Traces) > 0 {
		return nil, fmt.Errorf("no sensor of session %s is left: it has %s", shortID(s.SessionID), sensorsOf(s.Traces))
	}
	if !slices.ContainsFunc(list, func(c *channel) bool { return c.drawn() }) {
		return nil, fmt.Errorf("session %s has no readings of power: collect with --power auto on a machine where `tokwatt power --once` finds some",
			shortID(s.SessionID))
	}
	slices.SortStableFunc(list, func(a, b *channel) int {
		return cmp.Or(cmp.Compare(scopeRank(a.scope), scopeRank(b.scope)), cmp.Compare(a.scope, b.scope), cmp.Compare(a.source, b.source), cmp.Compare(a.node, b.node))
	})
	return list, nil
}

func (c *channel) add(t analyze.PowerTrace) {
	i := slices.IndexFunc(c.parts, func(o analyze.PowerTrace) bool { return o.Segment == t.Segment })
	switch {
	case i < 0:
		c.parts = append(c.parts, t)
	case len(c.parts[i].Stretches) == 0 || len(t.Stretches) > 0 && rank(t) < rank(c.parts[i]):
		c.parts[i] = t
	}
}

// rank is lower for what bounds the energy better.
func rank(t analyze.PowerTrace) int {
	switch {
	case t.Counter:
		return 0
	case t.Instant:
		return 2
	}
	return 1
}

func (c *channel) drawn() bool {
	return slices.ContainsFunc(c.parts, func(t analyze.PowerTrace) bool { return len(t.Stretches) > 0 })
}

// scopeRank puts what contains more first.
func scopeRank(scope string) int {
	order := []string{"wall", "system", "package", "soc", "gpu", "cpu", "dram", "ane"}
	if i := slices.Index(order, scope); i >= 0 {
		return i
	}
	return len(order)
}

func sensorsOf(traces []analyze.PowerTrace) string {
	var list []string
	for _, t := range traces {
		if s := fmt.Sprintf("node=%s source=%s scope=%s", t.Node, t.Source, t.Scope); !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// styled gives the channels colours and names by scope, and by source where
// there are several. shared says what the names leave out.
func styled(channels []*channel) (names []string, shared string) {
	var sources []string
	for _, c := range channels {
		if !slices.Contains(sources, c.source) {
			sources = append(sources, c.source)
		}
	}
	if len(sources) == 1 {
		shared = "Read by " + sources[0] + "."
	}
	for _, c := range channels {
		c.name = cmp.Or(c.scope, "no scope stated")
		if len(sources) > 1 {
			c.name += " · " + c.source
		}
		if !c.drawn() {
			continue
		}
		if c.style = slices.Index(names, c.name); c.style < 0 {
			c.style = len(names)
			names = append(names, c.name)
		}
	}
	return names, shared
}
