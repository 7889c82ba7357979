package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Theme is a set of colours.
type Theme string

// The themes.
const (
	Light Theme = "light" // for paper
	Dark  Theme = "dark"  // for screens with a dark page
)

// Themes lists the themes.
func Themes() []Theme { return []Theme{Light, Dark} }

// ThemeNamed finds a theme by its name; no name is Light.
func ThemeNamed(name string) (Theme, error) {
	if name == "" {
		return Light, nil
	}
	if t := Theme(name); slices.Contains(Themes(), t) {
		return t, nil
	}
	return "", fmt.Errorf("there is no theme %q: take light or dark", name)
}

// colors are those of the theme; those of Light where there is no such theme.
func (t Theme) colors() theme {
	if t == Dark {
		return dark()
	}
	return light()
}

// theme holds every colour of a figure.
//
// The series' colours keep to rules that a test holds: any two of them lie at
// least 10 apart in the colour space OKLab (times 100), as seen with normal
// vision and with each kind of colour blindness that concerns red and green,
// and each has a contrast of 3 to 1 to the background, which WCAG 2.2 (1.4.11)
// asks of graphics.
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

func light() theme {
	return theme{
		background: color.White,
		text:       color.Gray{0x22},
		muted:      color.Gray{0x59},
		axis:       color.Gray{0x55},
		grid:       color.Gray{0xe2},
		series: []color.NRGBA{
			{0x2f, 0x4c, 0xae, 0xff}, // blue
			{0x9f, 0x2b, 0x0b, 0xff}, // rust
			{0x21, 0x87, 0x70, 0xff}, // teal
			{0xeb, 0x4c, 0xb5, 0xff}, // pink
			{0x9a, 0x99, 0x00, 0xff}, // olive
			{0x34, 0x98, 0xf3, 0xff}, // azure
			{0x11, 0x11, 0x11, 0xff}, // nearly black
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

func dark() theme {
	return theme{
		background: color.NRGBA{0x16, 0x18, 0x1c, 0xff},
		text:       color.Gray{0xe8},
		muted:      color.Gray{0xab},
		axis:       color.Gray{0x9a},
		grid:       color.NRGBA{0x30, 0x33, 0x39, 0xff},
		series: []color.NRGBA{
			{0x62, 0x9e, 0xfb, 0xff}, // blue
			{0xf3, 0x68, 0x2f, 0xff}, // orange
			{0x09, 0xd7, 0xab, 0xff}, // mint
			{0xaa, 0x69, 0x9a, 0xff}, // mauve
			{0xee, 0xd7, 0x34, 0xff}, // yellow
			{0x44, 0x57, 0xe7, 0xff}, // indigo
			{0xf2, 0xf2, 0xf2, 0xff}, // nearly white
		},
		idle: color.Gray{0x5c},
		bands: map[BandKind]color.NRGBA{
			BandPrefill:    {0x56, 0x40, 0x12, 0xff},
			BandMixed:      {0x3d, 0x38, 0x2a, 0xff},
			BandGeneration: {0x1c, 0x30, 0x42, 0xff},
			BandBatch:      {0x36, 0x38, 0x3d, 0xff},
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
