package power

import "sort"

// Rule says by which rule a window's energy was found. The words are part of
// the interface.
type Rule string

// The rules.
const (
	RuleCurve     Rule = "curve"      // ours
	RuleExoClient Rule = "exo_client" // exo-bench's trapezoid between the samples in the window
	RuleExoServer Rule = "exo_server" // what exo itself says
)

// Window is the energy of one channel, or of a sum of them, between two
// instants. What is not known is nil, and then Reason says why EnergyJ is.
type Window struct {
	Node, Source string
	Scope        Scope
	Rule         Rule

	From, To int64 // ns, on the readings' clock

	EnergyJ *float64
	// LowJ and HighJ bound the truth, within what the sensor itself does
	// wrong; see Indicative. They may be known where EnergyJ is not.
	LowJ, HighJ *float64
	MeanW       *float64 // EnergyJ over the window's time
	PeakW       *float64 // highest reading of power; nil of counters
	Samples     int64    // readings that renewed the sensor, edges included
	Rejected    int64    // readings that could not be used
	MaxGapS     *float64 // longest time between two points of the curve that is partly in the window
	Reason      Reason
	// Indicative: the bounds are none. Power was read at instants, or part of
	// the window was not read at all, and what happened between is not known.
	Indicative bool
}

// Unknown is a window of which nothing is known for a reason.
func Unknown(from, to int64, why Reason) Window {
	return Window{Rule: RuleCurve, From: from, To: to, Reason: why}
}

// Energy is the energy between two instants: E(to) − E(from), both
// interpolated, nothing extrapolated. The energies of adjoining windows add up.
//
// LowJ is what went through between the first and the last point inside the
// window, HighJ between the nearest points outside it: E never falls, so the
// truth is between, whatever happened between two points.
func (c *Curve) Energy(from, to int64) Window {
	w := Window{
		Node: c.node, Source: c.source, Scope: c.opts.Scope, Rule: RuleCurve, From: from, To: to,
		Rejected: int64(after(c.rejected, to) - from0(c.rejected, from)),
	}
	if from >= to {
		w.Reason = ReasonShortWindow
		return w
	}
	seen := c.look(from, to)
	w.Samples, w.MaxGapS, w.PeakW = seen.samples, seen.gap(), seen.peak
	w.Indicative = c.kind == Instant || seen.flags&bridged != 0
	w.Reason = c.unknown(from, to, seen)
	if c.reaches(from, to) && seen.flags&lost == 0 {
		c.bound(&w)
	}
	if w.Reason == "" {
		joules := c.at(to) - c.at(from)
		mean := joules / seconds(to-from)
		w.EnergyJ, w.MeanW = &joules, &mean
	}
	return w
}

// reaches reports whether there are points on either side of a window.
func (c *Curve) reaches(from, to int64) bool {
	n := len(c.t)
	return n > 0 && c.t[0] <= from && to <= c.t[n-1]
}

// Phases are the energies before and after the first output. They add up to
// that of the whole.
func (c *Curve) Phases(start, firstOutput, end int64) (prefill, generation Window) {
	return c.Energy(start, firstOutput), c.Energy(firstOutput, end)
}

// NetJ is what a window took above idle power: EnergyJ − idleW × time. It may
// be negative. Nil where either is not known.
func (w Window) NetJ(idleW *float64) *float64 {
	if w.EnergyJ == nil || idleW == nil {
		return nil
	}
	net := *w.EnergyJ - *idleW*seconds(w.To-w.From)
	return &net
}

// from0 is the index of the first stamp that is not before t.
func from0(ts []int64, t int64) int {
	return sort.Search(len(ts), func(i int) bool { return ts[i] >= t })
}

// after is the index of the first stamp that is after t.
func after(ts []int64, t int64) int {
	return sort.Search(len(ts), func(i int) bool { return ts[i] > t })
}

