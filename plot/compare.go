package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tokwatt/analyze"
)

// maxRows is how many comparisons fit one page.
const maxRows = 60

// farChange is from which ratio on, up or down, an axis of changes is
// logarithmic: half and double are equally far apart there.
const farChange = 2

// Compare shows what separates two selections, case by case: a panel per
// metric, a row per case with the change of B against A, its interval, and in
// words of the rank test whether that is a difference. Beside each row stand
// the medians, the number of batches a side and the test's probability. a and b
// say what the selections are.
//
// It refuses a set without pairs, and more of them than fit a page.
func Compare(set analyze.CompareSet, a, b string) (*Figure, error) {
	if len(set.Pairs) == 0 {
		return nil, errors.New("there is nothing to draw: the selections have no case in common")
	}
	if n := len(set.Pairs); n > maxRows {
		return nil, fmt.Errorf("%d comparisons do not fit one figure, %d do: narrow the selections, or name metrics with --y", n, maxRows)
	}
	fig := &Figure{Title: "B against A, case by case", Subtitle: "A: " + a + " · B: " + b}
	axis := changeAxis(set.Pairs)
	for _, m := range pairMetrics(set.Pairs) {
		p, err := comparePanel(set.Pairs, m, axis)
		if err != nil {
			return nil, err
		}
		fig.Panels = append(fig.Panels, p)
	}
	for i := range len(fig.Panels) - 1 {
		fig.Panels[i].X.Label = ""
	}
	fig.Verdicts = verdictsOf(set.Pairs)
	fig.Notes = append(compareNotes(set), beyondNote(fig.Panels))
	return fig.finished(), nil
}

// pairMetrics are the names of the metrics in their order.
func pairMetrics(pairs []analyze.Comparison) []string {
	var list []string
	for _, c := range pairs {
		if !slices.Contains(list, c.Metric.Name) {
			list = append(list, c.Metric.Name)
		}
	}
	return list
}

// comparePanel has the rows of one metric, each as high as its name.
func comparePanel(pairs []analyze.Comparison, name string, axis Axis) (Panel, error) {
	m, err := metricNamed(name)
	if err != nil {
		return Panel{}, err
	}
	p := Panel{Title: m.Label + betterNote(m.Better), Kind: Changes, X: axis,
		Heads: []string{"A (" + m.Unit + ")", "B (" + m.Unit + ")", "n", "change", "p"}}
	y := 0.25
	for _, c := range pairs {
		if c.Metric.Name != name {
			continue
		}
		r := rowOf(c)
		high := max(1.1, labelLanes(r.Name)+0.15)
		r.Y, y = y+high/2, y+high
		p.Rows = append(p.Rows, r)
		p.Y.Ticks = append(p.Y.Ticks, Tick{r.Y, r.Name})
	}
	p.Y.Max = y + 0.25
	return p, nil
}

func betterNote(b analyze.Better) string {
	if b == "" {
		return ""
	}
	return ", " + string(b) + " is better"
}

// rowOf is a comparison in marks and words.
func rowOf(c analyze.Comparison) Row {
	r := Row{Name: analyze.CaseName(c.Case), Verdict: c.Verdict}
	change, p := string(c.Verdict), ""
	if c.Change != nil {
		r.Ratio = new(1 + *c.Change)
		change = percent(*c.Change)
	} else if c.Verdict != analyze.VerdictTooFew {
		change = "not above 0"
	}
	if c.Interval != nil {
		r.Lo, r.Hi = new(1+c.Interval.Lo), new(1+c.Interval.Hi)
	}
	if c.Test.P != nil {
		p = probability(*c.Test.P)
	}
	n := fmt.Sprintf("%d/%d", c.A.N, c.B.N)
	if c.A.N == c.B.N {
		n = fmt.Sprint(c.A.N)
	}
	r.Cells = []string{sideText(c.A), sideText(c.B), n, change, p}
	return r
}

func sideText(s analyze.Side) string {
	if s.Median == nil {
		return "none"
	}
	return short(*s.Median)
}

// percent writes a relative change with its sign.
func percent(v float64) string {
	text := short(math.Abs(v)*100) + " %"
	switch {
	case v > 0:
		return "+" + text
	case v < 0:
		return minus + text
	}
	return text
}

// probability writes p with two digits.
func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%#.2g", p)
}

// longest is how many times as far as the outermost mark an axis of changes
// follows an interval: beyond, one of a few batches would press all others together.
const longest = 4

