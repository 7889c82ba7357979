package plot

import (
	"cmp"
	"math"
	"slices"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	markerRadius = 2.3 // points, as all below
	dotRadius    = 1.3
	lineWidth    = 1.3
	whiskerWidth = 0.9
	capHalf      = 2.2
	scatter      = 2.4 // of the batches to both sides of their median
	dodgeStep    = 3   // between marks that would cover each other at one x
	dodgeMost    = 13  // over all of them
)

func (t theme) line(style int) draw.LineStyle {
	return draw.LineStyle{Color: t.color(style), Width: lineWidth, Dashes: dashes(style)}
}

// plot sets up gonum's axes for the panel. Ranges and ticks are the panel's
// own; gonum adds nothing but room for what is written.
func (p Panel) plot(th theme) *gonum.Plot {
	g := gonum.New()
	g.BackgroundColor = nil
	p.X.dress(&g.X, th)
	p.Y.dress(&g.Y, th)
	g.X.Tick.Label.XAlign, g.X.Tick.Label.YAlign = text.XCenter, text.YTop
	g.Y.Tick.Label.XAlign, g.Y.Tick.Label.YAlign = text.XRight, text.YCenter
	grid := plotter.NewGrid()
	grid.Vertical = draw.LineStyle{Color: th.grid, Width: 0.5}
	grid.Horizontal = grid.Vertical
	if p.Kind.inLanes() {
		grid.Horizontal.Color = nil // gonum would draw it through the labels' lanes
		g.Y.Scale = gonum.InvertedScale{Normalizer: gonum.LinearScale{}}
		g.Y.Tick.Length = 0
	}
	if p.Kind == Traces {
		g.Add(bandMarks{p, th})
	}
	g.Add(grid, p.marks(th))
	return g
}

// inLanes tells whether the y axis counts lanes from top to bottom.
func (k PanelKind) inLanes() bool { return k == Strips || k == Arrivals || k == Changes }

// marks is what draws the panel's content.
func (p Panel) marks(th theme) gonum.Plotter {
	switch p.Kind {
	case Strips:
		return laneMarks{p, th}
	case Traces:
		return traceMarks{p, th}
	case Arrivals:
		return arrivalMarks{p, th}
	case Gaps:
		return gapMarks{p, th}
	case Changes:
		return changeMarks{p, th}
	}
	return curveMarks{p, th}
}

// dress gives gonum's axis the range, ticks, fonts and colours of a.
func (a Axis) dress(g *gonum.Axis, th theme) {
	g.Min, g.Max = a.Min, a.Max
	if a.Log {
		g.Scale = gonum.LogScale{}
	}
	g.Padding = 0
	g.Color, g.Width = th.axis, 0.6
	g.Label.TextStyle.Font = fontOf(tickSize) // its blank is the gap between ticks and labels
	g.Tick.Label.Color = th.text
	g.Tick.Label.Font = fontOf(tickSize)
	g.Tick.LineStyle = draw.LineStyle{Color: th.axis, Width: 0.6}
	g.Tick.Length = 3.5
	sty := g.Tick.Label
	ticks := make(gonum.ConstantTicks, len(a.Ticks))
	for i, t := range a.Ticks {
		ticks[i] = gonum.Tick{Value: t.Value, Label: strings.Join(wrap(sty, t.Label, laneLabelWidth), "\n")}
	}
	g.Tick.Marker = ticks
}

// laneLabelWidth is where labels of lanes break; those of numbers are shorter.
const laneLabelWidth = 3.3 * vg.Centimeter

// curveMarks draws the series of a Curves panel.
type curveMarks struct {
	panel Panel
	th    theme
}

// Plot implements gonum's Plotter: faint batches at the back, medians in front.
func (m curveMarks) Plot(c draw.Canvas, g *gonum.Plot) {
	x, y := g.Transforms(&c)
	for _, v := range m.panel.Changes {
		c.StrokeLine2(draw.LineStyle{Color: m.th.axis, Width: 0.6, Dashes: []vg.Length{1.5, 1.5}}, x(v), c.Min.Y, x(v), c.Max.Y)
	}
	at := places(m.panel, x, y)
	for i, s := range m.panel.Series {
		for j, p := range s.Points {
			for k, v := range p.Raw {
				m.th.dot(&c, s.Style, vg.Point{X: at[i][j].X + scatter*spread(k), Y: y(v)})
			}
		}
	}
	for i, s := range m.panel.Series {
		for j, p := range s.Points {
			if p.Lo != nil {
				m.th.whisker(&c, s.Style, vg.Point{X: at[i][j].X, Y: y(*p.Lo)}, vg.Point{X: at[i][j].X, Y: y(*p.Hi)})
			}
		}
		c.StrokeLines(m.th.line(s.Style), at[i])
	}
	for i, s := range m.panel.Series {
		for j, p := range s.Points {
			m.th.mark(&c, s.Style, at[i][j], p.Hollow)
		}
	}
}

