// Package meter keeps the readings of sensors for as long as somebody may ask
// for the energy of a window, and no longer.
//
// A [Meter] belongs to one segment, which has one clock. It is told what can be
// read ([Meter.Declare]) and what was read ([Meter.Add]), in any order, and has
// the windows of every channel between two instants ([Meter.Windows]). A
// [Span] is a window that grows, such as all the time of a target: it has the
// energy of readings that are gone.
//
// Memory: a reading takes 24 to 40 bytes and, while windows are asked for, 25
// more of its curve. [Meter.Forget] lets go of what lies before an instant, so
// a day at 4 Hz takes no more than the time that windows still need. Until
// [Limit] readings of a channel it need not be called.
package meter

import (
	"cmp"
	"slices"
	"time"

	"tokwatt/collect"
	"tokwatt/power"
)

// Limit is how many readings of one channel are worth forgetting some: over
// two hours at 4 Hz.
const Limit = 1 << 15

// Meter has the readings of a segment. It is not safe for use by several
// goroutines.
type Meter struct {
	host     string
	limit    int
	declared []declaration
	at       map[key]*series
	series   []*series // in the order of their first reading
	spans    []*Span
}

// key is what tells one channel from another.
type key struct {
	node, source string
	scope        power.Scope
	metric       power.Metric
}

// declaration is a channel, and whose it is.
type declaration struct {
	channel power.Channel
	target  int64 // 0: this machine
	every   time.Duration
}

func (d *declaration) key() key {
	return key{d.channel.Node, d.channel.Source, d.channel.Scope, d.channel.Metric}
}

// series is a channel with the readings that are still needed.
type series struct {
	key      key
	readings []power.Reading
	curve    *power.Curve // of the readings; nil: to be made, or of no energy
	fresh    bool         // curve is that of all readings
	again    int          // so many readings are worth forgetting some
}

// New makes the meter of a segment. Host is the name of this machine: readings
// and channels without a node are its. Of each channel so many readings may
// come before some should be forgotten; [Limit] is good.
func New(host string, limit int) *Meter {
	return &Meter{host: host, limit: limit, at: map[key]*series{}}
}

// node names the machine that a sensor is in.
func (m *Meter) node(name string) string { return cmp.Or(name, m.host) }

// Declare says what can be read, and of what can't, why.
func (m *Meter) Declare(s *collect.Sensors) {
	for _, c := range s.Channels {
		d := declaration{target: s.TargetID, every: time.Duration(s.EveryNS), channel: power.Channel{
			Node: m.node(c.Node), Source: c.Source, Scope: power.Scope(c.Scope), Metric: power.Metric(c.Metric), Unit: c.Unit,
			Refresh: time.Duration(c.RefreshNS), Range: c.Range, Stamped: c.Stamped, Devices: int(c.Devices),
			Missing: power.Reason(c.Missing), Note: c.Note,
		}}
		m.declared = append(m.declared, d)
		if s := m.at[d.key()]; s != nil {
			s.fresh = false
		}
	}
}

// Add takes readings.
func (m *Meter) Add(s *collect.Samples) {
	for _, r := range s.Samples {
		k := key{m.node(r.Node), r.Source, power.Scope(r.Scope), power.Metric(r.Metric)}
		of := m.at[k]
		if of == nil {
			of = &series{key: k, again: m.limit}
			m.at[k] = of
			m.series = append(m.series, of)
		}
		of.readings = append(of.readings, power.Reading{StartNS: r.StartNS, EndNS: r.EndNS, Value: r.Value})
		of.fresh = false
	}
}

// Sensed reports whether anything was read or declared.
func (m *Meter) Sensed() bool { return len(m.series) > 0 || len(m.declared) > 0 }

// Full is the stamp before which readings should be forgotten if nobody needs
// them; ok is false as long as there are few.
func (m *Meter) Full() (before int64, ok bool) {
	for _, s := range m.series {
		if len(s.readings) >= s.again {
			t := s.readings[len(s.readings)-m.limit/2].EndNS
			if !ok || t < before {
				before = t
			}
			ok = true
		}
	}
	return before, ok
}

// Declared are the machines of the sensors that were declared for a target, or
// with 0 for this machine.
func (m *Meter) Declared(target int64) []string {
	var nodes []string
	for _, d := range m.declared {
		if d.target == target {
			nodes = append(nodes, d.channel.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// Undeclared are the machines that have a reading of energy, in a segment that
// declared no sensors at all; else none.
func (m *Meter) Undeclared() []string {
	if len(m.declared) > 0 {
		return nil
	}
	var nodes []string
	for _, s := range m.series {
		if s.energetic() {
			nodes = append(nodes, s.key.node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func (s *series) energetic() bool {
	_, ok := power.KindOf(s.key.metric, nil)
	return ok
}

// undeclared is how often sensors are read that nobody declared: as often as
// sessions did before they said so.
const undeclared = time.Second

// described is the newest declaration of a series, which may have none.
func (m *Meter) described(s *series) declaration {
	for _, d := range slices.Backward(m.declared) {
		if d.key() == s.key {
			return d
		}
	}
	return declaration{every: undeclared, channel: power.Channel{Node: s.key.node, Source: s.key.source, Scope: s.key.scope, Metric: s.key.metric}}
}

// of is the series as package power takes it.
func (m *Meter) of(s *series) power.Series {
	return power.Series{Channel: m.described(s).channel, Readings: s.readings}
}

// curveOf is the curve of a series, nil if it says nothing of energy.
func (m *Meter) curveOf(s *series) *power.Curve {
	if !s.fresh {
		s.curve, s.fresh = m.of(s).Curve(m.described(s).every), true
	}
	return s.curve
}
