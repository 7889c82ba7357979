package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"tokwatt/analyze"
)

// Scaling shows how rates go with the length of the prompt, the number of
// concurrent requests or that of nodes: a panel per metric (prompt_tps and generation_tps where
// Options.Y names none), a line per series, medians with their intervals and
// the batches behind them. The x axis is linear, or by powers of two where the
// values span a factor of 8; the y axes are linear from 0.
//
// It refuses rows that differ in none of these, nor in another point of the
// matrix, unless Options.X says which is meant, two cases on one point, more series than can be told
// apart, and figures that have no place on the axes.
func Scaling(summaries []analyze.Summary, opt Options) (*Figure, error) {
	rows, err := rowsOf(summaries)
	if err != nil {
		return nil, err
	}
	own := []string{"prompt_tps", "generation_tps"}
	metrics, _, err := panelMetrics(rows, opt.Y, own)
	if err != nil {
		return nil, err
	}
	x, err := xKey("scaling", drawn(rows, metrics), opt.X)
	if err != nil {
		return nil, err
	}
	all := len(rows)
	rows = slices.DeleteFunc(rows, func(s *analyze.Summary) bool { _, ok := x.number(s); return !ok })
	metrics, notes, err := panelMetrics(rows, opt.Y, own)
	if err != nil {
		return nil, err
	}
	src, err := arrange(rows, drawn(rows, metrics), []key{x}, opt.By)
	if err != nil {
		return nil, err
	}
	axis, logY, err := scalingAxes(x, distinct(src.rows, x), opt.Log, len(metrics))
	if err != nil {
		return nil, err
	}
	fig := &Figure{
		Title:    scalingTitle(metrics, x),
		Subtitle: common(without(allKeys(), append(told(src), x.name)...), rows),
		Legend:   legendOf(src),
	}
	place := func(s *analyze.Summary) float64 { v, _ := x.number(s); return v }
	for _, m := range metrics {
		p, err := curves(src, m, place, axis, logY)
		if err != nil {
			return nil, err
		}
		fig.Panels = append(fig.Panels, p)
	}
	fig.titleOnce()
	fig.Notes = append(scalingNotes(fig, src, x), versionsNote(src))
	fig.Notes = append(fig.Notes, notes...)
	fig.Notes = append(fig.Notes, lossNotes(rows, metrics)...)
	if n := all - len(rows); n > 0 {
		fig.Notes = append(fig.Notes, fmt.Sprintf("%s without %s, not drawn.", plural(n, "case", "cases"), xName(x)))
	}
	return fig.finished(), nil
}

// xNames are what the x axis may be, by the names that Options.X takes, with
// the keys.
func xNames() (names, keys []string) {
	return []string{"pp", "concurrency", "nodes"}, []string{"pp", "concurrency", "placement_nodes"}
}

// xName is what users call the key on the x axis.
func xName(x key) string {
	names, keys := xNames()
	return names[slices.Index(keys, x.name)]
}

// xKey chooses what the x axis of a kind of figure is. Of cases that differ in
// nothing that has an axis, but in another point of the matrix, such as their
// depths or their prompts, it is concurrency, which all have.
func xKey(kind string, rows []*analyze.Summary, wanted string) (key, error) {
	names, keys := xNames()
	if wanted != "" && !slices.Contains(names, wanted) {
		return key{}, fmt.Errorf("the x axis of %s is pp, concurrency or nodes, not %q", kind, wanted)
	}
	candidates, _ := pick(keys)
	for i, k := range candidates {
		n := len(distinct(rows, k))
		if wanted == names[i] && n == 0 {
			return key{}, withoutX(wanted)
		}
		if wanted == names[i] || wanted == "" && n > 1 {
			return k, nil
		}
	}
	if len(varying(ofRole(allKeys(), matrix, length), rows)) > 0 {
		return candidates[1], nil
	}
	return key{}, fmt.Errorf("no case varies pp, concurrency or nodes: all have %s; collect with several values of --pp or --concurrency, or say --x concurrency to draw what there is",
		strings.ReplaceAll(title(candidates, rows[0]), " · ", " and "))
}

// withoutX refuses an axis that no case has a place on.
func withoutX(name string) error {
	if name == "nodes" {
		return errors.New("no case has a placement on nodes: exo states one, so draw the others with --x pp or --x concurrency")
	}
	return fmt.Errorf("no case has a wanted %s: prompts of one's own have no set length, so draw them with --x concurrency", name)
}

