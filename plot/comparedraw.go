package plot

import (
	"math"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"tokwatt/analyze"
)

const (
	cellSize = 8  // of the text in columns, points
	cellGap  = 11 // points between columns

	headsHeight = 9 // points, of what stands above the columns
)

// legendName is how the legend calls a verdict.
func legendName(v analyze.Verdict) string {
	return map[analyze.Verdict]string{
		analyze.VerdictBetter:  "B is better",
		analyze.VerdictWorse:   "B is worse",
		analyze.VerdictDiffers: "B differs",
		analyze.VerdictSame:    "no difference shown",
	}[v]
}

// verdictMark draws the mark of a verdict: colour and shape tell it.
func (t theme) verdictMark(c *draw.Canvas, v analyze.Verdict, at vg.Point) {
	switch v {
	case analyze.VerdictBetter:
		t.marker(c, 0, at, markerRadius)
	case analyze.VerdictWorse:
		t.marker(c, 1, at, markerRadius)
	case analyze.VerdictDiffers:
		t.marker(c, 2, at, markerRadius)
	default:
		c.SetColor(t.background)
		c.Fill(polygon(at, markerRadius+0.4, 32, 0))
		c.SetLineStyle(draw.LineStyle{Color: t.muted, Width: 1})
		c.Stroke(polygon(at, markerRadius, 32, 0))
	}
}

// verdictLine is the line of a verdict's interval.
func (t theme) verdictLine(v analyze.Verdict) draw.LineStyle {
	sty := draw.LineStyle{Color: t.muted, Width: 1.1}
	switch v {
	case analyze.VerdictBetter:
		sty.Color = t.color(0)
	case analyze.VerdictWorse:
		sty.Color = t.color(1)
	case analyze.VerdictDiffers:
		sty.Color = t.color(2)
	}
	return sty
}

// changeMarks draws the rows of a Changes panel.
type changeMarks struct {
	panel Panel
	th    theme
}

// Plot implements gonum's Plotter. What reaches over the axis ends there in an
// arrowhead.
func (m changeMarks) Plot(c draw.Canvas, g *gonum.Plot) {
	x, y := g.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: m.th.axis, Width: 0.9}, x(1), c.Min.Y, x(1), c.Max.Y)
	within := func(v float64) vg.Length { return x(min(max(v, m.panel.X.Min), m.panel.X.Max)) }
	for _, r := range m.panel.Rows {
		if r.Ratio == nil {
			continue
		}
		at := vg.Point{X: within(*r.Ratio), Y: y(r.Y)}
		if r.Lo != nil && r.Hi != nil {
			sty, lo, hi := m.th.verdictLine(r.Verdict), within(*r.Lo), within(*r.Hi)
			c.StrokeLine2(sty, lo, at.Y, hi, at.Y)
			m.end(&c, sty, vg.Point{X: lo, Y: at.Y}, *r.Lo < m.panel.X.Min, math.Pi)
			m.end(&c, sty, vg.Point{X: hi, Y: at.Y}, *r.Hi > m.panel.X.Max, 0)
		}
		m.th.verdictMark(&c, r.Verdict, at)
	}
}

// end draws the end of an interval: a cap, or an arrowhead where it goes on.
func (m changeMarks) end(c *draw.Canvas, sty draw.LineStyle, at vg.Point, goesOn bool, direction float64) {
	if !goesOn {
		c.StrokeLine2(sty, at.X, at.Y-capHalf, at.X, at.Y+capHalf)
		return
	}
	at.X -= markerRadius * vg.Length(math.Cos(direction)) // its tip is on the edge
	c.SetColor(sty.Color)
	c.Fill(polygon(at, markerRadius, 3, direction))
}

// cellWidths are how wide the columns beside a Changes panel are, of all
// panels together.
func cellWidths(list []Panel) []vg.Length {
	sty := textStyle(cellSize, nil)
	var widths []vg.Length
	add := func(cells []string) {
		for i, s := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], sty.Width(s))
		}
	}
	for _, p := range list {
		add(p.Heads)
		for _, r := range p.Rows {
			add(r.Cells)
		}
	}
	return widths
}

// cellsWidth is the room for all of them.
func cellsWidth(list []Panel) vg.Length {
	total := vg.Length(0)
	for _, w := range cellWidths(list) {
		total += cellGap + w
	}
	return total
}

// drawCells writes the columns to the right of a panel's area.
func (p Panel) drawCells(area, data draw.Canvas, widths []vg.Length, th theme) {
	sty := textStyle(cellSize, th.text)
	sty.XAlign, sty.YAlign = text.XRight, text.YCenter
	head := textStyle(cellSize, th.muted)
	head.XAlign, head.YAlign = text.XRight, text.YBottom
	right := data.Max.X
	for i, w := range widths {
		right += cellGap + w
		area.FillText(head, vg.Point{X: right, Y: data.Max.Y + 4}, p.Heads[i])
		for _, r := range p.Rows { // as much above the middle as gonum's labels
			y := data.Max.Y + sty.FontExtents().Descent - vg.Length(r.Y/p.Y.Max)*(data.Max.Y-data.Min.Y)
			area.FillText(sty, vg.Point{X: right, Y: y}, r.Cells[i])
		}
	}
}

// verdictEntries are what the legend says of verdicts.
func (f *Figure) verdictEntries(th theme) []entry {
	var list []entry
	for _, v := range f.Verdicts {
		list = append(list, entry{legendName(v), swatchWidth, func(c *draw.Canvas, from vg.Point) {
			c.StrokeLine2(th.verdictLine(v), from.X, from.Y, from.X+swatchWidth, from.Y)
			th.verdictMark(c, v, from.Add(vg.Point{X: swatchWidth / 2}))
		}})
	}
	return list
}
