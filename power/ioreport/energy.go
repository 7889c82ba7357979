package ioreport

import (
	"slices"
	"time"

	"tokwatt/power"
)

// How counters behave that drivers publish when they like.
const (
	// silence after which a channel counts as frozen. Batches come every 2.1 s.
	silence = 10 * time.Second
	// standstill: the CPU on which this runs uses millijoules in a tenth of it.
	standstill = time.Second
	// lead by which a stamp may be ahead of us before it can't be of our clock.
	lead = time.Second
	// batch is how often drivers publish that don't when they are read
	// (2.03 to 2.23 s), as long as we have not seen it ourselves.
	batch = 2100 * time.Millisecond
	// maxPoints that are kept of a channel: what others of its rail may lag
	// behind, 2.2 s at 4 Hz, several times over.
	maxPoints = 64
)

// point: at tick, a counter stood at joules.
type point struct {
	tick   uint64
	joules float64
}

// member is one channel of a rail.
type member struct {
	index int     // in the snapshot
	unit  float64 // joules a count
	// points are those still needed, oldest first.
	points []point
	count  int64  // at the last reading
	stamp  uint64 // at the last reading, raw
	seen   uint64 // tick of the last reading
	// observed: its stamps are of no use, it is timed by our looking at it.
	// Once so, always so: a curve may not mix the two.
	observed bool
	valid    bool // the last reading had a value
	// spacing is the longest time between two publications that were not
	// caused by our reading; 0: none seen.
	spacing time.Duration
}

// take adds a reading. Where that shows that the stamps were never any good it
// returns the tick of the reading before, at which the counter had then the
// value that it was given at its stamp.
func (m *member) take(r reading, s *snapshot) (rebased uint64) {
	m.valid = r.count != invalid
	if !m.valid {
		return 0
	}
	seenBefore := m.seen
	tick, fresh := m.when(r, s)
	if m.observed && m.stamp != 0 && seenBefore != 0 {
		m.push(point{seenBefore, float64(m.count) * m.unit}) // what the stamps said is past
		rebased, m.stamp = seenBefore, 0
	}
	m.seen = s.ended
	if !fresh {
		return rebased
	}
	if n := len(m.points); n > 0 && tick < s.began {
		// Between readings further apart than that there may have been others.
		if gap := s.ticks.between(m.points[n-1].tick, tick); gap > 2*s.ticks.between(seenBefore, s.ended) {
			m.spacing = max(m.spacing, gap)
		}
	}
	m.push(point{tick, float64(r.count) * m.unit})
	m.count = r.count
	if !m.observed {
		m.stamp = r.stamp
	}
	return rebased
}

// when is the tick at which the counter had r's value, and whether that is news.
func (m *member) when(r reading, s *snapshot) (tick uint64, fresh bool) {
	if m.observed {
		return s.ended, true
	}
	first, moved := m.seen == 0, r.count != m.count
	ahead := r.stamp > s.ended && s.ticks.between(s.ended, r.stamp) > lead
	standing := !first && r.stamp <= m.stamp
	if r.stamp == 0 || ahead || standing && moved {
		m.observed = true
		return s.ended, true
	}
	return min(r.stamp, s.ended), !standing
}

// push appends p. A counter that fell has begun anew: nothing before it can be
// interpolated with.
func (m *member) push(p point) {
	if n := len(m.points); n > 0 {
		switch last := m.points[n-1]; {
		case p.joules < last.joules:
			m.points = m.points[:0]
		case p.tick <= last.tick:
			m.points = m.points[:n-1]
		}
	}
	if len(m.points) == maxPoints {
		m.points = slices.Delete(m.points, 0, 1)
	}
	m.points = append(m.points, p)
}

func (m *member) newest() uint64 {
	if len(m.points) == 0 {
		return 0
	}
	return m.points[len(m.points)-1].tick
}

// at is the counter at tick: a point's, or between two on the straight line.
func (m *member) at(tick uint64) (float64, bool) {
	i, exact := slices.BinarySearchFunc(m.points, tick, func(p point, t uint64) int {
		switch {
		case p.tick < t:
			return -1
		case p.tick > t:
			return 1
		}
		return 0
	})
	if exact {
		return m.points[i].joules, true
	}
	if i == 0 || i == len(m.points) {
		return 0, false
	}
	a, b := m.points[i-1], m.points[i]
	return a.joules + (b.joules-a.joules)*float64(tick-a.tick)/float64(b.tick-a.tick), true
}

