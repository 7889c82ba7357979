package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// Energy shows what a token costs against the length of the prompt or the
// number of concurrent requests: a panel per metric (j_per_output_token where
// Options.Y names none) and scope, for scopes have no common axis; a line per
// target and kind of cache hit. A point is the median of its batches. Its
// whiskers are the medians of their lower and of their upper bounds, between
// which the true median is as surely as each batch's energy is within its own.
//
// Batches without an energy are left out, and counted with the reason. It
// refuses what Scaling refuses, and a selection without any energy.
func Energy(cases []analyze.EnergyCase, opt Options) (*Figure, error) {
	e, err := newEnergySource(cases)
	if err != nil {
		return nil, err
	}
	metrics, err := energyMetrics(opt.Y)
	if err != nil {
		return nil, err
	}
	x, err := xKey("energy", e.rows, opt.X)
	if err != nil {
		return nil, err
	}
	shown, err := e.shown(metrics, x)
	if err != nil {
		return nil, err
	}
	src, err := arrange(e.rows, shown, []key{x}, opt.By)
	if err != nil {
		return nil, err
	}
	scopes := e.scopes(shown, metrics)
	axis, logY, err := scalingAxes(x, distinct(shown, x), opt.Log, len(metrics)*len(scopes))
	if err != nil {
		return nil, err
	}
	fig := &Figure{
		Title:    scalingTitle(metrics, x),
		Subtitle: common(without(allKeys(), append(told(src), x.name)...), shown),
		Legend:   legendOf(src),
	}
	if fig.Panels, err = e.panels(src, metrics, scopes, x, axis, logY); err != nil {
		return nil, err
	}
	fig.titleOnce()
	fig.Notes = append(energyNotes(fig, scopes), lengthNotes(src, x)...)
	fig.Notes = append(fig.Notes, e.missingNote(metrics), versionsNote(src))
	fig.Notes = append(fig.Notes, lossNotes(e.rows, nil)...)
	return fig.finished(), nil
}

// energySource is the cases with their batches.
type energySource struct {
	rows    []*analyze.Summary
	batches map[*analyze.Summary][]analyze.EnergyBatch
}

func newEnergySource(cases []analyze.EnergyCase) (energySource, error) {
	e := energySource{batches: map[*analyze.Summary][]analyze.EnergyBatch{}}
	if len(cases) == 0 {
		_, err := rowsOf(nil)
		return e, err
	}
	for i := range cases {
		row := new(cases[i].Summary)
		e.rows = append(e.rows, row)
		e.batches[row] = cases[i].Batches
	}
	namePrompts(e.rows)
	return e, nil
}

// energyMetrics are the metrics to draw.
func energyMetrics(wanted []string) ([]metric, error) {
	if len(wanted) == 0 {
		wanted = []string{"j_per_output_token"}
	}
	var list []metric
	for _, name := range wanted {
		m, err := metricNamed(name)
		if err != nil {
			return nil, err
		}
		if m.Source != "power" {
			return nil, fmt.Errorf("%s is no figure of energy: take %s, or draw it with scaling", name, strings.Join(energyNames(), ", "))
		}
		list = append(list, m)
	}
	return list, nil
}

func energyNames() []string {
	var names []string
	for _, m := range analyze.Metrics() {
		if m.Source == "power" {
			names = append(names, m.Name)
		}
	}
	return names
}

// has tells whether the batch has one of the metrics.
func has(b analyze.EnergyBatch, metrics []metric) bool {
	return slices.ContainsFunc(metrics, func(m metric) bool { return b.Figures[m.Name] != nil })
}

