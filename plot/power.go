package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// PowerOptions choose a part of the session. The zero value is all of it.
type PowerOptions struct {
	Node, Source, Scope string
	// The time of these alone, with all that happened meanwhile; 0: any.
	Target, Case, Batch int64
}

const (
	maxNodes  = 8 // panels on a page
	maxScopes = 7 // colours: dashes can't be told apart in a trace
)

// during says in the title what of the session is shown.
func (o PowerOptions) during() string {
	switch {
	case o.Batch != 0:
		return fmt.Sprintf(" during batch %d", o.Batch)
	case o.Case != 0:
		return fmt.Sprintf(" while the batches of case %d ran", o.Case)
	}
	return " while the batches ran"
}

// Power shows the power of each sensor over the time of one session: a panel a
// node, a line a scope, and behind them the batches with their phases and the
// quiet windows. Counters and averages are steps, each as high as the mean
// power of its time; instants are joined. A line is interrupted where the power
// is not known. Where there are more readings than a line has room for, it is
// the mean of a short time each, with the range of values behind it.
//
// It refuses a session without readings of power, and more nodes or scopes than
// fit.
func Power(s analyze.PowerSession, opt PowerOptions) (*Figure, error) {
	channels, err := channelsOf(s, opt)
	if err != nil {
		return nil, err
	}
	c := newClock(s.Segments, usedTimes(&s, channels))
	window, err := windowOf(&s, channels, c, opt)
	if err != nil {
		return nil, err
	}
	names, shared := styled(channels)
	panels, err := tracePanels(channels, c, window)
	if err != nil {
		return nil, err
	}
	bands, phased := bandsOf(&s, c, window)
	lanes, lanesNote := lanesOf(&s, c, window)
	fig := &Figure{
		Title:    "Power of " + nodesTitle(channels) + opt.during(),
		Subtitle: powerSubtitle(&s, channels),
		Panels:   panels,
		Legend:   names,
		Bands:    kindsOf(bands),
	}
	fig.Panels[0].Lanes = lanes
	for i := range fig.Panels {
		fig.Panels[i].Bands = bands
	}
	fig.titleOnce()
	fig.cut(c, window)
	fig.Notes = append(traceNotes(channels, fig.Panels, window), shared, gapsNote(fig.Panels), rejectedNote(channels),
		axesNote(fig.Panels), cutsNote(fig.Panels, c), phasesNote(phased), lanesNote)
	return fig.finished(), nil
}

// cut marks where time is left out of the axis.
func (f *Figure) cut(c clock, window stretch) {
	for i := range f.Panels {
		p := &f.Panels[i]
		for _, k := range c.cuts {
			if k.at > window.from && k.at < window.to {
				p.Cuts = append(p.Cuts, k.at)
			}
		}
		if p.Cuts != nil {
			p.X.Label = strings.Replace(p.X.Label, "since the session began", "of the session, without the pause", 1)
		}
	}
}

// usedTimes is when there was something to show in each segment.
func usedTimes(s *analyze.PowerSession, channels []*channel) map[int64]stretch {
	used := map[int64]stretch{}
	grow := func(segment, from, to int64) {
		u, ok := used[segment]
		if !ok {
			u = nothing()
		}
		used[segment] = u.with(stretch{float64(from) / 1e9, float64(to) / 1e9})
	}
	for _, c := range channels {
		for _, p := range c.parts {
			if n := len(p.Stretches); n > 0 {
				grow(p.Segment, p.Stretches[0].FromNS, p.Stretches[n-1].ToNS)
			}
		}
	}
	for _, b := range s.Batches {
		grow(b.Segment, b.StartNS, b.EndNS)
	}
	for _, i := range s.Idle {
		grow(i.Segment, i.StartNS, i.EndNS)
	}
	return used
}

