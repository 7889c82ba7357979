package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tokwatt/analyze"
)

func (a *app) writeComparison(c *comparison, format string) error {
	switch format {
	case "json":
		return a.printJSON(c.set)
	case "csv":
		return writePairs(a.out, c.set)
	}
	for _, line := range c.heading() {
		writeTitle(a.out, line, format)
	}
	t := pairTable(a.out, c.set.Pairs)
	if format == "markdown" {
		t.RenderMarkdown()
		fmt.Fprintln(a.out)
	} else {
		t.Render()
	}
	writeNotes(a.out, compareNotes(c.set), format)
	return nil
}

// heading says what the sides are.
func (c *comparison) heading() []string {
	lines := []string{"A  " + c.a.name(), "B  " + c.b.name()}
	for _, k := range c.set.Compared {
		said := func(by analyze.Condition) bool { return by.Key == k.Key }
		if !slices.ContainsFunc(c.a.by, said) || !slices.ContainsFunc(c.b.by, said) {
			lines = append(lines, k.Key+": "+k.Value)
		}
	}
	return lines
}

// name is a selection with its sessions.
func (s selection) name() string {
	var ids []string
	for _, id := range s.ids {
		ids = append(ids, shortID(id))
	}
	sessions := firstOf(ids)
	if len(s.by) == 0 {
		return sessions
	}
	var words []string
	for _, c := range s.by {
		words = append(words, c.String())
	}
	return strings.Join(words, ", ") + "  (" + sessions + ")"
}

