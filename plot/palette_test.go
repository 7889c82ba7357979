package plot

import (
	"image/color"
	"testing"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// No pixel is further off than a quarter of a channel, the shades of edges, and
// the theme's own colours are as they were.
func TestPaletteKeepsThePicture(t *testing.T) {
	fig := oneFigure(t)
	for _, name := range Themes() {
		th := name.colors()
		p := fig.layout(th)
		c := vgimg.NewWith(vgimg.UseWH(p.width, p.height()), vgimg.UseDPI(dpi))
		p.draw(draw.New(c), th)
		img := c.Image()
		out := paletted(img)
		if n := len(out.Palette); n > 256 || n < 20 {
			t.Fatalf("%s: %d colours", name, n)
		}
		worst := 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				R, G, B, _ := out.At(x, y).RGBA()
				for _, d := range [][2]uint32{{r, R}, {g, G}, {b, B}} {
					worst = max(worst, int(max(d[0], d[1])-min(d[0], d[1]))>>8)
				}
			}
		}
		if worst > 63 {
			t.Errorf("%s: a pixel is %d of 255 off", name, worst)
		}
		for what, want := range map[string]color.Color{"background": th.background, "first series": th.color(0), "text": th.text} {
			r, g, b, _ := want.RGBA()
			R, G, B, _ := out.Palette.Convert(want).RGBA()
			if r != R || g != G || b != B {
				t.Errorf("%s: the %s became %v", name, what, out.Palette.Convert(want))
			}
		}
	}
}
