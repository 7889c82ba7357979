package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// write prints a line a case, under each model: the medians over its rows in
// statistics.
func (c *closing) write(w io.Writer) {
	for _, note := range c.unmeasured() {
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
func (c *closing) unmeasured() []string {
	var out []string
	for _, l := range c.lost {
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
	hits := slices.ContainsFunc(cases, func(k *caseFigures) bool { return k.Hit != "" })
	energy := slices.ContainsFunc(cases, func(k *caseFigures) bool { return k.JPerToken != nil })
	header := []any{"pp", "tg", "conc", "prefill\ntok/s", "gen\ntok/s", "all\ntok/s", "TTFT\nms", "n", "failed"}
	if energy {
		header = slices.Insert(header, 7, any("J/tok"))
	}
	right := len(header)
	if hits {
		header = append(header, "cache")
	}
	t := newTable(w, header...)
	rightAligned(t, upTo(right)...)
	for _, k := range cases {
		row := []any{promptLength(k.PP, k.raw.CaseID, cases), k.TG, k.Concurrency, figure(k.PromptTPS), figure(k.GenTPS), figure(k.WallTPS), figure(k.TTFT), k.N, count(k.NFailed)}
		if energy {
			row = slices.Insert(row, 7, any(figure(k.JPerToken)))
		}
		if hits {
			row = append(row, k.Hit)
		}
		t.AppendRow(row)
	}
	t.Render()
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
		return strconv.FormatInt(*pp, 10)
	}
	if own < 2 {
		return "own"
	}
	return fmt.Sprintf("own #%d", caseID)
}
