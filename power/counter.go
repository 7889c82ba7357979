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
	last    reading   // of the last point
	held    int64     // when it was last read again
	longest int64     // between two readings since the last point
	folded  int64     // first stamp of the parts that are folded in the last point
	suspect []reading // one and the same value that does not follow from the last point
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
	if b.settle(r) {
		return
	}
	if r.value == b.last.value && !b.c.opts.Stamped {
		b.hold(r)
		return
	}
	joules, ok := b.step(b.last.value, r.value, r.end-b.last.end)
	if !ok {
		b.suspect = append(b.suspect, r)
		return
	}
	b.add(r, joules, b.segment(r.end))
}

// hold takes a reading of a counter that was not renewed.
func (b *counterBuild) hold(r reading) {
	b.longest = max(b.longest, r.end-b.held)
	b.held = r.end
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

// settle decides what a value was that does not follow from the point before
// it: where next goes on from there, the counter had begun anew; else it was
// rubbish. It reports whether next is the same again and decides nothing.
func (b *counterBuild) settle(next reading) (again bool) {
	if len(b.suspect) == 0 {
		return false
	}
	s := b.suspect[0]
	if next.value == s.value {
		b.suspect = append(b.suspect, next)
		return true
	}
	if _, ok := b.step(s.value, next.value, next.end-s.end); ok {
		b.begin()
	} else {
		b.reject()
	}
	return false
}

// begin makes the suspect the first point of a counter that began anew, and
// what repeated it, readings that did not renew it.
func (b *counterBuild) begin() {
	s := b.suspect
	b.add(s[0], 0, reset|lost)
	for _, r := range s[1:] {
		b.hold(r)
	}
	b.suspect = b.suspect[:0]
}

func (b *counterBuild) reject() {
	for _, r := range b.suspect {
		b.c.rejected = append(b.c.rejected, r.end)
	}
	b.suspect = b.suspect[:0]
}

// end settles a last value that nothing follows, and notes a counter that was
// no longer renewed.
func (b *counterBuild) end() {
	if len(b.suspect) > 0 && b.suspect[0].value < b.last.value {
		b.begin()
	}
	b.reject()
	if b.held-b.last.end >= int64(frozenAfter) {
		b.c.frozen = true
	}
}

// segment says what is wrong with the time from the last point to t. A counter
// counts on through a hole, so the bounds stand, unless it could have passed
// its range there unseen.
func (b *counterBuild) segment(t int64) flag {
	o := b.c.opts
	var f flag
	if max(b.longest, t-b.held) > o.hole() {
		f |= hole
		if o.Range > 0 && o.maxW()*seconds(t-b.last.end) >= o.Range {
			f |= lost
		}
	}
	if b.held-b.last.end >= int64(frozenAfter) || f&hole != 0 && b.c.repeated(b.last) {
		f |= stale | lost
	}
	return f
}

func (b *counterBuild) add(r reading, joules float64, f flag) {
	c := b.c
	early := r.end
	if len(c.t) > 0 && b.held > b.last.end && f&reset == 0 {
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
	b.last, b.held, b.longest = r, r.end, 0
}

func (b *counterBuild) folds(r reading, f flag) bool {
	return f == 0 && len(b.c.t) > 1 && b.c.opts.Refresh >= foldFrom && r.end-b.folded < int64(foldBelow)
}
