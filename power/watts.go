package power

// jitter is the share of an average's length by which stamps of averages that
// follow one another may miss each other, a twentieth: they are often counted
// back from when the reading arrived. Within that they are taken to adjoin.
const jitter = 20

// addAverages makes slopes of averages that follow one another. One that
// overlaps with what is there is left out: its own part of the energy can't be
// told. (Trailing averages that are read more often than they are long: one in
// so many is taken, and those bound the energy.)
func (c *Curve) addAverages(rs []reading) {
	var before float64 // W
	for i, r := range rs {
		slack := (r.end - r.start) / jitter
		n := len(c.t)
		if n == 0 {
			c.point(r.start, 0, opening)
		} else if gap := r.start - c.t[n-1]; gap < -slack {
			continue
		} else if gap > c.opts.hole() {
			c.point(r.start, 0, c.holeAfter(rs[i-1])|opening)
		} else if gap > slack {
			c.point(r.start, (before+r.value)/2*seconds(gap), bridged|opening)
		}
		c.point(r.end, r.value*seconds(r.end-c.t[len(c.t)-1]), 0)
		before = r.value
	}
}

// addInstants joins readings by straight lines of power.
func (c *Curve) addInstants(rs []reading) {
	for i, r := range rs {
		var f flag
		var joules float64
		if i > 0 {
			dt := r.end - rs[i-1].end
			if dt > c.opts.hole() {
				f = c.holeAfter(rs[i-1])
			} else {
				joules = (rs[i-1].value + r.value) / 2 * seconds(dt)
			}
		}
		c.point(r.end, joules, f)
		c.w = append(c.w, r.value)
	}
}

// holeAfter is the hole after r, where nothing is known of the power. If r was
// read all along, the sensor was at fault, not who read it.
func (c *Curve) holeAfter(r reading) flag {
	if c.repeated(r) {
		return hole | stale | lost
	}
	return hole | lost
}
