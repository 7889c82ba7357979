package power

import "time"

const (
	// foldBelow: a sensor that is renewed slowly may publish in two parts, and
	// only the last of them is complete.
	foldBelow = 50 * time.Millisecond
	// foldFrom is how slow such a sensor is.
	foldFrom = 200 * time.Millisecond
	// counterStep is how often the slowest of the fast counters is renewed.
	// Between two readings that are closer, all of a step may show.
	counterStep = 100 * time.Millisecond
)

// counterBuild makes points of a counter's readings. A reading equal to the
// one before means that the counter has not been renewed, not that nothing was
// used: it is no point. The renewal that follows was published at some time
// since the last equal reading, and that time goes into Curve.early.
type counterBuild struct {
	c       *Curve
	raw     float64 // the counter at the last point
	held    int64   // last reading that was equal to it
	seen    int64   // last reading at all
	longest int64   // between two readings since the last point
	folded  int64   // first stamp of the parts that are folded in the last point
	suspect *reading
}

func (c *Curve) addCounter(rs []reading) {
	b := counterBuild{c: c}
	for _, r := range rs {
		b.take(r)
	}
	b.end()
}

func (b *counterBuild) take(r reading) {
	if len(b.c.t) == 0 {
		b.add(r, 0, 0)
		return
	}
	b.settle(&r)
	b.longest = max(b.longest, r.end-b.seen)
	b.seen = r.end
	if r.value == b.raw && !b.c.opts.Stamped {
		b.held = r.end
		return
	}
	last := b.c.t[len(b.c.t)-1]
	joules, ok := b.step(b.raw, r.value, r.end-last)
	if !ok {
		b.suspect = &r
		return
	}
	b.add(r, joules, b.segment(r.end-last))
}

// step is what a counter counted between two values; ok is false where no
// device could have used that.
func (b *counterBuild) step(from, to float64, dt int64) (joules float64, ok bool) {
	joules = to - from
	if joules < 0 {
		joules += b.c.opts.Range
	}
	least := max(dt, int64(counterStep), int64(b.c.opts.Refresh))
	return joules, joules >= 0 && joules <= b.c.opts.maxW()*seconds(least)
}

// settle decides what a reading was that does not follow from the point before
// it: where next goes on from there, the counter had begun anew; else it was
// rubbish.
func (b *counterBuild) settle(next *reading) {
	s := b.suspect
	if s == nil {
		return
	}
	b.suspect = nil
	if _, ok := b.step(s.value, next.value, next.end-s.end); ok {
		b.add(*s, 0, reset|lost)
		return
	}
	b.c.rejected = append(b.c.rejected, s.end)
}

// end settles a last reading that nothing follows, and notes a counter that
// was no longer renewed.
func (b *counterBuild) end() {
	if s := b.suspect; s != nil && s.value < b.raw {
		b.add(*s, 0, reset|lost)
	} else if s != nil {
		b.c.rejected = append(b.c.rejected, s.end)
	}
	if n := len(b.c.t); n > 0 && b.held-b.c.t[n-1] >= int64(frozenAfter) {
		b.c.frozen = true
	}
}

// segment says what is wrong with the time dt since the last point. A counter
// counts on through a hole, so the bounds stand, unless it could have passed
// its range there unseen.
func (b *counterBuild) segment(dt int64) flag {
	o := b.c.opts
	var f flag
	if b.longest > o.hole() {
		f |= hole
		if o.Range > 0 && o.maxW()*seconds(dt) >= o.Range {
			f |= lost
		}
	}
	if b.held-b.c.t[len(b.c.t)-1] >= int64(frozenAfter) {
		f |= stale | lost
	}
	return f
}

func (b *counterBuild) add(r reading, joules float64, f flag) {
	c := b.c
	early := r.end
	if n := len(c.t); n > 0 && b.held > c.t[n-1] && f&reset == 0 {
		early = b.held
	}
	if b.folds(r, f) {
		n := len(c.t) - 1
		c.t[n], c.e[n] = r.end, c.e[n]+joules
	} else {
		c.point(r.end, joules, f)
		c.early = append(c.early, early)
		b.folded = r.end
	}
	b.raw, b.held, b.seen, b.longest = r.value, r.end, r.end, 0
}

func (b *counterBuild) folds(r reading, f flag) bool {
	return f == 0 && len(b.c.t) > 1 && b.c.opts.Refresh >= foldFrom && r.end-b.folded < int64(foldBelow)
}
