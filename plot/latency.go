package plot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// boxFrom is from how many batches on the quartiles are drawn as a box; those
// of fewer values say less than the values themselves.
const boxFrom = 10

// maxLanes is how many cases fit one page.
const maxLanes = 60

// wideRange is from which factor between the values on a time axis is
// logarithmic by itself: on a linear one the short times would all lie on 0.
const wideRange = 20

// Latency shows the distribution of times over batches: a panel per metric
// (time to first token and inter-token latency where Options.Y names none), a
// lane per case, the cases of one point of the matrix below each other. The
// times run along the x axis, linear from 0, or logarithmic where they span a
// factor of 20.
//
// It refuses more cases than fit a page and figures that have no place on the
// axes.
func Latency(summaries []analyze.Summary, opt Options) (*Figure, error) {
	rows, err := rowsOf(summaries)
	if err != nil {
		return nil, err
	}
	logX, auto, err := latencyOptions(opt, len(rows))
	if err != nil {
		return nil, err
	}
	metrics, notes, err := panelMetrics(rows, opt.Y, latencyMetrics(rows))
	if err != nil {
		return nil, err
	}
	along := latencyBlocks(drawn(rows, metrics), opt.By)
	src, err := arrange(rows, drawn(rows, metrics), along, opt.By)
	if err != nil {
		return nil, err
	}
	lay := layLanes(src, along)
	fig := &Figure{
		Title:    latencyTitle(metrics),
		Subtitle: common(without(allKeys(), told(src)...), rows),
		Legend:   legendOf(src),
	}
	for i, m := range metrics {
		p, err := strips(src, lay, m, logX, auto)
		if err != nil {
			return nil, err
		}
		if i%panelColumns > 0 {
			p.Y.Ticks = nil
		}
		p.X.Ticks = thinFor(p.X, leastPanel)
		if len(metrics) == 1 {
			p.X.Ticks = thinFor(p.X, leastLanes)
		}
		fig.Panels = append(fig.Panels, p)
	}
	fig.titleOnce()
	fig.Notes = append(latencyNotes(fig), versionsNote(src))
	fig.Notes = append(fig.Notes, notes...)
	fig.Notes = append(fig.Notes, lossNotes(rows, metrics)...)
	return fig.finished(), nil
}

// latencyOptions refuses what this figure has no place for, and tells whether
// the times are logarithmic, or are to be by themselves.
func latencyOptions(opt Options, cases int) (log, auto bool, err error) {
	log, y, auto, err := logarithmic(opt.Log)
	switch {
	case err != nil:
		return false, false, err
	case y:
		return false, false, errors.New("--log y does not go with latency, whose times run along x: say --log x")
	case opt.X != "":
		return false, false, fmt.Errorf("--x %s does not go with latency, whose x axis is time: --by says what the colours are", opt.X)
	case cases > maxLanes:
		return false, false, fmt.Errorf("%d cases do not fit one figure, %d do: narrow them with --where", cases, maxLanes)
	}
	return log, auto, nil
}

// latencyMetrics prefers the engine's own time to first token, as M2 does, and
// takes the client's where there is none.
func latencyMetrics(rows []*analyze.Summary) []string {
	if !anyHas(rows, "ttft_ms") && anyHas(rows, "ttft_client_ms") {
		return []string{"ttft_client_ms", "itl_p50_ms"}
	}
	return []string{"ttft_ms", "itl_p50_ms"}
}

// latencyBlocks chooses the keys that stand at the lanes; all others make the
// colours.
func latencyBlocks(rows []*analyze.Summary, by []string) []key {
	candidates := without(allKeys(), by...)
	if len(by) == 0 {
		candidates = ofRole(candidates, matrix, length)
	}
	keys := varying(ofRole(candidates, subject, matrix), rows)
	for _, k := range ofRole(candidates, version, length) {
		if refines(keys, k, rows) {
			keys = append(keys, k)
		}
	}
	slices.SortStableFunc(keys, func(a, b key) int { return a.place() - b.place() })
	return keys
}

// lanes is where the cases lie, counted downwards from 0.
type lanes struct {
	at     map[*analyze.Summary]float64
	labels []Tick
	edges  []float64 // between blocks
	height float64
}

// layLanes puts the cases of one block below each other in the order of their
// series, with a gap between blocks.
func layLanes(src source, along []key) lanes {
	series := map[*analyze.Summary]int{}
	for i, g := range src.groups {
		for _, s := range g.rows {
			series[s] = i
		}
	}
	gap := 0.7
	if len(src.groups) == 1 {
		gap = 0.3
	}
	lay := lanes{at: map[*analyze.Summary]float64{}, height: gap / 2}
	for i, block := range groups(along, src.rows) {
		if i > 0 {
			lay.edges = append(lay.edges, lay.height-gap/2)
		}
		top, label := lay.height, labelLanes(block.name)
		if n := float64(len(block.rows)); label > n {
			lay.height += (label - n) / 2
		}
		for i := range src.groups {
			for _, s := range block.rows {
				if series[s] == i {
					lay.at[s] = lay.height + 0.5
					lay.height++
				}
			}
		}
		lay.height = max(lay.height, top+label)
		lay.labels = append(lay.labels, Tick{(top + lay.height) / 2, block.name})
		lay.height += gap
	}
	lay.height -= gap / 2
	return lay
}

// labelLanes is how many lanes a label is high, in its longest spelling.
func labelLanes(name string) float64 {
	lines := wrap(textStyle(tickSize, nil), spell(name, inPDF), laneLabelWidth)
	return float64(len(lines)) * lineSpacing * tickSize / laneHeight
}

// strips makes the panel of one metric.
func strips(src source, lay lanes, m metric, log, auto bool) (Panel, error) {
	panel := Panel{Title: m.Label, Kind: Strips, Y: Axis{Min: 0, Max: lay.height, Ticks: lay.labels}, Edges: lay.edges}
	for i, g := range src.groups {
		pts, err := points(g.rows, m.Name, func(s *analyze.Summary) float64 { return lay.at[s] }, true, log)
		if err != nil {
			return Panel{}, err
		}
		if len(pts) > 0 {
			panel.Series = append(panel.Series, Series{g.name, src.styles[i], pts})
		}
	}
	if lo, hi := extent(panel.Series); auto {
		log = lo > 0 && hi >= wideRange*lo
	}
	panel.X = valueAxis(m, panel.Series, log)
	return panel, nil
}

func latencyTitle(metrics []metric) string {
	if len(metrics) == 1 {
		return metrics[0].Label
	}
	var titles []string
	for _, m := range metrics { // whose panels have the rest
		t, _, _ := strings.Cut(m.Label, " (")
		titles = append(titles, t)
	}
	return sentence(titles)
}

// latencyNotes explains the marks.
func latencyNotes(fig *Figure) []string {
	sp := spanOf(fig.Panels)
	dots := "Faint dots: the median of each batch" + sp.thinnedNote() + "; mark: the median of the case"
	if !sp.raw {
		dots = "Mark: the median of the case"
	}
	if sp.most >= boxFrom && sp.raw {
		dots += fmt.Sprintf("; box, from %d batches on: the middle half of the batches", boxFrom)
	}
	if sp.tails[90] {
		dots += "; hollow circle, from 10 requests on: the 90th percentile (p90) of the requests"
	}
	if sp.tails[99] {
		dots += "; hollow diamond, from 100 on: the 99th"
	}
	return []string{dots + ". " + sp.whiskersNote() + " Per case: " + sp.count() + "."}
}