// pairTable has a row for each metric of a case, and of the case's keys those
// that vary.
func pairTable(w io.Writer, pairs []analyze.Comparison) table.Writer {
	var header []any
	for _, k := range pairs[0].Case {
		header = append(header, keyHead(k.Key))
	}
	keys := len(header)
	t := newTable(w, append(header, "metric", "A", "B", "change", "95 % interval", "p", "n", "verdict")...)
	var columns []table.ColumnConfig
	for i := 1; i <= keys; i++ {
		columns = append(columns, table.ColumnConfig{Number: i, WidthMax: 18, WidthMaxEnforcer: text.WrapText})
	}
	for i := range 6 {
		columns = append(columns, table.ColumnConfig{Number: keys + 2 + i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for _, c := range pairs {
		var row []any
		for _, k := range c.Case {
			row = append(row, keyCell(k))
		}
		t.AppendRow(append(row, c.Metric.Name, figure(c.A.Median), figure(c.B.Median), change(c.Change), between(c.Interval),
			probability(c.Test.P), fmt.Sprintf("%d/%d", c.A.N, c.B.N), string(c.Verdict)))
	}
	return t
}

// keyHead is a key as the head of a column.
func keyHead(key string) string {
	short := map[string]string{"concurrency": "conc", "prompt_kind": "prompt", "prompt_hash": "text", "cache_mode": "cache",
		"prefix_cache_hit": "hit", "placement_nodes": "nodes", "placement_sharding": "sharding", "placement_instance_meta": "instance",
		"model_quantization": "quant"}
	return cmp.Or(short[key], key)
}

func keyCell(k analyze.CaseKey) string {
	switch {
	case k.Value == "":
		return "–"
	case k.Key == "prompt_hash":
		return clip(k.Value, 9)
	}
	return k.Value
}

// change prints a relative change in percent, with its sign.
func change(x *float64) string {
	if x == nil {
		return "–"
	}
	return signed(*x) + " %"
}

func signed(x float64) string {
	digits := 1
	if x >= 0.9995 {
		digits = 0
	}
	text := strconv.FormatFloat(100*x, 'f', digits, 64)
	switch {
	case strings.Trim(text, "-0.") == "":
		return strings.TrimPrefix(text, "-")
	case x > 0:
		return "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}

func between(i *analyze.Interval) string {
	if i == nil {
		return "–"
	}
	return signed(i.Lo) + " … " + signed(i.Hi)
}

// probability prints p with two significant digits, none below 0.001.
func probability(p *float64) string {
	switch {
	case p == nil:
		return "–"
	case *p < 0.001:
		return "<0.001"
	case *p >= 0.1:
		return strconv.FormatFloat(*p, 'f', 2, 64)
	}
	return strconv.FormatFloat(*p, 'f', 3, 64)
}

// compareNotes explain the table and say what a reader must mind.
func compareNotes(set *analyze.CompareSet) []string {
	out := []string{"A, B: medians of the batches' medians; change: B against A, by the ratios of all pairs of batches (Hodges and Lehmann); " +
		"p: Mann–Whitney over batches; n: batches of A/B; verdict: on B; same: these runs show no difference"}
	if note := manyTests(set); note != "" {
		out = append(out, note)
	}
	if slices.ContainsFunc(set.Pairs, func(c analyze.Comparison) bool { return c.Verdict == analyze.VerdictTooFew }) {
		out = append(out, "not enough runs: a test needs 4 batches a side; collect with a higher --repeat")
	}
	if slices.ContainsFunc(set.Pairs, func(c analyze.Comparison) bool { return c.Verdict == analyze.VerdictNoRatio }) {
		out = append(out, "no ratio: a batch's value is not above 0, so that there is no change in percent and no test")
	}
	out = append(out, meanNotes(set.Means)...)
	if len(set.OnlyA) > 0 {
		out = append(out, "only in A: "+firstOf(set.OnlyA))
	}
	if len(set.OnlyB) > 0 {
		out = append(out, "only in B: "+firstOf(set.OnlyB))
	}
	for _, w := range set.Warnings {
		out = append(out, "mind: "+w)
	}
	return out
}

// meanNotes have a line a number of cases.
func meanNotes(means []analyze.GeometricMean) []string {
	var out []string
	for _, m := range means {
		head := fmt.Sprintf("geometric mean of the changes in %d cases: ", m.Cases)
		text := m.Metric.Name + " " + change(&m.Change)
		if i := slices.IndexFunc(out, func(line string) bool { return strings.HasPrefix(line, head) }); i >= 0 {
			out[i] += ", " + text
		} else {
			out = append(out, head+text)
		}
	}
	return out
}

// manyTests says what several tests at once may show by chance.
func manyTests(set *analyze.CompareSet) string {
	if set.Tests < 2 {
		return ""
	}
	found := 0
	for _, c := range set.Pairs {
		if c.Test.P != nil && c.Verdict != analyze.VerdictSame {
			found++
		}
	}
	text := fmt.Sprintf("%d tests at 5 %%: %s of them may differ by chance alone", set.Tests, strconv.FormatFloat(0.05*float64(set.Tests), 'g', 2, 64))
	if found > 0 {
		text += fmt.Sprintf("; %d do, and %d of these with Holm's correction for their number", found, set.AfterAll)
	}
	return text
}

// writePairs writes one line a comparison, with all figures in full.
func writePairs(w io.Writer, set *analyze.CompareSet) error {
	out := csv.NewWriter(w)
	var header []string
	for _, k := range set.Pairs[0].Case {
		header = append(header, k.Key)
	}
	out.Write(append(header, "metric", "unit", "better", "a_n", "a_median", "a_lo", "a_hi", "a_coverage", "b_n", "b_median", "b_lo", "b_hi", "b_coverage",
		"change", "change_lo", "change_hi", "change_coverage", "u", "p", "p_exact", "p_holm", "verdict"))
	for _, c := range set.Pairs {
		var row []string
		for _, k := range c.Case {
			row = append(row, k.Value)
		}
		row = append(row, c.Metric.Name, c.Metric.Unit, string(c.Metric.Better))
		row = append(append(row, sideCells(c.A)...), sideCells(c.B)...)
		interval := [3]*float64{}
		if i := c.Interval; i != nil {
			interval = [3]*float64{&i.Lo, &i.Hi, &i.Coverage}
		}
		row = append(row, full(c.Change), full(interval[0]), full(interval[1]), full(interval[2]),
			full(c.Test.U), full(c.Test.P), strconv.FormatBool(c.Test.Exact), full(c.Holm), string(c.Verdict))
		out.Write(row)
	}
	out.Flush()
	return out.Error()
}

func sideCells(s analyze.Side) []string {
	return []string{strconv.Itoa(s.N), full(s.Median), full(s.Low), full(s.High), full(s.Coverage)}
}

// full is a number with all its digits, empty for none.
func full(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}