// distinct returns the values of a key, sorted.
func distinct(rows []*analyze.Summary, k key) []float64 {
	var values []float64
	for _, s := range rows {
		if v, ok := k.number(s); ok {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// scalingAxes makes the x axis and tells whether the y axes are logarithmic.
func scalingAxes(x key, values []float64, option string, panels int) (axis Axis, logY bool, err error) {
	logX, logY, auto, err := logarithmic(option)
	if err != nil {
		return Axis{}, false, err
	}
	least, most := values[0], values[len(values)-1]
	if auto {
		logX = least > 0 && most >= 8*least
	}
	if logX && least <= 0 {
		return Axis{}, false, fmt.Errorf("%s is %v in one case, which has no place on a logarithmic axis: leave it out with --where, or draw with --log none", xName(x), least)
	}
	return scalingAxis(x, values, logX, panels), logY, nil
}

// scalingAxis places the values with a margin at both ends, so that no marker
// sits on the frame.
func scalingAxis(k key, values []float64, log bool, panels int) Axis {
	lo, hi := values[0], values[len(values)-1]
	axis := Axis{Log: log, Label: "Concurrent requests"}
	if log {
		margin := math.Max(math.Pow(hi/lo, 0.07), 1.2)
		axis.Min, axis.Max = lo/margin, hi*margin
	} else {
		margin := math.Max((hi-lo)*0.07, 0.1)
		if hi == lo {
			margin = math.Max(hi/2, 1)
		}
		axis.Min, axis.Max = lo-margin, hi+margin
	}
	kibi := false
	switch {
	case len(values) <= fewValues:
		axis.Ticks, kibi = atValues(values)
	case log:
		axis.Ticks = doublings(lo, hi)
	default:
		axis.Ticks = between(lo, hi)
	}
	switch k.name {
	case "pp":
		axis.Label = "Prompt tokens (pp)"
	case "placement_nodes":
		axis.Label = "Nodes"
	}
	if kibi {
		axis.Label += ", 1k = 1024"
	}
	axis.Ticks = thinFor(axis, curvesWidth(panels))
	return axis
}

// curvesWidth is the least that one of several panels, or the only one, has.
func curvesWidth(panels int) vg.Length {
	if panels == 1 {
		return leastAlone
	}
	return leastPanel
}

// curves makes the panel of one metric; place is where a case is on the axis.
func curves(src source, m metric, place func(*analyze.Summary) float64, axis Axis, logY bool) (Panel, error) {
	panel := Panel{Title: m.Label, Kind: Curves, X: axis}
	for i, g := range src.groups {
		pts, err := points(g.rows, m.Name, place, false, logY)
		if err != nil {
			return Panel{}, err
		}
		if len(pts) > 0 {
			panel.Series = append(panel.Series, Series{g.name, src.styles[i], pts})
		}
	}
	panel.Y = valueAxis(m, panel.Series, logY)
	return panel, nil
}

// valueAxis is the axis of a metric: from 0, or logarithmic around the values.
func valueAxis(m metric, series []Series, log bool) Axis {
	lo, hi := extent(series)
	axis := Axis{Label: m.axisLabel(log), Log: log}
	if log {
		axis.Ticks, axis.Min, axis.Max = decades(lo*0.93, hi*1.07) // no mark is on the frame
	} else {
		axis.Ticks, axis.Max = fromZero(hi * 1.02)
	}
	return axis
}

// extent is the least and the greatest value drawn.
func extent(series []Series) (lo, hi float64) {
	lo = math.Inf(1)
	for _, s := range series {
		for _, p := range s.Points {
			for _, v := range append([]float64{p.Median}, p.Raw...) {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
			}
			for _, t := range p.Tails {
				lo, hi = math.Min(lo, t.Value), math.Max(hi, t.Value)
			}
			if p.Lo != nil {
				lo, hi = math.Min(lo, *p.Lo), math.Max(hi, *p.Hi)
			}
		}
	}
	return lo, hi
}

func legendOf(src source) []string {
	if len(src.groups) < 2 {
		return nil
	}
	list := make([]string, slices.Max(src.styles)+1)
	for i, g := range src.groups {
		list[src.styles[i]] = cmp.Or(g.name, "not stated")
	}
	return list
}

func scalingTitle(metrics []metric, x key) string {
	by := map[string]string{"pp": " by prompt length", "concurrency": " by concurrency", "nodes": " by number of nodes"}[xName(x)]
	return titleOf(metrics) + by
}

// titleOf names metrics in the title of a figure.
func titleOf(metrics []metric) string {
	var titles []string
	for _, m := range metrics {
		titles = append(titles, m.Label)
	}
	if len(metrics) == 2 && metrics[0].Name == "prompt_tps" && metrics[1].Name == "generation_tps" {
		return "Prefill and generation rate"
	}
	return sentence(titles)
}

// scalingNotes explains the marks, and what else goes along a line.
func scalingNotes(fig *Figure, src source, x key) []string {
	return append([]string{medianNote(fig)}, lengthNotes(src, x)...)
}

// medianNote explains medians, batches and whiskers.
func medianNote(fig *Figure) string {
	sp := spanOf(fig.Panels)
	first := "Median of " + sp.count() + " per point"
	if sp.raw {
		first += ", single batches in faint dots" + sp.thinnedNote()
	}
	return first + ". " + sp.whiskersNote() + sp.movedNote()
}

// lengthNotes says that tg goes along a line, where it does.
func lengthNotes(src source, x key) []string {
	var notes []string
	told := names(append(slices.Clip(src.series), x))
	for _, k := range ofRole(without(allKeys(), told...), length) {
		if v := distinct(src.rows, k); len(v) > 1 && refines(src.series, k, src.rows) {
			notes = append(notes, fmt.Sprintf("%s differs along the lines, from %v to %v.", k.name, v[0], v[len(v)-1]))
		}
	}
	return notes
}
