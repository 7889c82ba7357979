package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
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
	r := rows[0]
	writeTitle(w, strings.Join([]string{shortID(r.SessionID), r.Date + " UTC", r.Host}, "  "), format)
	if format == "markdown" {
		asiaiRows(w, rows).RenderMarkdown()
		fmt.Fprintln(w)
	} else {
		for part := range slices.Chunk(rows, asiaiAcross) {
			if &part[0] != &rows[0] {
				fmt.Fprintln(w)
			}
			asiaiLines(w, part, asiaiFigures(rows)).Render()
		}
	}
	writeNotes(w, asiaiNotes(rows, format, notes), format)
}

// asiaiFigure is one figure of each target.
type asiaiFigure struct {
	head string
	cell func(analyze.Asiai) string
}

// asiaiFigures are those that any target has, by their numbers in the
// specification, with what is read beside them.
func asiaiFigures(rows []analyze.Asiai) []asiaiFigure {
	of := func(x func(analyze.Asiai) *float64) func(analyze.Asiai) string {
		return func(r analyze.Asiai) string { return figure(x(r)) }
	}
	some := func(has func(analyze.Asiai) bool) bool { return slices.ContainsFunc(rows, has) }
	out := []asiaiFigure{
		{"M1 tok/s", of(func(r analyze.Asiai) *float64 { return r.TokPerSec })},
		{"mean tok/s", of(func(r analyze.Asiai) *float64 { return r.TokPerSecMean })},
		{"M8 sd tok/s", func(r analyze.Asiai) string {
			if r.StdDevTokS == nil {
				return figure(nil)
			}
			return deviation(*r.StdDevTokS)
		}},
		{"CV %", func(r analyze.Asiai) string {
			return strings.TrimSpace(percent(r.CV) + " " + classOf(r.Stability, 1+r.NRates-r.NKinds))
		}},
		{"resp. tok/s", of(func(r analyze.Asiai) *float64 { return r.TokPerSecResponse })},
		{"M2 TTFT ms", of(func(r analyze.Asiai) *float64 { return r.TTFTMS })},
		{"M3 total ms", of(func(r analyze.Asiai) *float64 { return r.TotalDurationMS })},
		{"M4 tokens", of(func(r analyze.Asiai) *float64 { return r.TokensGenerated })},
		{"M5 gen ms", of(func(r analyze.Asiai) *float64 { return r.GenerationDurationMS })},
	}
	if some(func(r analyze.Asiai) bool { return r.PowerWatts != nil }) {
		out = append(out, asiaiFigure{"M6 W", of(func(r analyze.Asiai) *float64 { return r.PowerWatts })},
			asiaiFigure{"M7 tok/s/W", of(func(r analyze.Asiai) *float64 { return r.TokPerSecPerWatt })})
	}
	return append(out, asiaiFigure{"runs", func(r analyze.Asiai) string { return strconv.FormatInt(r.NRuns, 10) }})
}

// asiaiModel is a target's model with how it is stored and placed.
func asiaiModel(r analyze.Asiai) string {
	return strings.Join(strings.Fields(r.ModelID+" "+r.Quantization+" "+placement(r.Sharding, r.InstanceMeta, r.Nodes)), " ")
}

// asiaiRows is the table for a page: a row a target, a column a figure.
func asiaiRows(w io.Writer, rows []analyze.Asiai) table.Writer {
	figures := asiaiFigures(rows)
	header := []any{"engine", "model"}
	var right []int
	for _, f := range figures {
		header = append(header, f.head)
		right = append(right, len(header))
	}
	t := newTable(w, header...)
	rightAligned(t, right...)
	for _, r := range rows {
		row := []any{strings.TrimSpace(r.Engine + " " + r.EngineVersion), asiaiModel(r)}
		for _, f := range figures {
			row = append(row, f.cell(r))
		}
		t.AppendRow(row)
	}
	return t
}

// asiaiAcross is how many targets stand beside each other on a screen.
const asiaiAcross = 4

// asiaiLines is the table for a screen: a line a figure, a column a target.
func asiaiLines(w io.Writer, rows []analyze.Asiai, figures []asiaiFigure) table.Writer {
	width := min(28, (screenWidth-len("mean tok/s "))/len(rows)-2)
	header, model := []any{""}, []any{"model"}
	columns := []table.ColumnConfig{{Number: 1}}
	for _, r := range rows {
		header = append(header, text.WrapSoft(strings.TrimSpace(r.Engine+" "+r.EngineVersion), width))
		model = append(model, text.WrapSoft(asiaiModel(r), width))
		columns = append(columns, table.ColumnConfig{Number: len(header), Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t := newTable(w, header...)
	t.SetColumnConfigs(columns)
	t.AppendRow(model)
	for _, f := range figures {
		row := []any{f.head}
		for _, r := range rows {
			row = append(row, f.cell(r))
		}
		t.AppendRow(row)
	}
	return t
}

// asiaiNotes explain the table, and say of each target what a reader must mind.
func asiaiNotes(rows []analyze.Asiai, format string, notes map[targetKey][]string) []string {
	out := []string{
		"medians; M8: the spread within each prompt kind; CV: that over the mean",
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
	if r.NRates < r.NRuns {
		out = append(out, fmt.Sprintf("tok/s of %d of %s: the others have no M1 (output within 10 ms, not streamed, or tokens estimated)", r.NRates, plural(r.NRuns, "run")))
	}
	if r.StdDevTokS != nil && guessed(1+r.NRates-r.NKinds) {
		out = append(out, "a class with ? is a guess: of too few runs of a kind")
	}
	if r.NWarm > 0 {
		out = append(out, plural(r.NWarm, "request")+" hit a prefix cache: warm TTFT; `tokwatt summary` has them apart")
	}
	return out
}