// changeRange is what the axis of changes has to hold: 1, all marks, and their
// intervals as far as it follows them.
func changeRange(pairs []analyze.Comparison) (lo, hi float64) {
	lo, hi = 1, 1
	for _, c := range pairs {
		if v := rowOf(c).Ratio; v != nil && *v > 0 && !math.IsInf(*v, 0) {
			lo, hi = math.Min(lo, *v), math.Max(hi, *v)
		}
	}
	least, most := lo/longest, hi*longest
	for _, c := range pairs {
		if r := rowOf(c); r.Lo != nil && r.Hi != nil {
			lo, hi = math.Min(lo, math.Max(*r.Lo, least)), math.Max(hi, math.Min(*r.Hi, most))
		}
	}
	return lo, hi
}

// changeAxis is the axis of the ratios of B to A, labelled in percent, or,
// logarithmic, as multiples. 1 is always on it.
func changeAxis(pairs []analyze.Comparison) Axis {
	lo, hi := changeRange(pairs)
	if hi > farChange || lo < 1.0/farChange {
		a := Axis{Label: "B as a multiple of A, log scale", Log: true}
		a.Ticks, a.Min, a.Max = decades(lo*0.95, hi*1.05)
		for i, t := range a.Ticks {
			if t.Label != "" {
				a.Ticks[i].Label = "×" + t.Label
			}
		}
		return thinned(a)
	}
	room := math.Max(0.06*(hi-lo), 0.01)
	a := Axis{Label: "Change of B against A (%)", Min: lo - room, Max: hi + room}
	step := niceStep((a.Max - a.Min) / wantedSteps)
	for k := math.Ceil((a.Min - 1) / step); 1+k*step <= a.Max; k++ {
		label := signed(100*k*step, 100*step)
		if k > 0 {
			label = "+" + label
		}
		a.Ticks = append(a.Ticks, Tick{1 + k*step, label})
	}
	return thinned(a)
}

// thinned is the axis with labels that do not touch.
func thinned(a Axis) Axis {
	a.Ticks = thinFor(a, leastPanel)
	return a
}

// verdictsOf lists what the legend has to tell of the rows.
func verdictsOf(pairs []analyze.Comparison) []analyze.Verdict {
	var list []analyze.Verdict
	for _, v := range []analyze.Verdict{analyze.VerdictBetter, analyze.VerdictWorse, analyze.VerdictDiffers, analyze.VerdictSame} {
		if slices.ContainsFunc(pairs, func(c analyze.Comparison) bool { return c.Verdict == v && c.Change != nil }) {
			list = append(list, v)
		}
	}
	return list
}

// compareNotes say what the marks are, and what is not in the figure.
func compareNotes(set analyze.CompareSet) []string {
	notes := []string{
		"Mark: the median of all ratios of a batch of B to one of A; whiskers: its 95 % interval. n: batches (A/B where they differ); p: rank test over them, a difference from 0.05 down. A and B: medians.",
	}
	if set.Tests > 1 {
		notes = append(notes, fmt.Sprintf("%d tests: by chance about one of 20 shows a difference where there is none. Corrected for their number (Holm), %s.", set.Tests, remaining(set.AfterAll)))
	}
	if slices.ContainsFunc(set.Pairs, func(c analyze.Comparison) bool { return c.Verdict == analyze.VerdictTooFew }) {
		notes = append(notes, "A test needs 4 batches a side.")
	}
	for _, m := range set.Means {
		name := m.Metric.Name
		if named, err := metricNamed(name); err == nil {
			name = named.Label
		}
		notes = append(notes, fmt.Sprintf("%s, geometric mean over %s: %s.", name, plural(m.Cases, "case", "cases"), percent(m.Change)))
	}
	for _, side := range []struct {
		name string
		only []string
	}{{"A", set.OnlyA}, {"B", set.OnlyB}} {
		if n := len(side.only); n > 0 {
			notes = append(notes, fmt.Sprintf("%s of %s alone, not drawn.", plural(n, "case", "cases"), side.name))
		}
	}
	return append(notes, warningNotes(set.Warnings)...)
}

// beyondNote says what arrowheads are, where there are some.
func beyondNote(panels []Panel) string {
	for _, p := range panels {
		for _, r := range p.Rows {
			if r.Lo != nil && r.Hi != nil && (*r.Lo < p.X.Min || *r.Hi > p.X.Max) {
				return "Arrowheads: intervals that go on beyond the axis."
			}
		}
	}
	return ""
}

func remaining(differences int) string {
	switch differences {
	case 0:
		return "no difference remains"
	case 1:
		return "1 difference remains"
	}
	return fmt.Sprintf("%d differences remain", differences)
}
