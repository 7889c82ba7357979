package plot

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legend is a strip of its own below the panels: each series' glyph, and
// line where there is one, with its name, in as many columns as the longest name lets fit.
func legend(names []string, kind PanelKind, width vg.Length, th theme) strip {
	if len(names) == 0 {
		return space(0)
	}
	const gap, between = 5, 16
	swatch := vg.Length(26)
	if kind == Strips {
		swatch = 2 * markerRadius
	}
	sty := textStyle(legendSize, th.text)
	step := 1.35 * sty.Font.Size
	lines := make([][]string, len(names))
	column := vg.Length(0)
	for i, n := range names {
		lines[i] = wrap(sty, n, width-swatch-gap)
		for _, l := range lines[i] {
			column = max(column, swatch+gap+sty.Width(l)+between)
		}
	}
	columns := max(1, int((width+between)/column))
	rows := (len(names) + columns - 1) / columns
	tops := rowTops(lines, rows, step)
	return strip{tops[rows] + 6, func(c draw.Canvas) {
		for i := range names {
			// down the columns, so that neighbours in order stay neighbours
			x := c.Min.X + column*vg.Length(i/rows)
			y := c.Max.Y - tops[i%rows]
			middle := y - 0.66*sty.Font.Size
			if kind == Curves {
				c.StrokeLine2(th.line(i), x, middle, x+swatch, middle)
			}
			th.marker(&c, i, vg.Point{X: x + swatch/2, Y: middle}, markerRadius)
			for k, l := range lines[i] {
				c.FillText(sty, vg.Point{X: x + swatch + gap, Y: y - step*vg.Length(k)}, l)
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
