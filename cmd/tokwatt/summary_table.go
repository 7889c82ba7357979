package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

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

// writeSummary draws the cases of one target, on a screen or as Markdown.
// Medians come first; the mean and the sample standard deviation follow.
func writeSummary(w io.Writer, rows []analyze.Summary, format string, percentiles []int, notes []string) {
	writeTitle(w, heading(rows[0]), format)
	metrics := presentMetrics(rows, format)
	notes = slices.Concat(standIns(metrics), statedSpread(rows), fewerBehind(rows, metrics), notes)
	if format == "markdown" {
		summaryTable(w, rows, format, percentiles, narrowing{}).RenderMarkdown()
		fmt.Fprintln(w)
		notes = append([]string{legend(format)}, notes...)
	} else {
		notes = append(renderNarrow(w, rows, percentiles), notes...)
	}
	notes = append(notes, percentilesMissing(rows, percentiles)...)
	writeNotes(w, notes, format)
}

// writeTitle writes what stands above a table, on a screen or as Markdown.
func writeTitle(w io.Writer, title, format string) {
	layout := "%s\n"
	if format == "markdown" {
		layout = "**%s**\n\n"
	}
	fmt.Fprintf(w, layout, noteText(title, format))
}

// writeNotes writes what stands below a table.
func writeNotes(w io.Writer, notes []string, format string) {
	layout := "%s\n"
	if format == "markdown" {
		layout = "- %s\n"
	}
	for _, n := range notes {
		fmt.Fprintf(w, layout, noteText(n, format))
	}
}

// noteText fits a note to a screen, or to an item of a list in Markdown.
func noteText(note, format string) string {
	if format == "markdown" {
		return strings.Join(strings.Fields(note), " ")
	}
	return folded(note)
}

// heading is what all cases of a target have in common. Of a session whose start
// nobody knows the day is that of its import.
func heading(s analyze.Summary) string {
	day := s.Date + " UTC"
	if _, known := startIn(s.SessionID); !known {
		day = "imported " + day
	}
	return strings.Join([]string{shortID(s.SessionID), day, s.Host, summaryName(s)}, "  ")
}

func legend(format string) string {
	where := "below"
	if format == "markdown" {
		where = "behind"
	}
	return "median, " + where + " it mean±sd; n: requests in them; CV: of the batches' gen tok/s"
}

// narrowing is what a table leaves out so that it fits a screen.
type narrowing struct {
	spread  bool     // mean ± sd
	class   bool     // of CV
	metrics []string // by name
	says    string
}

// narrowings are tried in turn.
var narrowings = []narrowing{
	{},
	{spread: true, says: "mean±sd"},
	{spread: true, metrics: []string{"itl_p50_ms"}, says: "mean±sd and ITL"},
	{spread: true, metrics: []string{"itl_p50_ms", joulesPerToken, "agg_wall_tps"}, says: "mean±sd, ITL, J/tok and the rate of all streams"},
	{spread: true, class: true, metrics: []string{"itl_p50_ms", joulesPerToken, "agg_wall_tps"}, says: "mean±sd, ITL, J/tok, the rate of all streams and the class of CV"},
}

// renderNarrow draws the table with all that a screen has room for, and
// returns the notes on it.
func renderNarrow(w io.Writer, rows []analyze.Summary, percentiles []int) []string {
	for i, n := range narrowings {
		t := summaryTable(io.Discard, rows, "table", percentiles, n)
		text := t.Render()
		if widest(text) > screenWidth && i < len(narrowings)-1 {
			continue
		}
		fmt.Fprintln(w, text)
		if !n.spread {
			return []string{legend("table")}
		}
		return []string{"medians; n: requests in them; CV: of the batches' gen tok/s",
			"no room here for " + n.says + ": --format markdown has all"}
	}
	return nil
}

// percentilesMissing says why a percentile that was asked for is nowhere.
func percentilesMissing(rows []analyze.Summary, percentiles []int) []string {
	var out []string
	for _, p := range percentiles {
		if p == 50 {
			out = append(out, "p50 is the median, the first figure of each column")
			continue
		}
		least := map[int]int{90: 10, 99: 100}[p]
		short := slices.ContainsFunc(rows, func(s analyze.Summary) bool {
			return slices.ContainsFunc([]string{"ttft_ms", "itl_p50_ms"}, func(m string) bool {
				stat := s.Stats[m]
				return stat.N > 0 && percentile(stat, p) == nil
			})
		})
		if short {
			out = append(out, fmt.Sprintf("p%d needs %d requests in a case: more --repeat, or more --concurrency", p, least))
		}
	}
	return out
}

