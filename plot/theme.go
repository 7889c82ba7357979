package plot

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// theme holds every colour of a figure.
type theme struct {
	background color.Color
	text       color.Color
	muted      color.Color // subtitle and footnotes
	axis       color.Color
	grid       color.Color
	series     []color.NRGBA
	bands      map[BandKind]color.NRGBA // behind traces
	idle       color.Color              // of hatching
}

// light is the theme for paper. The series' colours are those of Okabe and Ito
// (https://jfly.uni-koeln.de/color), which readers with any colour vision can
// tell apart, without their yellow: it is too pale for lines on white.
func light() theme {
	return theme{
		background: color.White,
		text:       color.Gray{0x22},
		muted:      color.Gray{0x59},
		axis:       color.Gray{0x55},
		grid:       color.Gray{0xe2},
		series: []color.NRGBA{
			{0x00, 0x72, 0xb2, 0xff}, // blue
			{0xd5, 0x5e, 0x00, 0xff}, // vermilion
			{0x00, 0x9e, 0x73, 0xff}, // bluish green
			{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
			{0xe6, 0x9f, 0x00, 0xff}, // orange
			{0x56, 0xb4, 0xe9, 0xff}, // sky blue
			{0x00, 0x00, 0x00, 0xff}, // black
		},
		idle: color.Gray{0xbc},
		// A yellow and a blue, which any colour vision tells apart, the
		// yellow darker in grey; what is neither is between them or grey.
		bands: map[BandKind]color.NRGBA{
			BandPrefill:    {0xf8, 0xd2, 0x8c, 0xff},
			BandMixed:      {0xe8, 0xdf, 0xc2, 0xff},
			BandGeneration: {0xdc, 0xeb, 0xf7, 0xff},
			BandBatch:      {0xdc, 0xdc, 0xdf, 0xff},
		},
	}
}

// maxSeries is how many series stay apart: each colour twice, with another
// dash and another glyph.
const maxSeries = 14

func (t theme) color(style int) color.NRGBA { return t.series[style%len(t.series)] }

// tint is the series' colour thinned out with the background's, for what lies
// behind. It is opaque: the PDF canvas turns a transparent colour dark.
func (t theme) tint(style int, share float64) color.NRGBA {
	return t.thinned(t.color(style), share)
}

// thinned mixes a colour with the background's.
func (t theme) thinned(c color.NRGBA, share float64) color.NRGBA {
	r, g, b, _ := t.background.RGBA()
	mix := func(front uint8, back uint32) uint8 {
		return uint8(share*float64(front) + (1-share)*float64(back>>8) + 0.5)
	}
	return color.NRGBA{mix(c.R, r), mix(c.G, g), mix(c.B, b), 0xff}
}

// dashes returns the series' pattern of drawn and left-out lengths. There are
// four, so that series of one colour (7 apart) never share one.
func dashes(style int) []vg.Length {
	switch style % 4 {
	case 1:
		return []vg.Length{6, 2}
	case 2:
		return []vg.Length{2, 1.6}
	case 3:
		return []vg.Length{7, 2, 1.6, 2}
	}
	return nil
}

// marker fills the series' glyph on a thin border in the background's colour,
// so that overlapping ones stay apart. There are six shapes.
func (t theme) marker(c *draw.Canvas, style int, at vg.Point, radius vg.Length) {
	c.SetColor(t.background)
	c.Fill(glyph(style, at, radius+0.7))
	c.SetColor(t.color(style))
	c.Fill(glyph(style, at, radius))
}

// mark draws a median: a hollow one is indicative.
func (t theme) mark(c *draw.Canvas, style int, at vg.Point, hollow bool) {
	t.marker(c, style, at, markerRadius)
	if hollow {
		c.SetColor(t.background)
		c.Fill(glyph(style, at, markerRadius-1))
	}
}

// glyph outlines the series' shape; the radii are set so that all shapes look
// equally large.
func glyph(style int, at vg.Point, r vg.Length) vg.Path {
	switch style % 6 {
	case 1:
		return polygon(at, 1.25*r, 4, math.Pi/4) // square
	case 2:
		return polygon(at, 1.35*r, 3, math.Pi/2) // triangle
	case 3:
		return polygon(at, 1.3*r, 4, 0) // diamond
	case 4:
		return polygon(at, 1.35*r, 3, -math.Pi/2) // triangle on its tip
	case 5:
		return polygon(at, 1.15*r, 6, 0) // hexagon
	}
	return polygon(at, r, 32, 0) // a circle in all three formats' terms
}

func polygon(at vg.Point, r vg.Length, corners int, turn float64) vg.Path {
	var p vg.Path
	for i := range corners {
		sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(corners))
		corner := vg.Point{X: at.X + r*vg.Length(cos), Y: at.Y + r*vg.Length(sin)}
		if i == 0 {
			p.Move(corner)
		} else {
			p.Line(corner)
		}
	}
	p.Close()
	return p
}
