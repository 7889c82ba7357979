package power

import (
	"fmt"
	"slices"
	"strings"
)

// AllNodes is the Node of a sum.
const AllNodes = "all"

// Total is the energy of several nodes.
type Total struct {
	Window
	PartialJ *float64 // of the nodes that have one, where not all do
	Coverage string   // "2/3": nodes with an energy, of all
}

// breadth orders the scopes that can stand for a machine. The others are parts
// of it: they are figures of their own, never the machine's.
func breadth(s Scope) int {
	return slices.Index([]Scope{ScopeGPU, ScopePackage, ScopeSystem, ScopeWall}, widened(s))
}

// widened names a scope by its like on other machines, for comparison only.
func widened(s Scope) Scope {
	if s == ScopeSoC {
		return ScopePackage
	}
	return s
}

// absent are the reasons of a sensor that is not there at all. One that is
// there and fails for a while is not replaced by a narrower one: the next
// window would then be another quantity.
var absent = []Reason{ReasonNoReading, ReasonNodeMissing, ReasonNoChannel, ReasonVM, ReasonOff, ReasonDenied, ReasonMasked, ReasonSudoNeeded}

func (w Window) there() bool {
	return breadth(w.Scope) >= 0 && !slices.Contains(absent, w.Reason)
}

// Widest is the window of the widest scope that is read; of several of that
// scope the first that has an energy, and rather one whose bounds are bounds.
// Nil if there is none.
func Widest(windows []Window) *Window {
	var best *Window
	for i := range windows {
		if w := &windows[i]; w.there() && (best == nil || w.better(best)) {
			best = w
		}
	}
	return best
}

func (w *Window) better(than *Window) bool {
	if a, b := breadth(w.Scope), breadth(than.Scope); a != b {
		return a > b
	}
	if a, b := w.EnergyJ != nil, than.EnergyJ != nil; a != b {
		return a
	}
	return !w.Indicative && than.Indicative
}

// Sum adds the energies of nodes over one window. Windows are those of one
// rule, of any scopes and nodes; other nodes' don't count. Each node gives its
// widest scope, or the widest that all nodes with a sensor have. It is all of
// them or nothing: if a node has no energy, the sum has none, and PartialJ is
// of the others.
func Sum(windows []Window, nodes []string) Total {
	per := make(map[string][]Window, len(nodes))
	for _, w := range windows {
		if w.there() && slices.Contains(nodes, w.Node) {
			per[w.Node] = append(per[w.Node], w)
		}
	}
	t := Total{Window: Window{Node: AllNodes}, Coverage: fmt.Sprintf("0/%d", len(nodes))}
	if len(windows) > 0 {
		t.From, t.To, t.Rule = windows[0].From, windows[0].To, windows[0].Rule
	}
	if len(per) == 0 {
		t.Reason = whyNone(windows, nodes)
	} else if parts := alike(per, nodes); parts != nil {
		t.add(parts)
	} else {
		t.Reason = ReasonMixedScopes
	}
	return t
}

// whyNone is why no node has a sensor: what they all say, if they do.
func whyNone(windows []Window, nodes []string) Reason {
	var why Reason
	for _, node := range nodes {
		i := slices.IndexFunc(windows, func(w Window) bool { return w.Node == node && w.Reason != "" })
		if i < 0 || why != "" && why != windows[i].Reason {
			return ReasonNodeMissing
		}
		why = windows[i].Reason
	}
	if why == "" {
		return ReasonNoReading
	}
	return why
}

// alike picks a window of each node, nil where it has none, all of the widest
// scope that every node with a sensor has. Nil: there is none.
func alike(per map[string][]Window, nodes []string) []*Window {
	for _, scope := range []Scope{ScopeWall, ScopeSystem, ScopeSoC, ScopePackage, ScopeGPU} {
		if parts := ofScope(per, nodes, scope); parts != nil {
			return parts
		}
	}
	return nil
}

func ofScope(per map[string][]Window, nodes []string, scope Scope) []*Window {
	parts := make([]*Window, len(nodes))
	for i, node := range nodes {
		of := slices.DeleteFunc(slices.Clone(per[node]), func(w Window) bool { return w.Scope != scope })
		if parts[i] = Widest(of); parts[i] == nil && len(per[node]) > 0 {
			return nil
		}
	}
	return parts
}

// add sums up the nodes' windows, which are nil where there is none.
func (t *Total) add(parts []*Window) {
	var joules, low, high, watts sum
	for _, w := range parts {
		if w == nil {
			t.Reason = ReasonNodeMissing
			w = &Window{}
		} else {
			t.take(w)
		}
		joules.add(w.EnergyJ)
		low.add(w.LowJ)
		high.add(w.HighJ)
		watts.add(w.MeanW)
	}
	t.Coverage = fmt.Sprintf("%d/%d", joules.known, len(parts))
	t.EnergyJ, t.LowJ, t.HighJ, t.MeanW = joules.all(), low.all(), high.all(), watts.all()
	if t.EnergyJ == nil {
		t.PartialJ = joules.some()
	}
}

// take keeps what is not a sum: the scope, the sources, the fewest samples, the
// longest gap.
func (t *Total) take(w *Window) {
	if t.Scope == "" {
		t.Scope, t.Source, t.Samples = w.Scope, w.Source, w.Samples
	}
	if !slices.Contains(strings.Split(t.Source, ","), w.Source) {
		t.Source += "," + w.Source
	}
	t.Samples = min(t.Samples, w.Samples)
	if t.MaxGapS == nil || w.MaxGapS != nil && *w.MaxGapS > *t.MaxGapS {
		t.MaxGapS = w.MaxGapS
	}
	t.Rejected += w.Rejected
	t.Indicative = t.Indicative || w.Indicative
	if t.Reason == "" {
		t.Reason = w.Reason
	}
}

// sum adds figures of which some may not be known.
type sum struct {
	total         float64
	known, missed int
}

func (s *sum) add(x *float64) {
	if x == nil {
		s.missed++
		return
	}
	s.total += *x
	s.known++
}

// all is the sum if every part is known.
func (s *sum) all() *float64 {
	if s.missed > 0 {
		return nil
	}
	return s.some()
}

// some is the sum of the parts that are known.
func (s *sum) some() *float64 {
	if s.known == 0 {
		return nil
	}
	return &s.total
}

// partsExcess is how far the parts of a machine may exceed the whole before
// one of them must be wrong.
const partsExcess = 1.2

// ComponentAboveSystem reports whether what is part of a machine used over a
// fifth more than the machine, in windows of one node. The chip's total and
// the sum of its parts are held against the system each on its own, since one
// contains the other.
func ComponentAboveSystem(windows []Window) bool {
	whole := largest(windows, ScopeSystem)
	if whole == nil {
		return false
	}
	var parts sum
	for _, s := range []Scope{ScopeCPU, ScopeGPU, ScopeDRAM, ScopeANE} {
		parts.add(largest(windows, s))
	}
	for _, part := range []*float64{parts.some(), largest(windows, ScopeSoC), largest(windows, ScopePackage)} {
		if part != nil && *part > partsExcess**whole {
			return true
		}
	}
	return false
}

// largest is the highest energy that any source has for a scope.
func largest(windows []Window, s Scope) *float64 {
	var most *float64
	for _, w := range windows {
		if w.Scope == s && w.EnergyJ != nil && (most == nil || *w.EnergyJ > *most) {
			most = w.EnergyJ
		}
	}
	return most
}
