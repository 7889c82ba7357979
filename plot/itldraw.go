package plot

import (
	"cmp"
	"maps"
	"math"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	laneShare    = 0.72 // of a lane's height, for its marks
	arrivalWidth = 0.55 // points, as all below
	gapDot       = 0.9
	stallDot     = 1.7
	lanesHeight  = 250 // that lanes share, as far as each gets
	leastLane    = 4
	mostLane     = 20
	stallStyle   = 1    // index of the colour
	manyDots     = 2000 // over which those side by side are drawn as one
)

// lanePitch is how high each of n lanes is.
func lanePitch(n int) vg.Length { return min(max(lanesHeight/vg.Length(n), leastLane), mostLane) }

// arrivalMarks draws the lanes of an Arrivals panel.
type arrivalMarks struct {
	panel Panel
	th    theme
}

// Plot implements gonum's Plotter.
func (m arrivalMarks) Plot(c draw.Canvas, g *gonum.Plot) {
	x, y := g.Transforms(&c)
	pitch := y(0) - y(1)
	for i, l := range m.panel.Streams {
		mid, half := y(float64(i)+0.5), pitch*laneShare/2
		box := func(from, to float64) vg.Rectangle {
			return vg.Rectangle{Min: vg.Point{X: x(from), Y: mid - half}, Max: vg.Point{X: x(to), Y: mid + half}}
		}
		m.th.band(&c, Band{Kind: BandPrefill}, box(l.From, l.First))
		c.StrokeLine2(draw.LineStyle{Color: m.th.grid, Width: 0.5}, x(l.First), mid, x(l.To), mid)
		for _, s := range l.Stalls {
			r := box(s.From, s.To)
			r.Min.Y, r.Max.Y = mid-half*0.55, mid+half*0.55
			c.FillPolygon(m.th.color(stallStyle), corners(r))
		}
		m.arrivals(&c, l, x, mid, half)
		if l.Failed {
			m.cross(&c, vg.Point{X: x(l.To), Y: mid}, min(half, 3))
		}
	}
}

// arrivals draws a stroke for each arrival that is not on the one before.
func (m arrivalMarks) arrivals(c *draw.Canvas, l Lane, x func(float64) vg.Length, mid, half vg.Length) {
	var strokes vg.Path // one path: a style for each would fill the file
	before := vg.Length(math.Inf(-1))
	for _, t := range l.Arrivals {
		if at := x(t); at-before >= arrivalWidth/2 {
			strokes.Move(vg.Point{X: at, Y: mid - half})
			strokes.Line(vg.Point{X: at, Y: mid + half})
			before = at
		}
	}
	if strokes != nil {
		c.SetLineStyle(draw.LineStyle{Color: m.th.color(0), Width: arrivalWidth})
		c.Stroke(strokes)
	}
}

func (m arrivalMarks) cross(c *draw.Canvas, at vg.Point, r vg.Length) {
	sty := draw.LineStyle{Color: m.th.text, Width: 1.1}
	c.StrokeLine2(sty, at.X-r, at.Y-r, at.X+r, at.Y+r)
	c.StrokeLine2(sty, at.X-r, at.Y+r, at.X+r, at.Y-r)
}

// gapMarks draws the dots of a Gaps panel.
type gapMarks struct {
	panel Panel
	th    theme
}

// Plot implements gonum's Plotter.
func (m gapMarks) Plot(c draw.Canvas, g *gonum.Plot) {
	x, y := g.Transforms(&c)
	dots := m.dots(x, y)
	if dots != nil {
		c.SetColor(m.th.color(0))
		c.Fill(dots)
	}
	for _, d := range m.panel.Dots {
		if d.Stall {
			at := vg.Point{X: x(d.T), Y: y(d.V)}
			c.SetColor(m.th.color(stallStyle))
			c.Fill(glyph(stallStyle, at, stallDot))
		}
	}
	m.levels(&c, y)
}

