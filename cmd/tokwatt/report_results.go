package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tokwatt/analyze"
	"tokwatt/plot/report"
)

// title says what was measured, and on what.
func (r *reporter) title() string {
	models := r.targets.distinct("model_id")
	what := "A session"
	switch {
	case len(models) > 3:
		what = plural(int64(len(models)), "model")
	case len(models) > 0:
		what = strings.Join(models, ", ")
	}
	return what + " on " + cmp.Or(r.session.text(0, "hw_chip"), r.session.text(0, "host"), "an unknown machine")
}

// lead has the lines that tell one session from another.
func (r *reporter) lead() []string {
	s := func(name string) string { return r.session.text(0, name) }
	var engines []string
	for i := range r.targets.rows {
		e := strings.TrimSpace(r.targets.text(i, "engine") + " " + r.targets.text(i, "engine_version"))
		if e != "" && !slices.Contains(engines, e) {
			engines = append(engines, e)
		}
	}
	whose := "measured by tokwatt " + strings.Join(r.segments.distinct("tool_version"), ", ")
	if r.imported() {
		whose = "imported: measured by " + strings.TrimSpace(cmp.Or(s("import_tool"), "another tool")+" "+s("import_tool_version"))
	}
	lines := []string{
		joined(strings.Join(engines, ", "), s("host"), strings.TrimSpace(s("os_name")+" "+s("os_version"))),
		joined(cmp.Or(s("started_at"), s("date")), cmp.Or(s("status"), "not ended"), strings.TrimSpace(whose), "session "+r.id),
		joined(s("label"), s("tags"), s("note")),
	}
	return slices.DeleteFunc(lines, func(l string) bool { return l == "" })
}

