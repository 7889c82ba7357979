package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

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
	fmt.Fprintln(w, "medians; prefill and gen per stream, all: tokens of the batch over its wall time")
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

// caseColumns are the columns of the figures: those that few sessions have only
// where a case has them.
func caseColumns(cases []*caseFigures) []caseColumn {
	rate := func(head string, of func(*caseFigures) *float64) caseColumn {
		return caseColumn{head, func(k *caseFigures) any { return figure(of(k)) }}
	}
	has := func(c caseColumn) bool {
		return slices.ContainsFunc(cases, func(k *caseFigures) bool { return c.cell(k) != figure(nil) })
	}
	gen := rate("gen\ntok/s", func(k *caseFigures) *float64 { return k.GenTPS })
	if byTime := rate(withoutGen[0].head, func(k *caseFigures) *float64 { return k.TokPerSec }); !has(gen) && has(byTime) {
		gen = byTime
	}
	out := []caseColumn{
		{"pp", func(k *caseFigures) any { return promptLength(k.PP, k.raw.CaseID, cases) }},
		{"tg", func(k *caseFigures) any { return wantedLength(k.TG, k.PP) }},
		{"conc", func(k *caseFigures) any { return k.Concurrency }},
		rate("prefill\ntok/s", func(k *caseFigures) *float64 { return k.PromptTPS }),
		gen,
	}
	if depth := (caseColumn{"depth", func(k *caseFigures) any { return tokens(k.Depth) }}); has(depth) {
		out = slices.Insert(out, 1, depth)
	}
	if mixed := rate(withoutGen[1].head, func(k *caseFigures) *float64 { return k.MixedTPS }); has(mixed) {
		out = append(out, mixed)
	}
	out = append(out, rate("all\ntok/s", func(k *caseFigures) *float64 { return k.WallTPS }), rate("TTFT\nms", func(k *caseFigures) *float64 { return k.TTFT }))
	if joules := rate("J/tok", func(k *caseFigures) *float64 { return k.JPerToken }); has(joules) {
		out = append(out, joules)
	}
	return append(out, caseColumn{"n", func(k *caseFigures) any { return k.N }}, caseColumn{"failed", func(k *caseFigures) any { return count(k.NFailed) }})
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

// promptLength is the column pp: the length, or which prompt it was.
func promptLength(pp *int64, caseID int64, cases []*caseFigures) string {
	own := 0
	for _, k := range cases {
		if k.raw.CaseID == caseID && k.raw.PromptKind != "own" && pp == nil {
			return k.raw.PromptKind
		}
		if k.PP == nil {
			own++
		}
	}
	if pp != nil {
		return tokens(pp)
	}
	if own < 2 {
		return "own"
	}
	return fmt.Sprintf("own #%d", caseID)
}