// windowOf is the time to show: that of the batches and the quiet windows
// before them, and a little on both sides.
func windowOf(s *analyze.PowerSession, channels []*channel, c clock, opt PowerOptions) (stretch, error) {
	w := nothing()
	for _, b := range s.Batches {
		if (opt.Target == 0 || b.TargetID == opt.Target) && (opt.Case == 0 || b.CaseID == opt.Case) && (opt.Batch == 0 || b.BatchID == opt.Batch) {
			w = w.with(stretch{c.at(b.Segment, b.StartNS), c.at(b.Segment, b.EndNS)})
		}
	}
	chosen := opt.Target != 0 || opt.Case != 0 || opt.Batch != 0
	if chosen && w.length() < 0 {
		return w, fmt.Errorf("session %s has no such batch: `tokwatt query \"select target_id, case_id, batch_id from batches join cases using (session_id, case_id)\"` lists them", shortID(s.SessionID))
	}
	if !chosen {
		for _, i := range s.Idle {
			w = w.with(stretch{c.at(i.Segment, i.StartNS), c.at(i.Segment, i.EndNS)})
		}
	}
	if w.length() < 0 { // nothing ran
		for segment, u := range usedTimes(s, channels) {
			o := c.offset[segment]
			w = w.with(stretch{o + u.from, o + u.to})
		}
	}
	margin := math.Max(0.03*w.length(), 0.05)
	w = stretch{w.from - margin, w.to + margin}
	if w.length() > 1e9 {
		return w, errors.New("the session's times are over 30 years apart, which no axis shows: `tokwatt check` looks at the store")
	}
	return w, nil
}

// nodesOf are the nodes of which something is drawn.
func nodesOf(channels []*channel) []string {
	var nodes []string
	for _, ch := range channels {
		if ch.drawn() && !slices.Contains(nodes, ch.node) {
			nodes = append(nodes, ch.node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// tracePanels makes a panel for each node, on one axis of time.
func tracePanels(channels []*channel, c clock, window stretch) ([]Panel, error) {
	styles := 0
	for _, ch := range channels {
		styles = max(styles, ch.style+1)
	}
	nodes := nodesOf(channels)
	if n := len(nodes); n > maxNodes {
		return nil, fmt.Errorf("%d nodes do not fit one figure, %d do: choose one with --where node=NAME", n, maxNodes)
	}
	if styles > maxScopes {
		return nil, fmt.Errorf("%d scopes cannot be told apart in one figure, at most %d can: choose one with --where scope=NAME", styles, maxScopes)
	}
	var panels []Panel
	for _, node := range nodes {
		p := Panel{Title: node, Kind: Traces, X: timeAxis(window)}
		for _, ch := range channels {
			if ch.node != node || !ch.drawn() {
				continue
			}
			t := drawTrace(ch.parts, c, window)
			t.Name, t.Style = ch.name, ch.style
			if t.Lines != nil || t.Columns != nil {
				p.Traces = append(p.Traces, t)
			}
		}
		panels = append(panels, p)
	}
	powerAxes(panels)
	return panels, nil
}

// unlikeRanges is from which factor between the nodes' highest powers on each
// has an axis of its own: on one the lower ones would be flat.
const unlikeRanges = 5

// powerAxes gives the panels one axis from 0, or each its own where the nodes
// are too unlike.
func powerAxes(panels []Panel) {
	tops := make([]float64, len(panels))
	for i, p := range panels {
		tops[i] = p.highest()
	}
	most := slices.Max(tops)
	shared := slices.Min(tops) > 0 && most < unlikeRanges*slices.Min(tops)
	for i := range panels {
		p := &panels[i]
		top := tops[i]
		if shared {
			top = most
		}
		p.Y.Label = "Power (W)"
		p.Y.Ticks, p.Y.Max = fromZero(top * 1.05)
		if i < len(panels)-1 {
			p.X.Label = ""
		}
	}
}

func (p Panel) highest() float64 {
	top := 0.0
	for _, t := range p.Traces {
		for _, l := range t.Lines {
			for _, v := range l {
				top = math.Max(top, v.V)
			}
		}
		for _, r := range t.Columns {
			for _, c := range r {
				top = math.Max(top, c.Hi)
			}
		}
	}
	return top
}
