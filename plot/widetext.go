package plot

import (
	"strings"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// wideText measures and places text in which are characters that the font lacks:
// who reads an SVG or a page sees them in a font of the system, about as wide as
// high, as Chinese ones are. All else is gonum's.
type wideText struct{ text.Handler }

func textHandler() text.Handler { return wideText{gonum.DefaultTextHandler} }

// Box implements text.Handler.
func (h wideText) Box(txt string, fnt font.Font) (width, height, depth vg.Length) {
	width, height, depth = h.Handler.Box(txt, fnt)
	return width + h.extra(txt, fnt), height, depth
}

// extra is how much wider txt is than with what the font has in their place.
func (h wideText) extra(txt string, fnt font.Font) vg.Length {
	extra := vg.Length(0)
	face := h.Cache().Lookup(fnt, fnt.Size)
	for _, r := range txt {
		if r != '\n' && !inFont(r) {
			extra += max(0, fnt.Size-face.Width(string(r)))
		}
	}
	return extra
}

// Draw implements text.Handler: lines with such characters are drawn one by one,
// each moved by what its alignment makes of the difference.
func (h wideText) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	if h.extra(txt, sty.Font) == 0 || sty.Rotation != 0 {
		h.Handler.Draw(c, txt, sty, pt)
		return
	}
	lines := h.Lines(txt)
	whole := sty.Height(txt)
	for i, line := range lines {
		at := vg.Point{
			X: pt.X + vg.Length(sty.XAlign)*h.extra(line, sty.Font),
			Y: pt.Y + vg.Length(sty.YAlign)*(whole-sty.Height(line)) + vg.Length(len(lines)-1-i)*sty.Font.Size,
		}
		h.Handler.Draw(c, strings.TrimSuffix(line, "\n"), sty, at)
	}
}
