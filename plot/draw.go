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
	smallMark    = 1.3 // of many
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
		g.Y.Tick.Length, g.Y.Tick.Color = laneBlank, th.background // no tick, but room
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
	g.Tick.Label.Handler = textHandler()
	g.Tick.LineStyle = draw.LineStyle{Color: th.axis, Width: 0.6}
	g.Tick.Length = 3.5
	sty := g.Tick.Label
	ticks := make(gonum.ConstantTicks, len(a.Ticks))
	for i, t := range a.Ticks {
		ticks[i] = gonum.Tick{Value: t.Value, Label: strings.Join(wrap(sty, t.Label, laneLabelWidth), "\n")}
	}
	g.Tick.Marker = ticks
}

// laneBlank is how far the names of lanes are from the axis, beside a blank: a
// stand-in for our font may set them a little wider.
const laneBlank = 4 // points

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
		var dots []vg.Point
		for j, p := range s.Points {
			for k, v := range dotted(p.Raw) {
				dots = append(dots, vg.Point{X: at[i][j].X + scatter*spread(k), Y: y(v)})
			}
		}
		m.th.dots(&c, s.Style, dots)
	}
	for i, s := range m.panel.Series {
		var path vg.Path
		for j, p := range s.Points {
			if p.Lo != nil {
				w := whisker(vg.Point{X: at[i][j].X, Y: y(*p.Lo)}, vg.Point{X: at[i][j].X, Y: y(*p.Hi)})
				if m.panel.crowded() {
					w = w[:2] // without caps
				}
				path = append(path, w...)
			}
		}
		m.th.whiskers(&c, s.Style, path)
		c.StrokeLines(m.th.line(s.Style), at[i])
	}
	for i, s := range m.panel.Series {
		for j, p := range s.Points {
			if m.panel.crowded() {
				m.th.marker(&c, s.Style, at[i][j], smallMark)
				continue
			}
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

// mostDots is how many batches of a point are drawn: more would be one area.
const mostDots = 200

// dotted is the batches of a point that are drawn: all of them, or every k-th in
// order of size, with the least and the greatest.
func dotted(raw []float64) []float64 {
	k := (len(raw) + mostDots - 1) / mostDots
	if k <= 1 {
		return raw
	}
	sorted := slices.Sorted(slices.Values(raw))
	var list []float64
	for i := 0; i < len(sorted); i += k {
		list = append(list, sorted[i])
	}
	if (len(sorted)-1)%k > 0 {
		list = append(list, sorted[len(sorted)-1])
	}
	return list
}

// dots are the batches, faintly: one path, for a style of its own for each would
// fill the file.
func (t theme) dots(c *draw.Canvas, style int, at []vg.Point) {
	var path vg.Path
	for _, p := range at {
		path = append(path, polygon(p, dotRadius, 10, 0)...)
	}
	if path != nil {
		c.SetColor(t.tint(style, 0.4))
		c.Fill(path)
	}
}

// whisker is an interval with caps across its ends.
func whisker(a, b vg.Point) vg.Path {
	dx, dy := vg.Length(capHalf), vg.Length(0)
	if a.Y == b.Y {
		dx, dy = dy, dx
	}
	var p vg.Path
	for _, line := range [][2]vg.Point{{a, b},
		{{X: a.X - dx, Y: a.Y - dy}, {X: a.X + dx, Y: a.Y + dy}},
		{{X: b.X - dx, Y: b.Y - dy}, {X: b.X + dx, Y: b.Y + dy}}} {
		p.Move(line[0])
		p.Line(line[1])
	}
	return p
}

func (t theme) whiskers(c *draw.Canvas, style int, path vg.Path) {
	if path != nil {
		c.SetLineStyle(draw.LineStyle{Color: t.color(style), Width: whiskerWidth})
		c.Stroke(path)
	}
}
