package plot

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is one thing that the legend tells: a name and what stands before it.
type entry struct {
	name  string
	width vg.Length // of the sample
	draw  func(c *draw.Canvas, from vg.Point)
}

func (f *Figure) seriesEntries(th theme) []entry {
	var list []entry
	for i, n := range f.Legend {
		if n != "" {
			list = append(list, seriesEntry(f, i, n, th))
		}
	}
	return list
}

func (f *Figure) bandEntries(th theme) []entry {
	var list []entry
	for _, k := range f.Bands {
		list = append(list, entry{k.legendName(), swatchWidth, func(c *draw.Canvas, from vg.Point) {
			th.bandSample(c, k, f.Bands, vg.Rectangle{Min: from.Add(vg.Point{Y: -swatchHalf}), Max: from.Add(vg.Point{X: swatchWidth, Y: swatchHalf})})
		}})
	}
	return list
}

// legends is one strip, or one for series and one for bands where a row does
// not hold all.
func (f *Figure) legends(width vg.Length, th theme) []strip {
	series, bands := slices.Concat(f.seriesEntries(th), f.verdictEntries(th)), f.bandEntries(th)
	both := slices.Concat(series, bands)
	if whole := legend(both, width, th); len(both) > 0 && whole.height <= legend(both[:1], width, th).height {
		return []strip{whole}
	}
	return []strip{legend(series, width, th), legend(bands, width, th)}
}

const (
	lineSample  = 26 // points
	swatchWidth = 14
	swatchHalf  = 4
)

// seriesEntry shows a series' glyph, and its line where it has one.
func seriesEntry(f *Figure, style int, name string, th theme) entry {
	e := entry{name: name, width: lineSample}
	switch f.Panels[0].Kind {
	case Strips:
		e.width = 2 * markerRadius
		e.draw = func(c *draw.Canvas, from vg.Point) {
			th.marker(c, style, from.Add(vg.Point{X: markerRadius}), markerRadius)
		}
	case Arrivals:
		return arrivalEntry(style, name, th)
	case Traces:
		e.width = swatchWidth
		e.draw = func(c *draw.Canvas, from vg.Point) {
			c.StrokeLine2(draw.LineStyle{Color: th.color(style), Width: 1.6}, from.X, from.Y, from.X+swatchWidth, from.Y)
			if len(f.Legend) > 1 {
				th.marker(c, style, from.Add(vg.Point{X: swatchWidth / 2}), markerRadius)
			}
		}
	default:
		e.draw = func(c *draw.Canvas, from vg.Point) {
			c.StrokeLine2(th.line(style), from.X, from.Y, from.X+lineSample, from.Y)
			th.marker(c, style, from.Add(vg.Point{X: lineSample / 2}), markerRadius)
		}
	}
	return e
}

// legend is a strip of its own below the panels, in as many columns as the
// longest name lets fit.
func legend(entries []entry, width vg.Length, th theme) strip {
	if len(entries) == 0 {
		return space(0)
	}
	const gap, between = 5, 16
	sty := textStyle(legendSize, th.text)
	step := 1.35 * sty.Font.Size
	lines := make([][]string, len(entries))
	column := vg.Length(0)
	for i, e := range entries {
		lines[i] = wrap(sty, e.name, width-e.width-gap)
		for _, l := range lines[i] {
			column = max(column, e.width+gap+sty.Width(l)+between)
		}
	}
	columns := max(1, int((width+between)/column))
	rows := (len(entries) + columns - 1) / columns
	tops := rowTops(lines, rows, step)
	return strip{tops[rows] + 6, func(c draw.Canvas) {
		for i, e := range entries {
			// down the columns, so that neighbours in order stay neighbours
			x := c.Min.X + column*vg.Length(i/rows)
			y := c.Max.Y - tops[i%rows]
			e.draw(&c, vg.Point{X: x, Y: y - 0.66*sty.Font.Size})
			for k, l := range lines[i] {
				c.FillText(sty, vg.Point{X: x + e.width + gap, Y: y - step*vg.Length(k)}, l)
			}
		}
	}}
}

// rowTops is how far below the top of the strip each row starts, and the last
// ends: a row is as high as the most lines in it.
func rowTops(lines [][]string, rows int, step vg.Length) []vg.Length {
	tops := make([]vg.Length, rows+1)
	for r := range rows {
		most := 1
		for i := r; i < len(lines); i += rows {
			most = max(most, len(lines[i]))
		}
		tops[r+1] = tops[r] + step*vg.Length(most)
	}
	return tops
}
