package plot

import (
	"math"
	"slices"
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes on the page. Two panels side by side take the width of a journal's two
// columns, one alone that of a column: neither has to be made smaller in print,
// nor its text with it.
const (
	wideWidth    = 18 * vg.Centimeter
	narrowWidth  = 8.5 * vg.Centimeter
	curvesHeight = 6.3 * vg.Centimeter
	narrowHeight = 5.4 * vg.Centimeter // of one alone
	tracesHeight = 4.2 * vg.Centimeter // of one of several nodes
	laneStep     = 12                  // points, of a row of names above traces
	laneHeight   = 12                  // points
	margin       = 8                   // points around everything
	bleed        = 1                   // points of background beyond the page: its edges lie within pixels
	panelGap     = 16                  // points between panels
	panelColumns = 2
	titleHeight  = 16 // points above a panel
	labelHeight  = 14 // points for the label below a panel
	labelWidth   = 17 // points for the label beside a panel
	rowGap       = 12 // points between rows of panels

	// The narrowest that the data area of a panel gets: of two side by side, of
	// one alone, and of one alone beside the names of lanes. Tick labels are
	// chosen for it before anything is laid out.
	leastPanel = 5.9 * vg.Centimeter
	leastAlone = 5.7 * vg.Centimeter
	leastLanes = 3.5 * vg.Centimeter
	labelGap   = 5 // points between tick labels
)

// strip is a horizontal slice of the page.
type strip struct {
	height vg.Length
	draw   func(draw.Canvas)
}

// page lays a figure out as strips from top to bottom.
type page struct {
	width  vg.Length
	strips []strip
}

func (p page) height() vg.Length {
	h := vg.Length(2 * margin)
	for _, s := range p.strips {
		h += s.height
	}
	return h
}

// draw puts the page on a canvas of its size.
func (p page) draw(c draw.Canvas, th theme) {
	whole := c.Rectangle
	whole.Min, whole.Max = whole.Min.Add(vg.Point{X: -bleed, Y: -bleed}), whole.Max.Add(vg.Point{X: bleed, Y: bleed})
	c.FillPolygon(th.background, corners(whole))
	p.drawStrips(c)
}

func (p page) drawStrips(c draw.Canvas) {
	top := c.Max.Y - margin
	for _, s := range p.strips {
		area := c
		area.Min = vg.Point{X: c.Min.X + margin, Y: top - s.height}
		area.Max = vg.Point{X: c.Max.X - margin, Y: top}
		s.draw(area)
		top -= s.height
	}
}

// layout makes the page of a figure.
func (f *Figure) layout(th theme) page {
	columns := f.columns()
	p := page{width: narrowWidth}
	if columns > 1 || f.Panels[0].Kind.stacked() {
		p.width = wideWidth
	}
	inner := p.width - 2*margin
	p.strips = append(p.strips,
		paragraph(textStyle(titleSize, th.text), []string{f.Title}, inner, 2),
		paragraph(textStyle(labelSize, th.muted), []string{f.Subtitle}, inner, 8))
	p.strips = append(p.strips, panels(f.Panels, columns, th), space(6))
	p.strips = append(p.strips, f.legends(inner, th)...)
	p.strips = append(p.strips, paragraph(textStyle(noteSize, th.muted), f.Notes, inner, 0))
	return p
}

// columns is how many panels stand side by side.
func (f *Figure) columns() int {
	if f.Panels[0].Kind.stacked() {
		return 1
	}
	return min(len(f.Panels), panelColumns)
}

// stacked tells whether panels stand below each other, on one x axis.
func (k PanelKind) stacked() bool { return k != Curves && k != Strips }

func space(h vg.Length) strip { return strip{h, func(draw.Canvas) {}} }

// paragraph sets texts below each other, each wrapped to the width.
func paragraph(sty text.Style, texts []string, width, after vg.Length) strip {
	var lines []string
	for _, t := range texts {
		if t != "" {
			lines = append(lines, wrap(sty, t, width)...)
		}
	}
	step := lineSpacing * sty.Font.Size
	if len(lines) == 0 {
		return space(0)
	}
	return strip{step*vg.Length(len(lines)) + after, func(c draw.Canvas) {
		for i, line := range lines {
			c.FillText(sty, vg.Point{X: c.Min.X, Y: c.Max.Y - step*vg.Length(i)}, line)
		}
	}}
}

// panels draws the panels in rows, their data areas aligned and equally large.
// The labels of the axes are written here: gonum takes the middle value for
// their place, which on a logarithmic axis is far from the middle, and makes
// room there.
func panels(list []Panel, columns int, th theme) strip {
	rows := (len(list) + columns - 1) / columns
	grid := make([][]*gonum.Plot, rows)
	for i := range grid {
		grid[i] = make([]*gonum.Plot, columns)
	}
	left := vg.Length(0)
	for i, p := range list {
		grid[i/columns][i%columns] = p.plot(th)
		if p.Y.Label != "" {
			left = labelWidth
		}
	}
	heights, foot, gap := panelHeights(list, columns), vg.Length(labelHeight), vg.Length(rowGap)
	head, lanes := vg.Length(titleHeight), laneStep*vg.Length(len(list[0].Lanes))
	if list[0].Title == "" {
		head = 6
	}
	if list[0].Kind.stacked() {
		gap -= labelHeight // the axis of time is named below the last
	}
	if list[0].Kind == Changes {
		head += headsHeight
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadLeft: left, PadRight: cellsWidth(list), PadX: panelGap + left,
		PadTop: head, PadBottom: foot, PadY: head + foot + gap}
	total := lanes + vg.Length(rows)*(head+foot) + vg.Length(rows-1)*gap
	for _, h := range heights {
		total += h
	}
	return strip{total, func(c draw.Canvas) {
		c.Max.Y -= lanes // of the first panel alone
		areas := gonum.Align(grid, tiles, c)
		names := namesAt(areas)
		below := c.Max.Y - head // the top of the row
		for i, p := range list {
			area, g := areas[i/columns][i%columns], grid[i/columns][i%columns]
			if slices.Min(heights) < slices.Max(heights) { // the tiles are equally high
				area.Max.Y, area.Min.Y = below, below-heights[i]
				below -= heights[i] + head + foot + gap
			}
			g.Draw(area)
			p.labels(area, g.DataCanvas(area), names[i%columns], th)
			p.drawCells(area, g.DataCanvas(area), cellWidths(list), th)
		}
	}}
}

// panelHeights is how high each row is, with the labels of its ticks. Rows of
// several columns are equally high.
func panelHeights(list []Panel, columns int) []vg.Length {
	var heights []vg.Length
	for i := 0; i < len(list); i += columns {
		h := vg.Length(curvesHeight)
		switch p := list[i]; {
		case p.Kind == Curves && len(list) == 1:
			h = narrowHeight
		case p.Kind == Strips || p.Kind == Changes:
			h = laneHeight*vg.Length(p.Y.Max) + tickRoom
		case p.Kind == Arrivals:
			h = lanePitch(len(p.Streams))*vg.Length(len(p.Streams)) + tickRoom
		case p.Kind.stacked() && len(list) > 1:
			h = tracesHeight
		}
		heights = append(heights, h)
	}
	return heights
}

// tickRoom is what the labels of the x axis take of the height of a panel.
const tickRoom = 18 // points

// shortenLabels takes from the labels of upright axes what their panels are too
// low for: that the scale is logarithmic, which its ticks show, then the name of
// the quantity, which the headings have. The unit and what follows it stay.
func (f *Figure) shortenLabels() {
	sty := textStyle(labelSize, nil)
	heights, columns := panelHeights(f.Panels, f.columns()), f.columns()
	for i := range f.Panels {
		label, room := &f.Panels[i].Y.Label, heights[i/columns]-tickRoom
		if sty.Width(*label) > room {
			*label = strings.TrimSuffix(*label, logScale)
		}
		name, unit, ok := strings.Cut(*label, " (")
		if unit, tail, closed := strings.Cut(unit, ")"); ok && closed && name != "" && sty.Width(*label) > room {
			*label = unit + tail
		}
	}
}

// namesAt is where the names of the upright axes stand in each column: in one
// line, whatever room the labels of their ticks take.
func namesAt(areas [][]draw.Canvas) []vg.Length {
	at := make([]vg.Length, len(areas[0]))
	for i, row := range areas {
		for j, area := range row {
			if left := area.Min.X - labelWidth; i == 0 || left < at[j] {
				at[j] = left
			}
		}
	}
	return at
}

// labels writes the title and the labels of the axes around the area of a panel.
func (p Panel) labels(area, data draw.Canvas, nameAt vg.Length, th theme) {
	sty := textStyle(labelSize, th.text)
	sty.YAlign = text.YBottom
	above := 7 + laneStep*vg.Length(len(p.Lanes))
	if p.Kind == Changes {
		above += headsHeight
	}
	area.FillText(sty, vg.Point{X: data.Min.X, Y: data.Max.Y + above}, p.Title)
	p.drawLanes(area, data, th)
	sty.XAlign, sty.YAlign = text.XCenter, text.YTop
	area.FillText(sty, vg.Point{X: data.Center().X, Y: area.Min.Y}, p.X.Label)
	sty.Rotation = math.Pi / 2
	area.FillText(sty, vg.Point{X: nameAt, Y: data.Center().Y}, p.Y.Label)
}

// thinFor takes away the labels of an x axis that would touch in a panel of
// the least width.
func thinFor(a Axis, width vg.Length) []Tick {
	sty := textStyle(tickSize, nil)
	place := func(v float64) float64 { return float64(width) * a.place(v) }
	return thin(a.Ticks, place, func(s string) float64 { return float64(sty.Width(s)) }, labelGap)
}

// place is where a value lies between the ends of the axis, 0 to 1.
func (a Axis) place(v float64) float64 {
	if a.Log {
		return math.Log(v/a.Min) / math.Log(a.Max/a.Min)
	}
	return (v - a.Min) / (a.Max - a.Min)
}
