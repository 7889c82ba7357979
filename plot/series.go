package plot

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// source is the rows of a figure and how they are told apart.
type source struct {
	rows   []*analyze.Summary
	series []key   // what makes a series
	groups []group // the rows by series, in order
	styles []int   // of each group
}

// arrange groups rows into series. along are the keys that place a row within
// its series; by the user's keys for series, empty to take those that vary. all
// are the rows of the selection, of which rows have something to show.
func arrange(all, rows []*analyze.Summary, along []key, by []string) (source, error) {
	taken := names(along)
	candidates := without(allKeys(), taken...)
	series, err := pick(by)
	if err != nil {
		return source{}, err
	}
	for _, k := range series {
		if slices.Contains(taken, k.name) {
			return source{}, fmt.Errorf("%s is along the axis and cannot tell series apart as well: take it out of --by", k.name)
		}
	}
	if len(by) == 0 {
		series = telling(candidates, along, rows)
	}
	if a, b := collision(append(slices.Clip(series), along...), rows); a != nil {
		return source{}, fmt.Errorf("two cases would fall on one point (%s): they differ in %s; add that to --by or narrow the cases with --where",
			title(append(slices.Clip(series), along...), a), strings.Join(differing(candidates, a, b), " and "))
	}
	src := source{rows: rows, series: series, groups: groups(series, rows)}
	if n := len(src.groups); n > maxSeries {
		return source{}, fmt.Errorf("%d series (%s) cannot be told apart in one figure, at most %d can: narrow the cases with --where",
			n, strings.Join(names(series), " × "), maxSeries)
	}
	src.styles = styles(src, all)
	return src, nil
}

// styles gives a series the place it has among those of the whole selection,
// where those are not too many: it then looks the same in each kind of figure,
// whichever others have nothing to show there.
func styles(src source, all []*analyze.Summary) []int {
	places := map[string]int{}
	for i, g := range groups(src.series, all) {
		places[tuple(src.series, g.rows[0])] = i
	}
	list := make([]int, len(src.groups))
	for i, g := range src.groups {
		if list[i] = i; len(places) <= maxSeries {
			list[i] = places[tuple(src.series, g.rows[0])]
		}
	}
	return list
}

// telling chooses the keys by which series differ.
func telling(candidates, along []key, rows []*analyze.Summary) []key {
	series := varying(ofRole(candidates, subject, matrix), rows)
	for _, k := range ofRole(candidates, version) {
		if refines(series, k, rows) {
			engine, _ := pick([]string{"engine"})
			series = append(without(series, "engine"), engine[0], k)
		}
	}
	for _, k := range ofRole(candidates, length, origin) {
		if a, _ := collision(append(slices.Clip(series), along...), rows); a != nil && refines(series, k, rows) {
			series = append(series, k)
		}
	}
	slices.SortStableFunc(series, func(a, b key) int { return a.place() - b.place() })
	return series
}

func (k key) place() int { return slices.Index(Keys(), k.name) }

func ofRole(keys []key, roles ...role) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return !slices.Contains(roles, k.role) })
}

func names(keys []key) []string {
	var list []string
	for _, k := range keys {
		list = append(list, k.name)
	}
	return list
}

// collision returns two rows that the keys do not tell apart, or nil.
func collision(keys []key, rows []*analyze.Summary) (a, b *analyze.Summary) {
	first := map[string]*analyze.Summary{}
	for _, s := range rows {
		t := tuple(keys, s)
		if first[t] != nil {
			return first[t], s
		}
		first[t] = s
	}
	return nil, nil
}

// differing names the keys in which two rows differ.
func differing(keys []key, a, b *analyze.Summary) []string {
	var list []string
	for _, k := range keys {
		if k.text(a) != k.text(b) {
			list = append(list, k.name)
		}
	}
	if list == nil {
		return []string{"nothing that has a name (the same case twice)"}
	}
	return list
}

