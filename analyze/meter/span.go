package meter

import (
	"slices"
	"sort"
	"time"

	"tokwatt/power"
)

// Span is a window whose end is still to come. The energies of its parts add
// up, and so do their bounds, since parts meet at a reading: there E is known
// exactly.
type Span struct {
	From, To int64 // To may grow
	parts    map[*series]*part
}

// part is what a span has of the readings of a series that are gone.
type part struct {
	sum power.Window // from the span's start to cut
	cut int64
	// ended is the whole span as long as it does not grow beyond to, which lay
	// before cut.
	ended *power.Window
	to    int64
}

// Begin starts a span.
func (m *Meter) Begin(from int64) *Span {
	s := &Span{From: from, To: from, parts: map[*series]*part{}}
	m.spans = append(m.spans, s)
	return s
}

// End has the windows of a span and lets go of it.
func (m *Meter) End(s *Span) []power.Window {
	var out []power.Window
	for _, of := range m.series {
		if c := m.curveOf(of); c != nil {
			out = append(out, s.whole(of, c))
		}
	}
	m.spans = slices.DeleteFunc(m.spans, func(other *Span) bool { return other == s })
	return append(out, m.silent(s.From, s.To)...)
}

// whole is the window of a span in one series.
func (s *Span) whole(of *series, c *power.Curve) power.Window {
	p := s.parts[of]
	switch {
	case p == nil:
		return c.Energy(s.From, s.To)
	case p.ended != nil && p.to == s.To:
		return *p.ended
	}
	return join(p.sum, c.Energy(p.cut, s.To))
}

// margin is what is kept before the instant that a series is cut at: long
// enough that the curve of the rest knows what the whole one knew there.
const margin = time.Minute

func (d *declaration) margin() int64 {
	return int64(max(margin, 4*d.every, 4*d.channel.Refresh))
}

// Forget lets go of readings that nobody needs whose windows begin at before or
// later. Spans keep what they need of them.
func (m *Meter) Forget(before int64) {
	for _, s := range m.series {
		d := m.described(s)
		c := m.curveOf(s)
		slices.SortStableFunc(s.readings, byStamp)
		cut := s.cut(before - d.margin())
		if c != nil {
			for _, span := range m.spans {
				span.fold(s, c, cut)
			}
		}
		keep := sort.Search(len(s.readings), func(i int) bool { return s.readings[i].EndNS >= cut-d.margin() })
		s.readings = slices.Clone(s.readings[keep:])
		s.fresh = s.fresh && keep == 0
		s.again = max(m.limit, len(s.readings)+m.limit/2)
	}
}

func byStamp(a, b power.Reading) int {
	switch {
	case a.EndNS < b.EndNS:
		return -1
	case a.EndNS > b.EndNS:
		return 1
	}
	return 0
}

// cut is the stamp of the last reading up to before that is certainly a point
// of the curve: one that differs from the reading before it.
func (s *series) cut(before int64) int64 {
	for i := sort.Search(len(s.readings), func(i int) bool { return s.readings[i].EndNS > before }) - 1; i > 0; i-- {
		if s.key.metric != power.MetricEnergy || s.readings[i].Value != s.readings[i-1].Value {
			return s.readings[i].EndNS
		}
	}
	return before
}

// fold takes what the span has of a series up to cut.
func (s *Span) fold(of *series, c *power.Curve, cut int64) {
	p := s.parts[of]
	from := s.From
	if p != nil {
		from = p.cut
	}
	if from >= cut {
		return
	}
	if p == nil {
		p = &part{cut: s.From}
		s.parts[of] = p
	}
	if s.To > p.cut && s.To <= cut {
		whole := s.extend(p, c, s.To)
		p.ended, p.to = &whole, s.To
	}
	p.sum, p.cut = s.extend(p, c, cut), cut
}

// extend is the span up to an instant behind the part's cut.
func (s *Span) extend(p *part, c *power.Curve, to int64) power.Window {
	w := c.Energy(p.cut, to)
	if p.cut == s.From {
		return w
	}
	return join(p.sum, w)
}

// join is the window of two that meet at a reading.
func join(a, b power.Window) power.Window {
	out := b
	out.From = a.From
	out.EnergyJ, out.LowJ, out.HighJ = plus(a.EnergyJ, b.EnergyJ), plus(a.LowJ, b.LowJ), plus(a.HighJ, b.HighJ)
	out.MeanW = nil
	if out.EnergyJ != nil {
		mean := *out.EnergyJ / (float64(b.To-a.From) / 1e9)
		out.MeanW = &mean
	}
	out.PeakW, out.MaxGapS = largest(a.PeakW, b.PeakW), largest(a.MaxGapS, b.MaxGapS)
	out.Samples = a.Samples + b.Samples
	if a.Samples > 0 && b.Samples > 0 {
		out.Samples-- // the reading that they meet at
	}
	out.Rejected += a.Rejected
	if a.Reason != "" {
		out.Reason = a.Reason
	}
	out.Indicative = a.Indicative || b.Indicative
	return out
}

func plus(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

func largest(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