// places are where the medians are drawn: at their own x, but for those that
// would cover each other there with their whiskers. Those stand side by side,
// together no wider than a third of the distance to the next x.
func places(p Panel, x, y func(float64) vg.Length) [][]vg.Point {
	room := vg.Length(dodgeMost)
	at := make([][]vg.Point, len(p.Series))
	byX := map[float64][]mark{}
	for i, s := range p.Series {
		for j, pt := range s.Points {
			if j > 0 {
				room = min(room, (x(pt.X)-x(s.Points[j-1].X))/3)
			}
			at[i] = append(at[i], vg.Point{X: x(pt.X), Y: y(pt.Median)})
			m := mark{i, j, at[i][j].Y - markerRadius, at[i][j].Y + markerRadius}
			if pt.Lo != nil {
				m.lo, m.hi = min(m.lo, y(*pt.Lo)), max(m.hi, y(*pt.Hi))
			}
			byX[pt.X] = append(byX[pt.X], m)
		}
	}
	for _, marks := range byX {
		for _, crowd := range crowds(marks) {
			n := vg.Length(len(crowd))
			for k, m := range crowd {
				at[m.series][m.point].X += min(dodgeStep, room/max(n-1, 1)) * (vg.Length(k) - (n-1)/2)
			}
		}
	}
	return at
}

// mark is how far up and down a point reaches.
type mark struct {
	series, point int
	lo, hi        vg.Length
}

// crowds are the marks that reach into one another, by series in each.
func crowds(marks []mark) [][]mark {
	slices.SortFunc(marks, func(a, b mark) int { return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.series, b.series)) })
	var list [][]mark
	top := vg.Length(0)
	for _, m := range marks {
		if n := len(list); n > 0 && m.lo < top {
			list[n-1] = append(list[n-1], m)
			top = max(top, m.hi)
			continue
		}
		list, top = append(list, []mark{m}), m.hi
	}
	for _, crowd := range list {
		slices.SortFunc(crowd, func(a, b mark) int { return cmp.Compare(a.series, b.series) })
	}
	return list
}

// spread places the k-th batch between -1 and 1, neighbours far apart: equal
// batches show as several, and none hides behind the whisker.
func spread(k int) vg.Length {
	const golden = 0.6180339887498949
	_, fraction := math.Modf(0.25 + golden*float64(k))
	return vg.Length(2*fraction - 1)
}

func (t theme) dot(c *draw.Canvas, style int, at vg.Point) {
	c.SetColor(t.tint(style, 0.4))
	c.Fill(polygon(at, dotRadius, 16, 0))
}

// whisker draws an interval with caps across its ends.
func (t theme) whisker(c *draw.Canvas, style int, a, b vg.Point) {
	sty := draw.LineStyle{Color: t.color(style), Width: whiskerWidth}
	dx, dy := vg.Length(capHalf), vg.Length(0)
	if a.Y == b.Y {
		dx, dy = dy, dx
	}
	c.StrokeLines(sty, []vg.Point{a, b},
		[]vg.Point{{X: a.X - dx, Y: a.Y - dy}, {X: a.X + dx, Y: a.Y + dy}},
		[]vg.Point{{X: b.X - dx, Y: b.Y - dy}, {X: b.X + dx, Y: b.Y + dy}})
}

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
	for i, v := range p.Raw {
		m.th.dot(c, style, vg.Point{X: x(v), Y: y + half*spread(i)})
	}
	if box != nil {
		c.StrokeLines(draw.LineStyle{Color: m.th.color(style), Width: 0.6}, append(box, box[0]))
	}
	if p.Lo != nil {
		m.th.whisker(c, style, vg.Point{X: x(*p.Lo), Y: y}, vg.Point{X: x(*p.Hi), Y: y})
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