// points makes the points of one metric. Rows without it are left out; a
// figure that cannot be drawn is an error.
func points(rows []*analyze.Summary, metric string, place func(*analyze.Summary) float64, withTails, log bool) ([]Point, error) {
	var list []Point
	for _, s := range rows {
		st, ok := s.Stats[metric]
		if !ok || st.Median == nil {
			continue
		}
		figures := append([]float64{*st.Median}, st.Points...)
		p := Point{X: place(s), Median: *st.Median, N: int(s.NBatches), Raw: slices.Clone(st.Points)}
		if len(st.Points) > 0 {
			p.N = len(st.Points)
		}
		if st.Lo != nil && st.Hi != nil {
			p.Lo, p.Hi = new(*st.Lo), new(*st.Hi)
			figures = append(figures, *st.Lo, *st.Hi)
		}
		if withTails {
			p.Tails = tails(st)
		}
		for _, t := range p.Tails {
			figures = append(figures, t.Value)
		}
		if err := drawable(figures, log); err != nil {
			return nil, fmt.Errorf("%s of case %d of session %s %w: leave the case out with --where", metric, s.CaseID, shortID(s.SessionID), err)
		}
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b Point) int {
		if a.X < b.X {
			return -1
		}
		if a.X > b.X {
			return 1
		}
		return 0
	})
	return list, nil
}

func tails(st analyze.Stat) []Tail {
	var list []Tail
	if st.P90 != nil {
		list = append(list, Tail{90, *st.P90})
	}
	if st.P99 != nil {
		list = append(list, Tail{99, *st.P99})
	}
	return list
}

func drawable(figures []float64, log bool) error {
	for _, v := range figures {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return fmt.Errorf("is %v, which has no place on an axis", v)
		case v < 0:
			return fmt.Errorf("is %v, though no rate or time is under 0", v)
		case v > 1e100 || v > 0 && v < 1e-100:
			return fmt.Errorf("is %v, which no axis reaches", v) // the ticks' arithmetic would overflow
		case v == 0 && log:
			return errors.New("is 0, which has no place on a logarithmic axis")
		}
	}
	return nil
}

// rowsOf takes the summaries by pointer, refusing none at all. They are copies
// that know the names of their prompts.
func rowsOf(summaries []analyze.Summary) ([]*analyze.Summary, error) {
	if len(summaries) == 0 {
		return nil, errors.New("there is nothing to draw: no case was selected")
	}
	rows := make([]*analyze.Summary, len(summaries))
	for i := range summaries {
		rows[i] = new(summaries[i])
	}
	namePrompts(rows)
	return rows, nil
}

func namePrompts(rows []*analyze.Summary) {
	names := analyze.OwnPrompts(rows)
	for _, s := range rows {
		if s.Keys = maps.Clone(s.Keys); s.Keys == nil {
			s.Keys = map[string]string{}
		}
		s.Keys[ownPrompt] = names[s]
	}
}

// anyHas tells whether some row has the metric.
func anyHas(rows []*analyze.Summary, metric string) bool {
	return slices.ContainsFunc(rows, func(s *analyze.Summary) bool { return s.Stats[metric].Median != nil })
}

// panelMetrics chooses the metrics to draw and says which of the kind's own
// are left out for want of values.
func panelMetrics(rows []*analyze.Summary, wanted, own []string) (metrics []metric, notes []string, err error) {
	chosen := own
	if len(wanted) > 0 {
		chosen = wanted
	}
	for _, name := range chosen {
		m, err := metricNamed(name)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case anyHas(rows, name):
			metrics = append(metrics, m)
		case len(wanted) > 0:
			return nil, nil, fmt.Errorf("no case has %s, whose rule `tokwatt metrics` gives", name)
		default:
			notes = append(notes, fmt.Sprintf("No case has a figure for “%s”.", m.Label))
		}
	}
	if len(metrics) == 0 {
		return nil, nil, fmt.Errorf("no case has %s, so there is nothing to show: `tokwatt show` says what the rows lack", strings.Join(own, " or "))
	}
	return metrics, notes, nil
}

// logarithmic parses Options.Log.
func logarithmic(option string) (x, y, auto bool, err error) {
	switch option {
	case "":
		return false, false, true, nil
	case "none":
	case "x":
		x = true
	case "y":
		y = true
	case "xy":
		x, y = true, true
	default:
		err = fmt.Errorf(`--log takes x, y, xy or none, not %q`, option)
	}
	return x, y, false, err
}

// drawn are the rows with a figure in any panel: one that failed altogether is
// in the notes, not in the legend.
func drawn(rows []*analyze.Summary, metrics []metric) []*analyze.Summary {
	return slices.DeleteFunc(slices.Clone(rows), func(s *analyze.Summary) bool {
		return !slices.ContainsFunc(metrics, func(m metric) bool { return s.Stats[m.Name].Median != nil })
	})
}

// told are the keys that the legend tells; without one the subtitle does.
func told(src source) []string {
	if len(src.groups) < 2 {
		return nil
	}
	return names(src.series)
}
