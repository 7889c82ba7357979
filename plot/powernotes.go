package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tokwatt/analyze"
)

func nodesTitle(channels []*channel) string {
	nodes := nodesOf(channels)
	if len(nodes) == 1 {
		return nodes[0]
	}
	return plural(len(nodes), "node", "nodes")
}

// powerSubtitle names what was measured.
func powerSubtitle(s *analyze.PowerSession, channels []*channel) string {
	var parts []string
	if _, shared := targetNames(s.Targets); shared != "" {
		parts = append(parts, shared)
	}
	if !slices.Contains(nodesOf(channels), s.Host) {
		parts = append(parts, "measured from "+s.Host)
	}
	return strings.Join(append(parts, "session "+shortID(s.SessionID)), " · ")
}

// traceNotes say how each line was made.
func traceNotes(channels []*channel, panels []Panel, window stretch) []string {
	var notes []string
	for _, kind := range []struct {
		rank int
		says string
	}{
		{0, "Steps (%s): the mean between two readings of an energy counter."},
		{1, "Steps (%s): averages, as the sensor gives them."},
		{2, "Joined points (%s): readings of instants; what was between them is not known."},
	} {
		if names := ofRank(channels, kind.rank); names != nil {
			notes = append(notes, fmt.Sprintf(kind.says, strings.Join(names, ", ")))
		}
	}
	if slices.ContainsFunc(panels, func(p Panel) bool { return len(p.Traces) > 1 }) {
		notes = append(notes, "Shapes on lines tell them apart, and are no readings.")
	}
	for _, p := range panels {
		for _, t := range p.Traces {
			if t.Columns != nil {
				return append(notes, fmt.Sprintf("Where a line has more readings than room: the mean of every %s, and shaded the range from the lowest to the highest.",
					lasting(window.length()/traceColumns)))
			}
		}
	}
	return notes
}

func ofRank(channels []*channel, wanted int) []string {
	var names []string
	for _, c := range channels {
		for _, p := range c.parts {
			if len(p.Stretches) > 0 && rank(p) == wanted && !slices.Contains(names, c.name) {
				names = append(names, c.name)
			}
		}
	}
	return names
}

// gapsNote counts the times of which nothing is known, one that several
// sensors of a node share once.
func gapsNote(panels []Panel) string {
	n, longest := 0, 0.0
	for _, p := range panels {
		var gaps []Gap
		for _, t := range p.Traces {
			gaps = append(gaps, t.Gaps...)
		}
		slices.SortFunc(gaps, func(a, b Gap) int { return cmp.Compare(a.From, b.From) })
		end := math.Inf(-1)
		for _, g := range gaps {
			if slices.ContainsFunc(p.Cuts, func(c float64) bool { return g.From <= c && c <= g.To }) {
				continue // where nobody ran
			}
			if g.From >= end {
				n++
			}
			longest, end = math.Max(longest, g.To-g.From), math.Max(end, g.To)
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Lines are interrupted where there was no usable reading: once, for %s.", lasting(longest))
	}
	return fmt.Sprintf("Lines are interrupted where there was no usable reading: %d times, for %s at most.", n, lasting(longest))
}

// cutsNote says what the axis leaves out, where it does.
func cutsNote(panels []Panel, c clock) string {
	if len(panels[0].Cuts) == 0 {
		return ""
	}
	return c.note()
}

func phasesNote(phased bool) string {
	if phased {
		return ""
	}
	return "The batches are too short here for their phases to be seen: choose one with --where batch_id=N."
}

// axesNote says that the nodes' axes differ.
func axesNote(panels []Panel) string {
	if slices.ContainsFunc(panels, func(p Panel) bool { return p.Y.Max != panels[0].Y.Max }) {
		return "Each node has an axis of power of its own."
	}
	return ""
}

// rejectedNote counts readings that are not in the lines, and names sensors of
// which none is.
func rejectedNote(channels []*channel) string {
	n := 0
	var mute []string
	for _, c := range channels {
		for _, p := range c.parts {
			n += p.Rejected
		}
		if !c.drawn() {
			mute = append(mute, c.name+" of "+c.node)
		}
	}
	var parts []string
	if n > 0 {
		parts = append(parts, plural(n, "reading", "readings")+" could not be true and is left out.")
		if n > 1 {
			parts[0] = strings.Replace(parts[0], " is left", " are left", 1)
		}
	}
	if mute != nil {
		parts = append(parts, "Without a usable reading: "+strings.Join(mute, ", ")+".")
	}
	return strings.Join(parts, " ")
}
