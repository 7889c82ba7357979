package plot

import (
	"image/color"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	traceWidth = 1.0 // points, as all below
	meanWidth  = 0.9 // of a mean over the range of values
	pointSize  = 1.5
	hatchStep  = 5
)

// bandMarks draws what went on behind the traces.
type bandMarks struct {
	panel Panel
	th    theme
}

// Plot implements gonum's Plotter.
func (m bandMarks) Plot(c draw.Canvas, g *gonum.Plot) {
	x, _ := g.Transforms(&c)
	for _, b := range m.panel.Bands {
		m.th.band(&c, b, vg.Rectangle{Min: vg.Point{X: x(b.From), Y: c.Min.Y}, Max: vg.Point{X: x(b.To), Y: c.Max.Y}})
	}
}

// band fills an area in the colour of what went on; idle time is hatched.
func (t theme) band(c *draw.Canvas, b Band, r vg.Rectangle) {
	if b.Kind == BandIdle {
		t.hatch(c, r)
		return
	}
	fill := t.bands[b.Kind]
	if b.Warmup {
		fill = t.thinned(fill, 0.42)
	}
	c.FillPolygon(fill, corners(r))
}

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

// hatch fills an area with rising lines, cut at its edges.
func (t theme) hatch(c *draw.Canvas, r vg.Rectangle) {
	sty := draw.LineStyle{Color: t.idle, Width: 0.5}
	w, h := r.Max.X-r.Min.X, r.Max.Y-r.Min.Y
	for d := vg.Length(hatchStep) - h; d < w; d += hatchStep {
		from, to := max(d, 0), min(d+h, w)
		c.StrokeLine2(sty, r.Min.X+from, r.Min.Y+from-d, r.Min.X+to, r.Min.Y+to-d)
	}
	c.StrokeLine2(sty, r.Min.X, r.Min.Y, r.Min.X, r.Max.Y)
	c.StrokeLine2(sty, r.Max.X, r.Min.Y, r.Max.X, r.Max.Y)
}

// bandSample is the legend's picture of a band, with a thin frame: the fills
// are pale. That of a warm-up shows what else is there, lighter.
func (t theme) bandSample(c *draw.Canvas, k BandKind, all []BandKind, r vg.Rectangle) {
	left, right := r, r
	left.Max.X = (r.Min.X + r.Max.X) / 2
	right.Min.X = left.Max.X
	switch {
	case k != BandWarmup:
		t.band(c, Band{Kind: k}, r)
	case slices.Contains(all, BandPrefill):
		t.band(c, Band{Kind: BandPrefill, Warmup: true}, left)
		t.band(c, Band{Kind: BandGeneration, Warmup: true}, right)
	default:
		t.band(c, Band{Kind: BandBatch, Warmup: true}, r)
	}
	frame := corners(r)
	c.StrokeLines(draw.LineStyle{Color: t.idle, Width: 0.5}, append(frame, frame[0]))
}

// traceMarks draws the traces of a panel: ranges at the back, lines in front.
type traceMarks struct {
	panel Panel
	th    theme
}

// Plot implements gonum's Plotter.
func (m traceMarks) Plot(c draw.Canvas, g *gonum.Plot) {
	x, y := g.Transforms(&c)
	for _, at := range m.panel.Cuts {
		sty := draw.LineStyle{Color: m.th.axis, Width: 0.8, Dashes: []vg.Length{3, 2}}
		c.StrokeLine2(sty, x(at), c.Min.Y, x(at), c.Max.Y)
	}
	for _, t := range m.panel.Traces {
		for _, run := range t.Columns {
			c.FillPolygon(m.th.tint(t.Style, 0.35), outline(run, x, y))
		}
	}
	for _, t := range m.panel.Traces {
		for _, line := range t.Lines {
			m.line(&c, t, line, x, y)
		}
		for _, run := range t.Columns {
			var mean []vg.Point
			for _, k := range run {
				mean = append(mean, vg.Point{X: x((k.From + k.To) / 2), Y: y(k.Mean)})
			}
			m.stroke(&c, mean, meanWidth, m.th.color(t.Style))
		}
	}
	if len(m.panel.Traces) < 2 {
		return
	}
	for i, t := range m.panel.Traces {
		for _, v := range shapesOn(t, m.panel.X, i, len(m.panel.Traces)) {
			m.th.marker(&c, t.Style, vg.Point{X: x(v.T), Y: y(v.V)}, markerRadius)
		}
	}
}