func summaryTable(w io.Writer, rows []analyze.Summary, format string, percentiles []int, less narrowing) table.Writer {
	keys := varyingKeys(rows)
	metrics := slices.DeleteFunc(presentMetrics(rows, format), func(m shownMetric) bool { return slices.Contains(less.metrics, m.name) })
	header := []any{}
	for _, k := range keys {
		header = append(header, k.head)
	}
	for _, m := range metrics {
		header = append(header, m.head)
		for _, p := range percentiles {
			if isTime(m.name) && p != 50 {
				header = append(header, "p"+strconv.Itoa(p))
			}
		}
	}
	header = append(header, "n", "CV\n%")
	if format == "markdown" {
		for i, h := range header {
			header[i] = strings.ReplaceAll(h.(string), "\n", " ")
		}
	}
	t := newTable(w, header...)
	rightAligned(t, upTo(len(header))...)
	for _, s := range rows {
		var row []any
		for _, k := range keys {
			row = append(row, k.cell(s))
		}
		for _, m := range metrics {
			stat := s.Stats[m.name]
			row = append(row, m.cell(s, format, less.spread))
			for _, p := range percentiles {
				if isTime(m.name) && p != 50 {
					row = append(row, figure(percentile(stat, p)))
				}
			}
		}
		t.AppendRow(append(row, inFigures(s), stabilityCell(s, format, less.class)))
	}
	return t
}

// cell is the median, with mean ± sd below it on a screen and behind it in
// Markdown. The screen has no room for the spread of the joules.
func (m shownMetric) cell(of analyze.Summary, format string, plain bool) string {
	s := of.Stats[m.name]
	switch {
	case m.below != "":
		return figure(s.Median) + "\n" + figure(of.Stats[m.below].Median)
	case s.Median == nil:
		return "–"
	case plain, s.SD == nil || m.name == joulesPerToken && format != "markdown":
		return figure(s.Median)
	case format == "markdown":
		return fmt.Sprintf("%s (%s ± %s)", figure(s.Median), figure(s.Mean), deviation(*s.SD))
	}
	return fmt.Sprintf("%s\n%s±%s", figure(s.Median), figure(s.Mean), deviation(*s.SD))
}

// inFigures is the number of requests behind a row's figures.
func inFigures(s analyze.Summary) int64 {
	var n int64
	for _, m := range shownMetrics() {
		if !m.ofBatch {
			n = max(n, s.Stats[m.name].N)
		}
	}
	return n
}

func stabilityCell(s analyze.Summary, format string, plain bool) string {
	class := classOf(s.Stability, medianCount(s))
	switch {
	case s.CV == nil, plain:
		return percent(s.CV)
	case format == "markdown":
		return percent(s.CV) + " " + class
	}
	return percent(s.CV) + "\n" + class
}

// medianCount is how many batch medians a row's CV is of, at most.
func medianCount(s analyze.Summary) int64 {
	return min(s.NBatches, s.Stats["generation_tps"].N)
}

// guessed reports whether a spread of n values says next to nothing: of two that
// are like each other by chance the next may be far off.
func guessed(n int64) bool { return n < 4 }

// classOf is the class of a CV, with a question mark where it is a guess.
func classOf(class string, n int64) string {
	if class != "" && guessed(n) {
		return class + "?"
	}
	return class
}

// fewerBehind says of the column with the fewest requests behind a median how
// many those are, where they are fewer than n, and in how many other rows such a
// column is.
func fewerBehind(rows []analyze.Summary, metrics []shownMetric) []string {
	var note string
	var others int64
	share := 1.0
	for _, s := range rows {
		n, fewer := inFigures(s), false
		for _, m := range metrics {
			k := s.Stats[m.name].N
			if m.ofBatch || k == 0 || k >= n {
				continue
			}
			fewer = true
			if part := float64(k) / float64(n); part < share {
				share = part
				head, _, _ := strings.Cut(m.head, "\n")
				note = fmt.Sprintf("not every request has every figure: of the %d of %s, %d have %s", n, caseName(s, ownPrompts(rows)), k, head)
			}
		}
		if fewer {
			others++
		}
	}
	if note == "" {
		return nil
	}
	if others--; others > 0 {
		note += fmt.Sprintf("; fewer than n have some figure in %s too", plural(others, "other row"))
	}
	return []string{note}
}

// caseName names a case in a note; own are the ownPrompts of its session.
func caseName(s analyze.Summary, own map[int64]string) string {
	pp := cmp.Or(own[s.CaseID], s.PromptKind)
	switch {
	case s.PP != nil:
		pp = fmt.Sprintf("pp %d", *s.PP)
	case pp == "none":
		pp = "no prompt"
	}
	if depth := s.Keys["depth"]; depth != "" {
		pp += " depth " + depth
	}
	return fmt.Sprintf("%s tg %s ×%d", pp, wantedLength(s.TG, s.PP), s.Concurrency)
}

// wantedLength is tg in a column. Of none it is 0 where only a prompt was to be
// read; an imported file may also not say how many tokens were wanted.
func wantedLength(tg int64, pp *int64) string {
	if tg == 0 && pp == nil {
		return "–"
	}
	return strconv.FormatInt(tg, 10)
}

func isTime(metric string) bool { return metric == "ttft_ms" || metric == "itl_p50_ms" }

func percentile(s analyze.Stat, p int) *float64 {
	if p == 90 {
		return s.P90
	}
	return s.P99
}
