package plot

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// standIns are fonts that programs set the text in where they don't load the
// one in the file: those of its widths, then one that is hardly wider. With any
// other the text would run over what is beside it.
const standIns = `,Arimo,Arial,Helvetica,Nimbus Sans,TeX Gyre Heros,DejaVu Sans Condensed,sans-serif;`

// writeSVG brings the font, and names the stand-ins behind it.
func (p page) writeSVG(w io.Writer, th theme) error {
	svg, err := p.svg(th)
	if err != nil {
		return err
	}
	face, err := FontFace(string(svg))
	if err != nil {
		return err
	}
	const family = "font-family:Liberation Sans"
	svg = bytes.ReplaceAll(svg, []byte(family+";"), []byte(family+standIns))
	inside := bytes.IndexByte(svg, '>') + 1 // behind the svg element's start
	_, err = fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n%s\n<style>%s</style>%s", svg[:inside], face, svg[inside:])
	return err
}

// svg is the page as an svg element without its font.
func (p page) svg(th theme) ([]byte, error) {
	c := vgsvg.NewWith(vgsvg.UseWH(p.width, p.height()))
	p.draw(draw.New(c), th)
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	start := bytes.Index(b.Bytes(), []byte("<svg ")) // behind the prolog of a file
	if start < 0 {
		return nil, fmt.Errorf("the drawing of a page has no svg element")
	}
	return pathData.ReplaceAllFunc(b.Bytes()[start:], func(d []byte) []byte {
		return []byte(` d="` + shortPath(string(d[4:len(d)-1])) + `"`)
	}), nil
}

// Inline encodes the figure as an svg element that stands in a page's HTML. Its
// font is the page's matter: one rule of FontFace serves any number of figures,
// where each would else carry the font itself.
func (f *Figure) Inline() (string, error) {
	th := f.Theme.colors()
	svg, err := f.spelled(anywhere).layout(th).svg(th)
	if err != nil {
		return "", fmt.Errorf("the drawing of %q: %w", f.Title, err)
	}
	return string(bytes.TrimSpace(svg)), nil
}

// FontFace is the CSS rule that brings the font of figures as far as the text
// needs it, about 60 kB.
func FontFace(text string) (string, error) {
	font, err := subset(liberationsansregular.TTF, text)
	if err != nil {
		return "", err
	}
	return `@font-face{font-family:"Liberation Sans";src:url(data:font/ttf;base64,` +
		base64.StdEncoding.EncodeToString(font) + `) format("truetype")}`, nil
}

// pathData is what a path element draws.
var pathData = regexp.MustCompile(` d="[^"]*"`)

// step is one move or line of a path.
var step = regexp.MustCompile(`([MLZz])(?:([-+.0-9e]+),([-+.0-9e]+))?`)

// shortPath writes moves and lines in hundredths of a point from where the one
// before ended, which takes half of the room that places on the page do. Errors
// of rounding don't add up. A path of other parts stays as it is.
func shortPath(d string) string {
	parts := step.FindAllStringSubmatch(d, -1)
	length := 0
	for _, p := range parts {
		length += len(p[0])
	}
	if length != len(d) {
		return d
	}
	var b strings.Builder
	var x, y, fromX, fromY int // hundredths: where the path is, and where its part began
	for _, p := range parts {
		if p[1] == "Z" || p[1] == "z" {
			b.WriteByte('z')
			x, y = fromX, fromY
			continue
		}
		toX, toY := hundredths(p[2]), hundredths(p[3])
		dx, dy := brief(toX-x), brief(toY-y)
		switch {
		case p[1] == "M":
			fromX, fromY = toX, toY
			b.WriteString("m" + dx + follows(dy))
		case toY == y:
			b.WriteString("h" + dx)
		case toX == x:
			b.WriteString("v" + dy)
		default:
			b.WriteString("l" + dx + follows(dy))
		}
		x, y = toX, toY
	}
	return b.String()
}

func hundredths(s string) int {
	v, _ := strconv.ParseFloat(s, 64) // as vgsvg wrote it
	return int(math.Round(100 * v))
}

// brief is a number of hundredths without the 0 before its point.
func brief(n int) string {
	s := strconv.FormatFloat(float64(n)/100, 'f', -1, 64)
	if n > -100 && n < 100 {
		s = strings.Replace(s, "0.", ".", 1)
	}
	return s
}

// follows sets a number apart from the one before, where its sign does not.
func follows(s string) string {
	if strings.HasPrefix(s, "-") {
		return s
	}
	return "," + s
}
