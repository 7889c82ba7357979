package plot

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Inline encodes the figure as an svg element that stands in a page's HTML. Its
// font is the page's matter: one rule of FontFace serves any number of figures,
// where each would else carry the font itself.
func (f *Figure) Inline() (string, error) {
	th := f.Theme.colors()
	p := f.layout(th)
	c := vgsvg.NewWith(vgsvg.UseWH(p.width, p.height()))
	p.draw(draw.New(c), th)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	start := bytes.Index(b.Bytes(), []byte("<svg ")) // behind the prolog of a file
	if start < 0 {
		return "", fmt.Errorf("the drawing of %q has no svg element", f.Title)
	}
	return string(bytes.TrimSpace(b.Bytes()[start:])), nil
}

// FontFace is the CSS rule that brings the font of figures, about 550 kB.
func FontFace() string {
	return `@font-face{font-family:"Liberation Sans";src:url(data:font/ttf;base64,` +
		base64.StdEncoding.EncodeToString(liberationsansregular.TTF) + `) format("truetype")}`
}
