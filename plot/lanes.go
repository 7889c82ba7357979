package plot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"tokwatt/analyze"
)

// targetRows are the targets as rows, so that the same keys tell them apart as
// the cases of other figures.
func targetRows(targets []analyze.PowerTarget) []*analyze.Summary {
	var rows []*analyze.Summary
	for _, t := range targets {
		rows = append(rows, &analyze.Summary{TargetID: t.TargetID, Engine: t.Engine, EngineVersion: t.EngineVersion,
			ModelID: t.ModelID, Quantization: t.Quantization, Concurrency: 1})
	}
	return rows
}

// targetNames names the targets by what they differ in, and says what they
// have in common.
func targetNames(targets []analyze.PowerTarget) (byID map[int64]string, shared string) {
	byID = map[int64]string{}
	rows := targetRows(targets)
	if len(rows) == 0 {
		return byID, ""
	}
	keys, _ := pick([]string{"engine", "engine_version", "model_id", "quantization"})
	varies := varying(keys, rows)
	if classes(varies, rows) < len(rows) {
		id, _ := pick([]string{"target_id"})
		varies = append(varies, id...)
	}
	for _, r := range rows {
		byID[r.TargetID] = title(varies, r)
	}
	return byID, common(keys, rows)
}

// lanesOf are the names above the traces: the targets where there are several,
// and what the batches are where every name finds room. Names of targets that
// find none are numbers, which the note explains.
func lanesOf(s *analyze.PowerSession, c clock, window stretch) (lanes [][]Label, note string) {
	targets, _ := targetNames(s.Targets)
	if len(targets) > 1 {
		lane := labelsOf(s.Batches, c, window, func(b analyze.PowerBatch) string { return targets[b.TargetID] })
		if !fits(lane, window) {
			lane, note = numbered(lane)
		}
		lanes = append(lanes, lane)
	}
	name := caseName(s.Batches)
	cases := labelsOf(s.Batches, c, window, name)
	if len(cases) > 0 && cases[0].Text != "" && fits(cases, window) {
		lanes = append(lanes, cases)
	}
	return lanes, note
}

// labelsOf names stretches of batches that have one name.
func labelsOf(batches []analyze.PowerBatch, c clock, window stretch, name func(analyze.PowerBatch) string) []Label {
	var lane []Label
	segment, begins := int64(0), 0 // no name reaches over a pause
	for _, b := range batches {
		if b.Segment != segment {
			segment, begins = b.Segment, len(lane)
		}
		l := Label{max(c.at(b.Segment, b.StartNS), window.from), min(c.at(b.Segment, b.EndNS), window.to), name(b)}
		if l.From >= l.To {
			continue
		}
		if n := len(lane); n > begins && lane[n-1].Text == l.Text {
			lane[n-1].To = l.To
			continue
		}
		lane = append(lane, l)
	}
	return lane
}

// caseName names a batch by what varies: prompt length, output length,
// concurrency.
func caseName(batches []analyze.PowerBatch) func(analyze.PowerBatch) string {
	keys, _ := pick([]string{"pp", "tg", "concurrency"})
	row := func(b analyze.PowerBatch) *analyze.Summary {
		return &analyze.Summary{PP: b.PP, TG: b.TG, Concurrency: b.Concurrency}
	}
	var rows []*analyze.Summary
	for _, b := range batches {
		if !b.Warmup {
			rows = append(rows, row(b))
		}
	}
	if len(rows) == 0 {
		return func(analyze.PowerBatch) string { return "" }
	}
	if varies := varying(keys, rows); len(varies) > 0 {
		keys = varies
	}
	return func(b analyze.PowerBatch) string {
		return strings.ReplaceAll(title(keys, row(b)), "concurrency", "streams")
	}
}

// fits tells whether every name has room over its stretch.
func fits(lane []Label, window stretch) bool {
	sty := textStyle(laneSize, nil)
	return !slices.ContainsFunc(lane, func(l Label) bool {
		return sty.Width(l.Text)+4 > vg.Length((l.To-l.From)/window.length()*tracesWidth)
	})
}

// numbered puts numbers in the place of names.
func numbered(lane []Label) ([]Label, string) {
	var seen, parts []string
	lane = slices.Clone(lane)
	for i, l := range lane {
		n := slices.Index(seen, l.Text)
		if n < 0 {
			n = len(seen)
			seen = append(seen, l.Text)
			parts = append(parts, fmt.Sprintf("%d: %s", n+1, l.Text))
		}
		lane[i].Text = strconv.Itoa(n + 1)
	}
	return lane, "Above: " + strings.Join(parts, "; ") + "."
}