// shown are the rows with a figure and a place on the axis.
func (e energySource) shown(metrics []metric, x key) ([]*analyze.Summary, error) {
	rows := slices.DeleteFunc(slices.Clone(e.rows), func(s *analyze.Summary) bool {
		_, ok := x.number(s)
		return !ok || !slices.ContainsFunc(e.batches[s], func(b analyze.EnergyBatch) bool { return has(b, metrics) })
	})
	if len(rows) > 0 {
		return rows, nil
	}
	var names []string
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	why, _, _ := e.missing(metrics)
	return nil, fmt.Errorf("no batch has %s: %s; collect with --power auto on a machine where `tokwatt power --once` finds readings",
		strings.Join(names, " or "), cmp.Or(why, "nothing was measured"))
}

// scopes are those of the figures, what contains more first.
func (e energySource) scopes(rows []*analyze.Summary, metrics []metric) []string {
	var list []string
	for _, s := range rows {
		for _, b := range e.batches[s] {
			if has(b, metrics) && !slices.Contains(list, b.Scope) {
				list = append(list, b.Scope)
			}
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(scopeRank(a), scopeRank(b)), cmp.Compare(a, b))
	})
	return list
}

// panels are those of each metric and scope that have something to show.
func (e energySource) panels(src source, metrics []metric, scopes []string, x key, axis Axis, logY bool) ([]Panel, error) {
	var panels []Panel
	for _, m := range metrics {
		for _, scope := range scopes {
			p, err := e.panel(src, m, scope, x, axis, logY)
			if err != nil {
				return nil, err
			}
			if len(scopes) > 1 {
				p.Title += ", scope " + cmp.Or(scope, "not stated")
			}
			if p.Series != nil {
				panels = append(panels, p)
			}
		}
	}
	return panels, nil
}

// panel is one metric in one scope.
func (e energySource) panel(src source, m metric, scope string, x key, axis Axis, logY bool) (Panel, error) {
	p := Panel{Title: m.Label, Kind: Curves, X: axis}
	for i, g := range src.groups {
		var pts []Point
		for _, s := range g.rows {
			pt, err := energyPoint(e.batches[s], m.Name, scope, logY)
			if err != nil {
				return p, fmt.Errorf("%s of case %d of session %s %w: leave the case out with --where", m.Name, s.CaseID, shortID(s.SessionID), err)
			}
			if pt.X, _ = x.number(s); pt.N > 0 {
				pts = append(pts, pt)
			}
		}
		slices.SortStableFunc(pts, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		if pts != nil {
			p.Series = append(p.Series, Series{g.name, src.styles[i], pts})
		}
	}
	if p.Series == nil {
		return p, nil
	}
	p.Y = valueAxis(m, p.Series, logY)
	p.Y.Label = energyLabel(m, scope, logY)
	return p, nil
}

// energyLabel is what stands along the axis.
func energyLabel(m metric, scope string, log bool) string {
	tail := ", scope " + cmp.Or(scope, "not stated")
	if log {
		tail += logScale
	}
	return m.axisLabel(false) + tail
}

// energyPoint is a case's figure in one scope: the median over its batches, of
// which there may be none.
func energyPoint(batches []analyze.EnergyBatch, name, scope string, log bool) (Point, error) {
	var p Point
	var lows, highs []float64
	for _, b := range batches {
		v := b.Figures[name]
		if v == nil || b.Scope != scope {
			continue
		}
		p.Raw = append(p.Raw, *v)
		p.Hollow = p.Hollow || b.Indicative
		if lo, hi := b.Bounds(name); lo != nil {
			lows, highs = append(lows, *lo), append(highs, *hi)
		}
	}
	p.N = len(p.Raw)
	if err := drawable(slices.Concat(p.Raw, lows, highs), log); err != nil || p.N == 0 {
		return p, err
	}
	p.Median = middle(p.Raw)
	if len(lows) == p.N {
		lo, hi := middle(lows), middle(highs)
		p.Lo, p.Hi = &lo, &hi
	}
	return p, nil
}

// middle is the median of values, of which there is one at least, all finite.
func middle(values []float64) float64 {
	s, _ := analyze.NewSample(values)
	return *s.Quantile(0.5)
}
