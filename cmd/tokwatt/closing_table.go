package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// write prints a line a case, under each model: the medians over its rows in
// statistics.
func (c *closing) write(w io.Writer) {
	for _, note := range unmeasured(c.lost) {
		fmt.Fprintln(w, folded(note))
	}
	if len(c.cases) == 0 {
		return
	}
	for i := 0; i < len(c.cases); {
		j := i
		for j < len(c.cases) && c.cases[j].raw.TargetID == c.cases[i].raw.TargetID {
			j++
		}
		fmt.Fprintln(w, folded(targetName(c.targets[c.cases[i].raw.TargetID])))
		writeCases(w, c.cases[i:j])
		i = j
	}
	legend := "medians; prefill and gen per stream"
	if concurrent(c.cases) {
		legend += ", all: tokens of the batch over its wall time"
	}
	fmt.Fprintln(w, legend)
	for _, note := range c.notes() {
		fmt.Fprintln(w, folded(note))
	}
}

// unmeasured names what was not measured, or not to its end.
func unmeasured(lost []*collect.Lost) []string {
	var out []string
	for _, l := range lost {
		text := "not measured: " + l.Message
		if l.Model != "" && !strings.Contains(l.Message, l.Model) {
			text = "not measured, or not to its end: " + l.Model + ": " + l.Message
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// notes say why rows are missing from the figures.
func (c *closing) notes() []string {
	out := c.absent.notes(c.requests)
	var estimated, cancelled int64
	for _, k := range c.cases {
		estimated += k.Estimated
		cancelled += k.Cancelled
	}
	if estimated > 0 {
		out = append(out, plural(estimated, "answer")+" had no token count: in the times, not in the rates")
	}
	if cancelled > 0 {
		out = append(out, plural(cancelled, "request")+" cancelled by you")
	}
	if c.chunked > 0 {
		out = append(out, firstChunks(c.chunked, c.excess))
	}
	if note := c.joules.note(); note != "" {
		out = append(out, note)
	}
	if c.late != "" {
		out = append(out, c.late)
	}
	return out
}

func writeCases(w io.Writer, cases []*caseFigures) {
	columns := caseColumns(cases)
	right := len(columns)
	if slices.ContainsFunc(cases, func(k *caseFigures) bool { return k.raw.CacheMode != collect.CacheCold }) {
		columns = append(columns, caseColumn{"cache", func(k *caseFigures) any { return cmp.Or(k.Hit, string(k.raw.CacheMode)) }})
	}
	var header []any
	for _, c := range columns {
		header = append(header, c.head)
	}
	t := newTable(w, header...)
	rightAligned(t, upTo(right)...)
	for _, k := range cases {
		var row []any
		for _, c := range columns {
			row = append(row, c.cell(k))
		}
		t.AppendRow(row)
	}
	t.Render()
}

// caseColumn is a column of the cases.
type caseColumn struct {
	head string
	cell func(*caseFigures) any
}

// caseColumns are the columns of the figures, those that summary has.
func caseColumns(cases []*caseFigures) []caseColumn {
	some := func(match func(*caseFigures) bool) bool { return slices.ContainsFunc(cases, match) }
	out := []caseColumn{
		{"pp", promptLengths(cases)},
		{"tg", func(k *caseFigures) any { return wantedLength(k.TG, k.PP) }},
		{"conc", func(k *caseFigures) any { return k.Concurrency }},
	}
	if some(func(k *caseFigures) bool { return k.Depth != nil }) {
		out = slices.Insert(out, 1, caseColumn{"depth", func(k *caseFigures) any { return tokens(k.Depth) }})
	}
	has := func(metric string) bool { return some(func(k *caseFigures) bool { return k.median(metric) != nil }) }
	for _, m := range tableMetrics(concurrent(cases), has) {
		out = append(out, caseColumn{m.head, func(k *caseFigures) any { return figure(k.median(m.name)) }})
	}
	return append(out, caseColumn{"n", func(k *caseFigures) any { return k.N }}, caseColumn{"failed", func(k *caseFigures) any { return count(k.NFailed) }})
}

// concurrent reports whether streams ran beside each other in any case.
func concurrent(cases []*caseFigures) bool {
	return slices.ContainsFunc(cases, func(k *caseFigures) bool { return k.Concurrency > 1 })
}

// tokens is a number of them, a dash where it is not known.
func tokens(n *int64) string {
	if n == nil {
		return figure(nil)
	}
	return strconv.FormatInt(*n, 10)
}

// upTo are the numbers from 1 to n.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

// promptLengths is the column pp: the length, or which prompt it was, named as
// in summary.
func promptLengths(cases []*caseFigures) func(*caseFigures) any {
	rows := make([]analyze.Summary, len(cases))
	for i, k := range cases {
		rows[i] = analyze.Summary{CaseID: k.raw.CaseID, PP: k.PP, PromptKind: k.Kind, Keys: map[string]string{"prompt_hash": k.raw.PromptHash}}
	}
	own := ownPrompts(rows)
	return func(k *caseFigures) any {
		if k.PP != nil {
			return tokens(k.PP)
		}
		return cmp.Or(own[k.raw.CaseID], k.Kind)
	}
}
