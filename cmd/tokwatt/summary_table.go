package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tokwatt/analyze"
)

// byTarget parts summaries where session or target change.
func byTarget(all []analyze.Summary) [][]analyze.Summary {
	var out [][]analyze.Summary
	for i, s := range all {
		if i == 0 || s.SessionID != all[i-1].SessionID || s.TargetID != all[i-1].TargetID {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], s)
	}
	return out
}

// shownMetrics are the figures of the table, where any row has them.
var shownMetrics = []struct{ name, head string }{
	{"prompt_tps", "prefill\ntok/s"},
	{"generation_tps", "gen\ntok/s"},
	{"agg_wall_tps", "all\ntok/s"},
	{"ttft_ms", "TTFT\nms"},
	{"total_duration_ms", "total\nms"},
}

// writeSummary draws the cases of one target. Medians come first; the mean and
// the sample standard deviation stand below them.
func writeSummary(w io.Writer, rows []analyze.Summary, format string, percentiles []int) {
	first := rows[0]
	fmt.Fprintf(w, "%s  %s  %s  %s %s  %s\n", shortID(first.SessionID), first.Date, first.Host,
		first.Engine, first.EngineVersion, first.ModelID+quantization(first))
	keys := varyingKeys(rows)
	metrics := presentMetrics(rows)
	header := []any{}
	for _, k := range keys {
		header = append(header, k.head)
	}
	for _, m := range metrics {
		header = append(header, m.head)
		for _, p := range percentiles {
			if isTime(m.name) {
				header = append(header, "p"+strconv.Itoa(p))
			}
		}
	}
	header = append(header, "n", "CV\n%")
	t := newTable(w, header...)
	alignSummary(t, len(header))
	for _, s := range rows {
		var row []any
		for _, k := range keys {
			row = append(row, k.cell(s))
		}
		for _, m := range metrics {
			stat := s.Stats[m.name]
			row = append(row, medianCell(stat, format))
			for _, p := range percentiles {
				if isTime(m.name) {
					row = append(row, figure(percentile(stat, p)))
				}
			}
		}
		t.AppendRow(append(row, inFigures(s), stabilityCell(s)))
	}
	if format == "markdown" {
		t.RenderMarkdown()
	} else {
		t.Render()
	}
	for _, note := range footnotes(rows) {
		fmt.Fprintln(w, note)
	}
}

func alignSummary(t table.Writer, columns int) {
	var c []table.ColumnConfig
	for i := range columns {
		c = append(c, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(c)
}

func quantization(s analyze.Summary) string {
	if s.Quantization == "" {
		return ""
	}
	return " " + s.Quantization
}

// medianCell is the median, with mean ± sd below it on a screen and behind it
// in Markdown.
func medianCell(s analyze.Stat, format string) string {
	if s.Median == nil {
		return "–"
	}
	if s.SD == nil {
		return figure(s.Median)
	}
	if format == "markdown" {
		return fmt.Sprintf("%s (%s ± %s)", figure(s.Median), figure(s.Mean), deviation(*s.SD))
	}
	return fmt.Sprintf("%s\n%s±%s", figure(s.Median), figure(s.Mean), deviation(*s.SD))
}

// inFigures is the number of requests behind a row's figures.
func inFigures(s analyze.Summary) int64 {
	var n int64
	for _, m := range shownMetrics {
		if m.name != "agg_wall_tps" { // which is one a batch
			n = max(n, s.Stats[m.name].N)
		}
	}
	return n
}

func stabilityCell(s analyze.Summary) string {
	if s.CV == nil {
		return "–"
	}
	return figure(s.CV) + "\n" + s.Stability
}

func isTime(metric string) bool { return metric == "ttft_ms" || metric == "total_duration_ms" }

func percentile(s analyze.Stat, p int) *float64 {
	if p == 90 {
		return s.P90
	}
	return s.P99
}

// summaryKey is a column that tells cases apart.
type summaryKey struct {
	head string
	cell func(analyze.Summary) string
}

// varyingKeys are pp, tg and concurrency, and of the others those that vary.
func varyingKeys(rows []analyze.Summary) []summaryKey {
	keys := []summaryKey{
		{"pp", func(s analyze.Summary) string {
			if s.PP == nil {
				return "own"
			}
			return strconv.FormatInt(*s.PP, 10)
		}},
		{"tg", func(s analyze.Summary) string { return strconv.FormatInt(s.TG, 10) }},
		{"conc", func(s analyze.Summary) string { return strconv.FormatInt(s.Concurrency, 10) }},
	}
	for _, k := range []summaryKey{
		{"prompt", func(s analyze.Summary) string { return s.PromptKind }},
		{"cache", func(s analyze.Summary) string { return cmp.Or(s.PrefixCacheHit, s.CacheMode) }},
	} {
		if slices.ContainsFunc(rows, func(s analyze.Summary) bool { return k.cell(s) != k.cell(rows[0]) }) {
			keys = append(keys, k)
		}
	}
	return keys
}

func presentMetrics(rows []analyze.Summary) []struct{ name, head string } {
	out := slices.Clone(shownMetrics)
	concurrent := slices.ContainsFunc(rows, func(s analyze.Summary) bool { return s.Concurrency > 1 })
	return slices.DeleteFunc(out, func(m struct{ name, head string }) bool {
		if m.name == "agg_wall_tps" && !concurrent || m.name == "total_duration_ms" && concurrent {
			return true
		}
		return !slices.ContainsFunc(rows, func(s analyze.Summary) bool { return s.Stats[m.name].Median != nil })
	})
}

// footnotes say what a reader of the table must mind.
func footnotes(rows []analyze.Summary) []string {
	var failed, invalid, hits, estimated, implausible int64
	fewest := rows[0].NBatches
	for _, s := range rows {
		failed += s.NFailed
		invalid += s.NInvalid
		hits += s.NCacheHit
		estimated += s.NEstimated
		implausible += s.NImplausible
		fewest = min(fewest, s.NBatches)
	}
	out := []string{"median, below it mean±sd; n: requests in them; CV: of the batches' gen tok/s"}
	add := func(n int64, text string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s %s", plural(n, "request"), text))
		}
	}
	add(failed, "failed: in no figure; `tokwatt show` has the reasons")
	add(invalid, "with figures that contradict each other: in none")
	add(hits, "of cold cases hit a cache: in no figure")
	add(implausible, "had implausible server figures: in no figure")
	add(estimated, "had estimated token counts: in the times, not in the rates")
	if fewest < 6 {
		out = append(out, fmt.Sprintf("as few as %s a case: no 95 %% interval of a median under 6", plural(fewest, "batch")))
	}
	return out
}
