package plot

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"

	"tokwatt/analyze"
)

// intervalBatches is from how many batches on the median has a 95 % interval.
const intervalBatches = 6

// span is the range of batches behind the points of a figure.
type span struct {
	points, whiskers int
	hollow           int // indicative
	least, most      int
	raw              bool
	each             int          // of the batches of the point with the most, in order of size, one in so many is drawn
	hidden           bool         // whiskers shorter than a mark
	moved            bool         // marks that stand beside their place
	tails            map[int]bool // by percent
}

func spanOf(panels []Panel) span {
	sp := span{tails: map[int]bool{}}
	for _, panel := range panels {
		sp.moved = sp.moved || panel.moved()
		for _, s := range panel.Series {
			for _, p := range s.Points {
				sp.hidden = sp.hidden || panel.hides(p)
				if sp.points == 0 || p.N < sp.least {
					sp.least = p.N
				}
				sp.most = max(sp.most, p.N)
				sp.points++
				if p.Hollow {
					sp.hollow++
				}
				if p.Lo != nil {
					sp.whiskers++
				}
				for _, t := range p.Tails {
					sp.tails[t.Percent] = true
				}
				sp.raw = sp.raw || len(p.Raw) > 0
				sp.each = max(sp.each, (len(p.Raw)+mostDots-1)/mostDots)
			}
		}
	}
	return sp
}

// hides tells whether a mark is larger than its whiskers.
func (p Panel) hides(pt Point) bool {
	if pt.Lo == nil {
		return false
	}
	along, length := p.Y, vg.Length(narrowHeight)
	if p.Kind == Strips {
		along, length = p.X, leastPanel
	}
	return vg.Length(along.place(*pt.Hi)-along.place(*pt.Lo))*length < 2*markerRadius
}

// moved tells whether a mark stands beside its place, for another is there.
func (p Panel) moved() bool {
	if p.Kind == Strips {
		return false
	}
	x := func(v float64) vg.Length { return vg.Length(p.X.place(v)) * leastAlone }
	y := func(v float64) vg.Length { return vg.Length(p.Y.place(v)) * narrowHeight }
	for i, points := range places(p, x, y) {
		for j, at := range points {
			if at.X != x(p.Series[i].Points[j].X) {
				return true
			}
		}
	}
	return false
}

// movedNote says that marks stand side by side, where some do.
func (sp span) movedNote() string {
	if !sp.moved {
		return ""
	}
	return " Marks that would cover each other stand side by side."
}

// thinnedNote says that some batches have no dot, where some have none.
func (sp span) thinnedNote() string {
	if sp.each < 2 {
		return ""
	}
	return fmt.Sprintf(" (of more than %d of a point one in up to %d in order of size, and the extremes)", mostDots, sp.each)
}

// count says how many batches a point stands for.
func (sp span) count() string {
	if sp.least == sp.most {
		return plural(sp.most, "batch", "batches")
	}
	return fmt.Sprintf("%d–%d batches", sp.least, sp.most)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// whiskersNote says what the whiskers are, or why there are none.
func (sp span) whiskersNote() string {
	if sp.whiskers == 0 {
		return fmt.Sprintf("No whiskers: an interval of the median needs %d batches.", intervalBatches)
	}
	note := "Whiskers: 95 % interval of the median over batches"
	if sp.hidden {
		note += ", hidden where shorter than a mark"
	}
	if sp.whiskers < sp.points {
		note += fmt.Sprintf("; points without whiskers: fewer than %d batches", intervalBatches)
	}
	return note + "."
}

// versionsNote names the engines' versions where the names leave them out.
func versionsNote(src source) string {
	if told := ofRole(src.series, version); len(told) > 0 || classes(ofRole(allKeys(), version), src.rows) == 1 {
		return ""
	}
	keys, _ := pick([]string{"engine", "engine_version"})
	var list []string
	for _, g := range groups(keys, src.rows) {
		if g.rows[0].EngineVersion != "" {
			list = append(list, g.name)
		}
	}
	if list == nil {
		return ""
	}
	return "Versions: " + strings.Join(list, ", ") + "."
}

// lossNotes says what is not in the figure.
func lossNotes(rows []*analyze.Summary, metrics []metric) []string {
	var notes []string
	for _, m := range metrics {
		without := 0
		for _, s := range rows {
			if s.Stats[m.Name].Median == nil {
				without++
			}
		}
		if without > 0 {
			notes = append(notes, fmt.Sprintf("%s of %d without a figure: not in “%s”.", plural(without, "case", "cases"), len(rows), m.Label))
		}
	}
	var failed, invalid int64
	for _, s := range rows {
		failed += s.NFailed
		invalid += s.NInvalid
	}
	var parts []string
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", failed))
	}
	if invalid > 0 {
		parts = append(parts, fmt.Sprintf("%d invalid", invalid))
	}
	if parts != nil {
		notes = append(notes, "Requests that are not in the figures: "+strings.Join(parts, ", ")+".")
	}
	return notes
}