// shapesEach is on how many places of an axis a trace carries its shape.
const shapesEach = 6

// shapesOn are the places where the i-th of n traces carries the shape that tells
// it from the others where there are no colours: on the line, and beside the
// shapes of the others. There is none where nothing is known.
func shapesOn(t Trace, axis Axis, i, n int) []Vertex {
	var list []Vertex
	for k := range shapesEach {
		at := axis.Min + (axis.Max-axis.Min)*(float64(k)+(float64(i)+0.5)/float64(n))/shapesEach
		if v, ok := t.valueAt(at); ok {
			list = append(list, Vertex{at, v})
		}
	}
	return list
}

// valueAt is what the line shows at an instant.
func (t Trace) valueAt(at float64) (float64, bool) {
	for _, line := range t.Lines {
		for i := 1; i < len(line); i++ {
			if a, b := line[i-1], line[i]; a.T <= at && at < b.T {
				return along(a, b, at).V, true
			}
		}
	}
	for _, run := range t.Columns {
		for i := 1; i < len(run); i++ {
			a, b := Vertex{(run[i-1].From + run[i-1].To) / 2, run[i-1].Mean}, Vertex{(run[i].From + run[i].To) / 2, run[i].Mean}
			if a.T <= at && at < b.T {
				return along(a, b, at).V, true
			}
		}
	}
	return 0, false
}

// line draws an unbroken part of a trace. One of no length is a point.
func (m traceMarks) line(c *draw.Canvas, t Trace, line []Vertex, x, y func(float64) vg.Length) {
	var path []vg.Point
	for _, v := range line {
		path = append(path, vg.Point{X: x(v.T), Y: y(v.V)})
	}
	m.stroke(c, path, traceWidth, m.th.color(t.Style))
	for i, p := range path {
		cut := line[i].T == m.panel.X.Min || line[i].T == m.panel.X.Max // no reading
		if t.Points && !cut || len(path) == 1 {
			c.SetColor(m.th.color(t.Style))
			c.Fill(polygon(p, pointSize, 16, 0))
		}
	}
}

func (m traceMarks) stroke(c *draw.Canvas, path []vg.Point, width vg.Length, col color.Color) {
	if len(path) > 1 {
		c.StrokeLines(draw.LineStyle{Color: col, Width: width}, path)
	}
}

// outline goes along the highest values and back along the lowest.
func outline(run []Column, x, y func(float64) vg.Length) []vg.Point {
	var up, down []vg.Point
	for _, k := range run {
		up = append(up, vg.Point{X: x(k.From), Y: y(k.Hi)}, vg.Point{X: x(k.To), Y: y(k.Hi)})
	}
	for i := len(run) - 1; i >= 0; i-- {
		down = append(down, vg.Point{X: x(run[i].To), Y: y(run[i].Lo)}, vg.Point{X: x(run[i].From), Y: y(run[i].Lo)})
	}
	return append(up, down...)
}

// drawLanes writes names above a panel, each over a line as long as its time.
func (p Panel) drawLanes(area, data draw.Canvas, th theme) {
	sty := textStyle(laneSize, th.text)
	sty.XAlign, sty.YAlign = text.XCenter, text.YBottom
	x := func(v float64) vg.Length { return data.Min.X + vg.Length(p.X.place(v))*(data.Max.X-data.Min.X) }
	for i, lane := range p.Lanes {
		y := data.Max.Y + 3 + laneStep*vg.Length(len(p.Lanes)-1-i)
		for _, l := range lane {
			area.StrokeLine2(draw.LineStyle{Color: th.axis, Width: 0.6}, x(l.From)+0.6, y, x(l.To)-0.6, y)
			area.FillText(sty, vg.Point{X: (x(l.From) + x(l.To)) / 2, Y: y + 1.5}, l.Text)
		}
	}
}