// forget drops the points before the last one that is not after tick.
func (m *member) forget(tick uint64) {
	i := 0
	for i+1 < len(m.points) && m.points[i+1].tick <= tick {
		i++
	}
	m.points = slices.Delete(m.points, 0, i)
}

// rail is an energy counter: the sum of its members.
type rail struct {
	railSpec
	members []*member
	missing error // why there is none
	sent    point // the last one given out
	still   point // since when the sum has been what it is
}

func newRail(spec railSpec, channels []channel) *rail {
	r := &rail{railSpec: spec}
	for _, i := range spec.members(channels) {
		unit, err := joules(channels[i].unit)
		if err != nil {
			r.missing = missing(power.ReasonNoChannel, "IOReport's channel "+channels[i].name+" can't be read: "+err.Error())
			r.members = nil
			return r
		}
		r.members = append(r.members, &member{index: i, unit: unit})
	}
	if r.members == nil {
		r.missing = missing(power.ReasonNoChannel, "this chip has no such channel in IOReport's Energy Model")
	}
	return r
}

// take adds a snapshot and appends to out what is newly known of the sum: it is
// known up to the instant up to which all members are.
func (r *rail) take(s *snapshot, out []point) []point {
	if r.missing != nil {
		return out
	}
	var rebased uint64
	for _, m := range r.members {
		rebased = max(rebased, m.take(s.readings[m.index], s))
	}
	if p, ok := r.sum(rebased); ok {
		r.sent = p
		out = append(out, p)
	}
	if p, ok := r.sum(r.known()); ok && r.worth(p, s) {
		r.sent = p
		out = append(out, p)
	}
	for _, m := range r.members {
		m.forget(r.sent.tick)
	}
	return out
}

// known is the last tick at which all members are known.
func (r *rail) known() uint64 {
	tick := r.members[0].newest()
	for _, m := range r.members {
		if !m.valid {
			return 0
		}
		tick = min(tick, m.newest())
	}
	return tick
}

// sum is all members at tick. Without one of them it is no sum.
func (r *rail) sum(tick uint64) (point, bool) {
	if tick <= r.sent.tick {
		return point{}, false
	}
	p := point{tick: tick}
	for _, m := range r.members {
		j, ok := m.at(tick)
		if !ok {
			return point{}, false
		}
		p.joules += j
	}
	if p.joules != r.still.joules || r.still.tick == 0 {
		r.still = p
	}
	return p, true
}

// worth reports whether a point is to be given out: not one of a counter that
// is frozen, nor of one that should have moved. A driver's batch may come in
// two parts, 9 to 29 ms apart, of which the second completes the first; both are
// given out, since the curve over them can tell which is which.
func (r *rail) worth(p point, s *snapshot) bool {
	if s.ticks.between(p.tick, s.ended) > silence {
		return false
	}
	return !r.neverStill || p.joules != 0 && p.joules != r.sent.joules
}

// state says why the rail can't be read at the moment of s, nil where it can.
func (r *rail) state(s *snapshot) error {
	switch {
	case r.missing != nil:
		return r.missing
	case slices.ContainsFunc(r.members, func(m *member) bool { return !m.valid }):
		return missing(power.ReasonNoReading, "the driver has no value for "+r.names(s))
	case s.ticks.between(r.known(), s.ended) > silence:
		return missing(power.ReasonFrozen, "the driver has not renewed "+r.names(s)+" for over 10 s; waking the machine from sleep causes it, a restart mends it")
	case r.neverStill && (r.still.joules == 0 || s.ticks.between(r.still.tick, r.known()) >= standstill):
		return missing(power.ReasonFrozen, r.names(s)+" stands still, which it can't in a machine that runs; some releases of macOS 27 do that")
	}
	return nil
}

func (r *rail) names(s *snapshot) string {
	name := s.channels[r.members[0].index].name
	if n := len(r.members); n > 1 {
		name += " and the like"
	}
	return name
}

// refresh is how often the rail is renewed: 0 where each reading does it.
func (r *rail) refresh(s *snapshot) time.Duration {
	var longest time.Duration
	for _, m := range r.members {
		if m.spacing == 0 && m.newest() < s.began {
			longest = max(longest, batch)
		}
		longest = max(longest, m.spacing)
	}
	return longest
}

// stamped reports whether the driver times all of it.
func (r *rail) stamped() bool {
	return !slices.ContainsFunc(r.members, func(m *member) bool { return m.observed })
}
