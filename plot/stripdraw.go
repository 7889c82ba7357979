package plot

import (
	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// laneMarks draws the series of a Strips panel.
type laneMarks struct {
	panel Panel
	th    theme
}

// Plot implements gonum's Plotter.
func (m laneMarks) Plot(c draw.Canvas, g *gonum.Plot) {
	x, y := g.Transforms(&c)
	for _, e := range m.panel.Edges {
		c.StrokeLine2(draw.LineStyle{Color: m.th.grid, Width: 0.5}, c.Min.X, y(e), c.Max.X, y(e))
	}
	for _, s := range m.panel.Series {
		for _, p := range s.Points {
			m.lane(&c, s.Style, p, x, y(p.X))
		}
	}
}

// lane draws one case: the batches faintly, a box of the quartiles where there
// are enough of them, the interval and the median.
func (m laneMarks) lane(c *draw.Canvas, style int, p Point, x func(float64) vg.Length, y vg.Length) {
	const half = 0.36 * laneHeight
	var box []vg.Point
	radius := vg.Length(markerRadius)
	if len(p.Raw) >= boxFrom {
		radius *= 0.75 // so as not to hide the box
		lo, hi := quartiles(p.Raw)
		box = []vg.Point{{X: x(lo), Y: y - half}, {X: x(hi), Y: y - half}, {X: x(hi), Y: y + half}, {X: x(lo), Y: y + half}}
		c.FillPolygon(m.th.tint(style, 0.2), box)
	}
	var dots []vg.Point
	for i, v := range dotted(p.Raw) {
		dots = append(dots, vg.Point{X: x(v), Y: y + half*spread(i)})
	}
	m.th.dots(c, style, dots)
	if box != nil {
		c.StrokeLines(draw.LineStyle{Color: m.th.color(style), Width: 0.6}, append(box, box[0]))
	}
	if p.Lo != nil {
		m.th.whiskers(c, style, whisker(vg.Point{X: x(*p.Lo), Y: y}, vg.Point{X: x(*p.Hi), Y: y}))
	}
	for _, t := range p.Tails {
		m.th.hollow(c, style, t.Percent, vg.Point{X: x(t.Value), Y: y})
	}
	m.th.marker(c, style, vg.Point{X: x(p.Median), Y: y}, radius)
}

// hollow outlines a quantile of the requests: a circle for 90, a diamond for 99.
func (t theme) hollow(c *draw.Canvas, style, percent int, at vg.Point) {
	corners := 32
	if percent == 99 {
		corners = 4
	}
	outline := polygon(at, 2, corners, 0)
	c.SetColor(t.background)
	c.Fill(outline)
	c.SetLineStyle(draw.LineStyle{Color: t.color(style), Width: 0.9})
	c.Stroke(outline)
}
