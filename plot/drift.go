package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// DriftBatch is a batch in the time of its session.
type DriftBatch struct {
	Target  string  // the name of the series
	Seconds float64 // from the session's start
	Percent float64 // its figure, in percent of the median of its case's batches
}

// driftMarks is how many marks of a series stay apart along a panel.
const driftMarks = 60

// Drift shows whether batches changed over the time of a session, as those of a
// machine do that grows hot: a line a target. Where a target has more batches
// than there is room for, each mark is the median of so many that follow each
// other. What names the figure that the batches are compared by, as in
// "generation rate".
//
// It refuses fewer than two batches, and figures that are not finite.
func Drift(what string, batches []DriftBatch) (*Figure, error) {
	if len(batches) < 2 {
		return nil, errors.New("a course over time needs two batches with a " + what)
	}
	var order []string
	byTarget := map[string][]DriftBatch{}
	for _, b := range batches {
		if math.IsNaN(b.Percent+b.Seconds) || math.IsInf(b.Percent+b.Seconds, 0) {
			return nil, fmt.Errorf("the %s of a batch of %s is not finite", what, b.Target)
		}
		if byTarget[b.Target] == nil {
			order = append(order, b.Target)
		}
		byTarget[b.Target] = append(byTarget[b.Target], b)
	}
	panel := Panel{Kind: Times}
	most := 1 // batches of a mark
	for i, name := range order {
		points, each := driftPoints(byTarget[name])
		most = max(most, each)
		panel.Series = append(panel.Series, Series{name, i % maxSeries, points})
	}
	panel.X, panel.Y = driftAxes(panel.Series)
	panel.Y.Label = "% of the case's median"
	fig := &Figure{Title: "The " + what + " over the time of the session", Panels: []Panel{panel}}
	if len(order) > 1 {
		fig.Legend = order[:min(len(order), maxSeries)]
	} else {
		fig.Subtitle = order[0]
	}
	mark := "Each mark is a batch"
	if most > 1 {
		mark = fmt.Sprintf("Each mark is the median of up to %d batches that follow each other", most)
	}
	fig.Notes = []string{mark + ": the median of its requests, in percent of the median over the batches of the same case. Warm-ups are left out."}
	return fig.finished(), nil
}

// driftPoints are the batches of a target in order of time, each a mark, or each
// so many that follow each other.
func driftPoints(batches []DriftBatch) (points []Point, each int) {
	batches = slices.Clone(batches)
	slices.SortStableFunc(batches, func(a, b DriftBatch) int { return cmp.Compare(a.Seconds, b.Seconds) })
	each = (len(batches) + driftMarks - 1) / driftMarks
	for group := range slices.Chunk(batches, each) {
		var at, values []float64
		for _, b := range group {
			at, values = append(at, b.Seconds), append(values, b.Percent)
		}
		points = append(points, Point{X: middle(at), Median: middle(values), N: len(group)})
	}
	return points, each
}

// driftAxes hold all points, and 100 %. Time is in the unit that suits it.
func driftAxes(series []Series) (x, y Axis) {
	last, lo, hi := 0.0, 100.0, 100.0
	for _, s := range series {
		for _, p := range s.Points {
			last, lo, hi = math.Max(last, p.X), math.Min(lo, p.Median), math.Max(hi, p.Median)
		}
	}
	unit, seconds := "s", 1.0
	if last > 300 {
		unit, seconds = "min", 60
	}
	if last > 3*3600 {
		unit, seconds = "h", 3600
	}
	for _, s := range series {
		for i := range s.Points {
			s.Points[i].X /= seconds
		}
	}
	x.Label = "Time since the session began (" + unit + ")"
	x.Ticks, x.Max = fromZero(last / seconds)
	step := niceStep(math.Max(hi-lo, 2) / wantedSteps)
	y.Min, y.Max = step*math.Floor(lo/step), step*math.Ceil(hi/step)
	if y.Max == y.Min {
		y.Min, y.Max = y.Min-step, y.Max+step
	}
	y.Ticks = between(y.Min, y.Max*(1+1e-9))
	return x, y
}
