package power

import "iter"

// Stretch is a part of a curve between two points that follow one another. A
// counter or an average has one power all along; between two instants it is a
// straight line. One of no length is an instant that nothing joins.
type Stretch struct {
	FromNS, ToNS int64
	FromW, ToW   float64
}

// Stretches are the parts of the curve of which the power is known, in order of
// time. The area under them is the energy; where one does not begin at the end
// of the other, nothing is known.
func (c *Curve) Stretches() iter.Seq[Stretch] {
	return func(yield func(Stretch) bool) {
		for i := range c.t {
			if s, ok := c.stretch(i); ok && !yield(s) {
				return
			}
		}
	}
}

// stretch ends at a point. An instant is one by itself if neither side of it is
// joined to another.
func (c *Curve) stretch(i int) (s Stretch, ok bool) {
	if !c.joined(i) {
		if c.kind != Instant || c.joined(i+1) {
			return s, false
		}
		return Stretch{c.t[i], c.t[i], c.w[i], c.w[i]}, true
	}
	s = Stretch{FromNS: c.t[i-1], ToNS: c.t[i]}
	if c.kind == Instant {
		s.FromW, s.ToW = c.w[i-1], c.w[i]
		return s, true
	}
	s.FromW = (c.e[i] - c.e[i-1]) / seconds(s.ToNS-s.FromNS)
	s.ToW = s.FromW
	return s, true
}

// joined reports whether the time from the point before is known.
func (c *Curve) joined(i int) bool {
	return i > 0 && i < len(c.t) && c.flags[i]&(hole|stale|reset|lost) == 0
}