// sight is what a window sees of the curve.
type sight struct {
	samples int64
	longest int64 // ns, of the segments
	flags   flag  // of the segments
	peak    *float64
	// spread is Σ time in the window × length of its segment, in s². Over the
	// window's time that is how coarsely the window is seen.
	spread float64
}

func (s sight) gap() *float64 {
	if s.longest == 0 {
		return nil
	}
	g := seconds(s.longest)
	return &g
}

// look goes over the points in a window and the segments that reach into it.
func (c *Curve) look(from, to int64) sight {
	var s sight
	for i := from0(c.t, from); i < len(c.t); i++ {
		if c.t[i] <= to && c.flags[i]&opening == 0 {
			s.samples++
			if c.kind == Instant {
				s.top(c.w[i])
			}
		}
		if i > 0 && c.t[i] > from && c.t[i-1] < to {
			s.segment(c, i, from, to)
		}
		if c.t[i] >= to {
			break
		}
	}
	return s
}

func (s *sight) segment(c *Curve, i int, from, to int64) {
	length := c.t[i] - c.t[i-1]
	inside := min(to, c.t[i]) - max(from, c.t[i-1])
	s.longest = max(s.longest, length)
	s.flags |= c.flags[i]
	s.spread += seconds(inside) * seconds(length)
	if c.kind == Average && c.flags[i]&(hole|bridged) == 0 {
		s.top((c.e[i] - c.e[i-1]) / seconds(length))
	}
}

func (s *sight) top(watts float64) {
	if s.peak == nil || watts > *s.peak {
		s.peak = &watts
	}
}

// rounding keeps a window of exactly half a renewal from being short by chance.
const rounding = 1e-9

// unknown is why the energy of a window is not known; empty: it is.
func (c *Curve) unknown(from, to int64, seen sight) Reason {
	switch {
	case len(c.t) == 0:
		return ReasonNoReading
	case !c.reaches(from, to) && from >= c.t[0] && c.frozen:
		return ReasonFrozen
	case !c.reaches(from, to):
		return ReasonUncovered
	case seen.flags&reset != 0:
		return ReasonCounterReset
	case seen.flags&stale != 0:
		return ReasonFrozen
	case seen.flags&hole != 0:
		return ReasonGap
	}
	// Shorter than half of what the sensor resolves here: of its renewals
	// where they are known, else of the readings around.
	length := seconds(to - from)
	if 2*length < (1-rounding)*max(c.opts.Refresh.Seconds(), seen.spread/length) {
		return ReasonShortWindow
	}
	return ""
}

// bound fills the bounds of a window that the points reach round.
func (c *Curve) bound(w *Window) {
	firstIn, lastIn := c.certain(w.From), after(c.t, w.To)-1
	lastBefore, firstAfter := after(c.t, w.From)-1, c.certain(w.To)
	low, high := 0.0, 0.0
	if firstIn < lastIn {
		low = c.e[lastIn] - c.e[firstIn]
	}
	if firstAfter == len(c.t) {
		// The last renewal may have come before the window's end: what
		// went through since then nobody counted.
		firstAfter--
		w.Indicative = true
	}
	high = c.e[firstAfter] - c.e[lastBefore]
	w.LowJ, w.HighJ = &low, &high
}

// certain is the first point that is certainly not before t.
func (c *Curve) certain(t int64) int {
	if c.kind == Counter {
		return from0(c.early, t)
	}
	return from0(c.t, t)
}

// at is E at an instant that the points reach round.
func (c *Curve) at(t int64) float64 {
	i := from0(c.t, t)
	if c.t[i] == t {
		return c.e[i]
	}
	dt, length := seconds(t-c.t[i-1]), seconds(c.t[i]-c.t[i-1])
	share := c.e[i] - c.e[i-1]
	if c.kind == Instant {
		// The integral of a power that goes from w[i-1] to w[i] in a line.
		share = dt * (c.w[i-1] + (c.w[i]-c.w[i-1])*dt/length/2)
	} else {
		share *= dt / length
	}
	return min(max(c.e[i-1]+share, c.e[i-1]), c.e[i])
}