// levels draws the median and the tail over the dots, set off from them where
// those are one area.
func (m gapMarks) levels(c *draw.Canvas, y func(float64) vg.Length) {
	for i, v := range m.panel.Levels {
		sty := draw.LineStyle{Color: m.th.background, Width: 1.8}
		if i > 0 {
			sty.Dashes = []vg.Length{4, 2.5}
		}
		if len(m.panel.Dots) > manyDots {
			c.StrokeLine2(sty, c.Min.X, y(v), c.Max.X, y(v))
		}
		sty.Color, sty.Width = m.th.text, 0.8
		c.StrokeLine2(sty, c.Min.X, y(v), c.Max.X, y(v))
	}
}

// gapCell is the side of the squares of which each that has dots is marked once,
// so that of dots that cover each other one is drawn. It is less than a dot.
const gapCell = gapDot * 0.75

// dots are the gaps that are no stalls. Where there are many, those side by side
// are one shape, which covers what the dots would cover: tens of thousands of
// dots would fill the file.
func (m gapMarks) dots(x, y func(float64) vg.Length) vg.Path {
	type cell struct{ y, x int }
	seen := map[cell]vg.Point{}
	for _, d := range m.panel.Dots {
		at := vg.Point{X: x(d.T), Y: y(d.V)}
		k := cell{int(at.Y / gapCell), int(at.X / gapCell)}
		if _, taken := seen[k]; !d.Stall && !taken {
			seen[k] = at
		}
	}
	cells := slices.SortedFunc(maps.Keys(seen), func(a, b cell) int { return cmp.Or(cmp.Compare(a.y, b.y), cmp.Compare(a.x, b.x)) })
	var path vg.Path
	for i := 0; i < len(cells); {
		first := seen[cells[i]]
		if len(m.panel.Dots) <= manyDots {
			path = append(path, polygon(first, gapDot, 10, 0)...)
			i++
			continue
		}
		end := i + 1
		for end < len(cells) && cells[end] == (cell{cells[i].y, cells[end-1].x + 1}) {
			end++
		}
		path = append(path, dash(first, seen[cells[end-1]])...)
		i = end
	}
	return path
}

// dash is a dot drawn out from one place to another right of it, or a square one
// on its corner where they are the same.
func dash(from, to vg.Point) vg.Path {
	var p vg.Path
	p.Move(vg.Point{X: from.X - gapDot, Y: from.Y})
	p.Line(vg.Point{X: from.X, Y: from.Y - gapDot})
	if from != to {
		p.Line(vg.Point{X: to.X, Y: to.Y - gapDot})
	}
	p.Line(vg.Point{X: to.X + gapDot, Y: to.Y})
	p.Line(vg.Point{X: to.X, Y: to.Y + gapDot})
	if from != to {
		p.Line(vg.Point{X: from.X, Y: from.Y + gapDot})
	}
	p.Close()
	return p
}

// arrivalEntry shows what the legend says of an Arrivals panel.
func arrivalEntry(style int, name string, th theme) entry {
	return entry{name, swatchWidth, func(c *draw.Canvas, from vg.Point) {
		if style == stallStyle {
			r := vg.Rectangle{Min: from.Add(vg.Point{Y: -swatchHalf / 2}), Max: from.Add(vg.Point{X: swatchWidth / 2, Y: swatchHalf / 2})}
			c.FillPolygon(th.color(style), corners(r))
			c.SetColor(th.color(style))
			c.Fill(glyph(style, from.Add(vg.Point{X: swatchWidth - 2}), stallDot))
			return
		}
		for k := range 3 {
			at := from.X + 1 + 3*vg.Length(k)
			c.StrokeLine2(draw.LineStyle{Color: th.color(style), Width: arrivalWidth}, at, from.Y-swatchHalf, at, from.Y+swatchHalf)
		}
		c.SetColor(th.color(style))
		c.Fill(polygon(from.Add(vg.Point{X: swatchWidth - 2}), gapDot, 10, 0))
	}}
}
