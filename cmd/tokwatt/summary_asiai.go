package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

// summariseAsiai prints the metrics of asiai's specification, a row for each
// engine with its model.
func (a *app) summariseAsiai(ctx context.Context, db *duck.DB, ids []string, format string) error {
	if format == "json" || format == "csv" {
		return a.writeQuery(ctx, db, "select * from asiai where "+ofSessions(ids)+" order by session_id, target_id", format)
	}
	all, err := db.Asiai(ctx, ids)
	if err != nil {
		return err
	}
	return writeParts(ctx, a, db, ids, bySession(all), func(rows []analyze.Asiai, notes map[targetKey][]string) {
		writeAsiai(a.out, rows, format, notes)
	})
}

func bySession(all []analyze.Asiai) [][]analyze.Asiai {
	var out [][]analyze.Asiai
	for i, r := range all {
		if i == 0 || r.SessionID != all[i-1].SessionID {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

// writeAsiai draws the targets of one session, on a screen or as Markdown.
func writeAsiai(w io.Writer, rows []analyze.Asiai, format string, notes map[targetKey][]string) {
	title, note := "%s\n", "%s\n"
	if format == "markdown" {
		title, note = "**%s**\n\n", "- %s\n"
	}
	r := rows[0]
	fmt.Fprintf(w, title, strings.Join([]string{shortID(r.SessionID), r.Date + " UTC", r.Host}, "  "))
	t := asiaiTable(w, rows, format)
	if format == "markdown" {
		t.RenderMarkdown()
		fmt.Fprintln(w)
	} else {
		t.Render()
	}
	for _, n := range asiaiNotes(rows, format, notes) {
		fmt.Fprintf(w, note, noteText(n, format))
	}
}

// asiaiColumn is a column of two lines: a figure, and below it one that
// belongs to it.
type asiaiColumn struct {
	head  string
	cells func(analyze.Asiai) (upper, lower string)
}

func asiaiColumns(rows []analyze.Asiai) []asiaiColumn {
	columns := []asiaiColumn{
		{"engine\nmodel", func(r analyze.Asiai) (string, string) {
			return strings.TrimSpace(r.Engine + " " + r.EngineVersion), strings.TrimSpace(r.ModelID + " " + r.Quantization + " " + placement(r.Sharding, r.InstanceMeta, r.Nodes))
		}},
		{"tok/s\nmean±sd", func(r analyze.Asiai) (string, string) {
			if r.StdDevTokS == nil {
				return figure(r.TokPerSec), ""
			}
			return figure(r.TokPerSec), figure(r.TokPerSecMean) + "±" + deviation(*r.StdDevTokS)
		}},
		{"CV %\n", func(r analyze.Asiai) (string, string) { return percent(r.CV), r.Stability }},
		{"resp.\ntok/s", func(r analyze.Asiai) (string, string) { return figure(r.TokPerSecResponse), "" }},
		{"TTFT\nms", func(r analyze.Asiai) (string, string) { return figure(r.TTFTMS), "" }},
		{"total\ngen ms", func(r analyze.Asiai) (string, string) {
			return figure(r.TotalDurationMS), figure(r.GenerationDurationMS)
		}},
		{"n\ntokens", func(r analyze.Asiai) (string, string) { return fmt.Sprint(r.NRuns), figure(r.TokensGenerated) }},
	}
	if slices.ContainsFunc(rows, func(r analyze.Asiai) bool { return r.PowerWatts != nil }) {
		columns = append(columns, asiaiColumn{"W\ntok/s/W", func(r analyze.Asiai) (string, string) { return figure(r.PowerWatts), figure(r.TokPerSecPerWatt) }})
	}
	return columns
}

func asiaiTable(w io.Writer, rows []analyze.Asiai, format string) table.Writer {
	join := func(upper, lower string) string { return strings.TrimRight(upper+"\n"+lower, "\n") }
	if format == "markdown" {
		join = func(upper, lower string) string { return strings.Trim(upper+" / "+lower, "/ ") }
	}
	columns := asiaiColumns(rows)
	var header []any
	for _, c := range columns {
		header = append(header, join(strings.Split(c.head, "\n")[0], strings.Split(c.head, "\n")[1]))
	}
	t := newTable(w, header...)
	config := []table.ColumnConfig{{Number: 1, WidthMax: 22, WidthMaxEnforcer: text.WrapText}}
	for i := range columns[1:] {
		config = append(config, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(config)
	for _, r := range rows {
		var row []any
		for _, c := range columns {
			row = append(row, join(c.cells(r)))
		}
		t.AppendRow(row)
	}
	return t
}

// asiaiNotes explain the table, and say of each target what a reader must mind.
func asiaiNotes(rows []analyze.Asiai, format string, notes map[targetKey][]string) []string {
	out := []string{
		"medians; ±sd is M8, the spread within each prompt kind; CV: sd over the mean",
		"resp. tok/s: to the end of the response, as asiai's own client measures; tok/s (M1) to the last output",
	}
	if format != "markdown" {
		out[1] = strings.Replace(out[1], "; ", ";\n  ", 1)
	}
	if !slices.ContainsFunc(rows, func(r analyze.Asiai) bool { return r.PowerWatts != nil }) {
		out = append(out, "no power was measured: no watts (M6), no tok/s per watt (M7)")
	} else {
		out = append(out, wattsOf(rows))
	}
	for _, r := range rows {
		mind := append(asiaiRemarks(r), notes[targetKey{r.SessionID, r.TargetID}]...)
		name := strings.TrimSpace(r.Engine+" "+r.ModelID+" "+placement(r.Sharding, r.InstanceMeta, r.Nodes)) + ":"
		switch {
		case len(rows) == 1:
			out = append(out, mind...)
		case format == "markdown":
			for _, n := range mind {
				out = append(out, name+" "+n)
			}
		case len(mind) > 0:
			out = append(out, name+"\n  "+strings.Join(mind, "\n  "))
		}
	}
	return out
}

// wattsOf says which part of the machine the watts are of: asiai's own are
// those of the GPU.
func wattsOf(rows []analyze.Asiai) string {
	var scopes []string
	for _, r := range rows {
		if name := cmp.Or(scopeNames[r.PowerScope], r.PowerScope); r.PowerWatts != nil && !slices.Contains(scopes, name) {
			scopes = append(scopes, name)
		}
	}
	text := "watts: the " + strings.Join(scopes, ", ") + "; first prompt to last run"
	if slices.ContainsFunc(rows, func(r analyze.Asiai) bool { return r.PowerWatts != nil && r.PowerScope != "gpu" }) {
		text += " (asiai's own: the GPU's)"
	}
	return text
}

func asiaiRemarks(r analyze.Asiai) []string {
	var out []string
	switch {
	case r.PooledSDSample != nil:
		out = append(out, "sd in the sample form, by degrees of freedom: "+deviation(*r.PooledSDSample)+", the one to quote: M8's reads low at few runs")
	case r.NRates > 0:
		out = append(out, "no prompt kind has two runs: no sd and no class")
	}
	if r.NWarm > 0 {
		out = append(out, plural(r.NWarm, "request")+" hit a prefix cache: warm TTFT; `tokwatt summary` has them apart")
	}
	return out
}