// results are the headline figures, a table a target.
func (r *reporter) results(ctx context.Context) (report.Section, error) {
	s := report.Section{ID: "results", Title: "Results"}
	s.Text = slices.Clone(r.unmeasured)
	if len(r.summaries) == 0 {
		s.Text = append(s.Text, "No batch of this session has ended, so there is no figure.")
		return s, nil
	}
	s.Text = append(s.Text, "Medians first; below them mean ± sample standard deviation, below energies the bounds that the sensors' readings set to the median, or that nothing bounds them (indicative). "+
		"n: requests behind the figures. CV: coefficient of variation of the batches' generation rate, under 5 % stable, under 10 % variable, else unstable.")
	notes, err := footnotes(ctx, r.db, []string{r.id})
	if err != nil {
		return s, err
	}
	for _, cases := range r.byTarget() {
		rows := plainSummaries(cases)
		t := headline(cases, rows)
		t.Caption = r.targetName(rows[0])
		for _, n := range slices.Concat(fewerBehind(rows, presentMetrics(rows, "markdown")), notes[targetKey{r.id, rows[0].TargetID}], fewBatches(rows)) {
			t.Notes = append(t.Notes, noteText(n, "markdown"))
		}
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}

// byTarget parts the cases by their targets.
func (r *reporter) byTarget() [][]analyze.EnergyCase {
	var out [][]analyze.EnergyCase
	rest := r.summaries
	for _, rows := range byTarget(plainSummaries(r.summaries)) {
		out, rest = append(out, rest[:len(rows)]), rest[len(rows):]
	}
	return out
}

// targetName names a target, with its number where another has the same name.
func (r *reporter) targetName(of analyze.Summary) string {
	name := summaryName(of)
	for i := range r.summaries {
		if other := &r.summaries[i].Summary; other.TargetID != of.TargetID && summaryName(*other) == name {
			return fmt.Sprintf("%s · target %d", name, of.TargetID)
		}
	}
	return name
}

func plainSummaries(cases []analyze.EnergyCase) []analyze.Summary {
	out := make([]analyze.Summary, len(cases))
	for i, c := range cases {
		out[i] = c.Summary
	}
	return out
}

// headline is the table of a target: what tells its cases apart, the headline
// metrics that any of them has, and how many requests are not in them.
func headline(cases []analyze.EnergyCase, rows []analyze.Summary) report.Table {
	keys, metrics := varyingKeys(rows), presentMetrics(rows, "markdown")
	t := report.Table{Keys: len(keys)}
	for _, k := range keys {
		t.Columns = append(t.Columns, report.Column{Head: k.head, Number: true})
	}
	for _, m := range metrics {
		c := columnOf(m.name, true)
		c.Head, _, _ = strings.Cut(m.head, "\n")
		c.Head = strings.TrimSuffix(c.Head, "J/")
		c.Head = cmp.Or(c.Head, "energy")
		t.Columns = append(t.Columns, c)
	}
	t.Columns = append(t.Columns, report.Column{Head: "n", Number: true}, report.Column{Head: "CV", Unit: "%", Number: true})
	lost := slices.ContainsFunc(rows, func(s analyze.Summary) bool { return s.NFailed+s.NInvalid > 0 })
	if lost {
		t.Columns = append(t.Columns, report.Column{Head: "failed", Number: true}, report.Column{Head: "invalid", Number: true})
	}
	for i, s := range rows {
		var row []string
		for _, k := range keys {
			row = append(row, k.cell(s))
		}
		for _, m := range metrics {
			row = append(row, headlineCell(m, cases[i]))
		}
		row = append(row, strconv.FormatInt(inFigures(s), 10), stabilityCell(s, "table", false))
		if lost {
			row = append(row, strconv.FormatInt(s.NFailed, 10), strconv.FormatInt(s.NInvalid, 10))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// headlineCell is the median with what is below it.
func headlineCell(m shownMetric, c analyze.EnergyCase) string {
	if m.name != joulesPerToken {
		return m.cell(c.Summary, "table", false)
	}
	median := c.Stats[m.name].Median
	lo, hi, indicative := boundsOf(c, m.name)
	switch {
	case median != nil && indicative:
		return sig(*median) + "\nindicative"
	case median == nil || lo == nil:
		return figure(median)
	}
	return sig(*median) + "\n" + sig(*lo) + " … " + sig(*hi)
}

// boundsOf are the medians of the batches' lower and of their upper bounds: the
// median of the metric is between them as surely as each batch's figure is
// between its own. They are nil where a batch has none, as one whose power was
// read at instants: that is indicative.
func boundsOf(c analyze.EnergyCase, metric string) (lo, hi *float64, indicative bool) {
	var lows, highs []float64
	for _, b := range c.Batches {
		if b.Figures[metric] == nil {
			continue
		}
		l, h := b.Bounds(metric)
		if b.Indicative || l == nil {
			return nil, nil, b.Indicative
		}
		lows, highs = append(lows, *l), append(highs, *h)
	}
	low, _ := analyze.NewSample(lows)
	high, _ := analyze.NewSample(highs)
	return low.Quantile(0.5), high.Quantile(0.5), false
}

// allFigures has every metric of every case.
func (r *reporter) allFigures(context.Context) (report.Section, error) {
	s := report.Section{ID: "figures", Title: "All figures"}
	own := ownPrompts(plainSummaries(r.summaries))
	for _, cases := range r.byTarget() {
		t := report.Table{Caption: "Every metric of every case of " + r.targetName(cases[0].Summary), Keys: 2, Folded: true, Columns: []report.Column{
			{Head: "case"}, {Head: "metric"}, {Head: "unit"}, {Head: "n", Number: true}, {Head: "median", Number: true},
			{Head: "95 % interval of the median", Number: true, About: "by order statistics over batch medians, from 6 batches on; in brackets the coverage that it really has"},
			{Head: "mean", Number: true}, {Head: "sd", Number: true, About: "sample standard deviation"}, {Head: "p90", Number: true}, {Head: "p99", Number: true}}}
		for _, c := range cases {
			for _, m := range analyze.Metrics() {
				stat := c.Stats[m.Name]
				if stat.N == 0 {
					continue
				}
				t.Rows = append(t.Rows, []string{strings.TrimSpace(caseName(c.Summary, own) + " " + c.PrefixCacheHit), m.Name, m.Unit, strconv.FormatInt(stat.N, 10), figure(stat.Median),
					intervalCell(stat), figure(stat.Mean), figure(stat.SD), figure(stat.P90), figure(stat.P99)})
			}
		}
		if len(t.Rows) > 0 {
			t.Notes = []string{"A dash: too few values for the figure. A 90th percentile needs 10 of them, a 99th 100, an interval 6 batches."}
			s.Tables = append(s.Tables, t)
		}
	}
	if s.Tables == nil {
		s.Text = []string{"No request of this session has a figure."}
	}
	return s, nil
}

func intervalCell(s analyze.Stat) string {
	if s.Lo == nil || s.Hi == nil {
		return "–"
	}
	text := sig(*s.Lo) + " … " + sig(*s.Hi)
	if s.Coverage != nil {
		share := 100 * *s.Coverage
		text += " (" + percent(&share) + " %)"
	}
	return text
}
