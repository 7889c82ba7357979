package report

import (
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"tokwatt/plot"
)

// drawing is a figure for both themes, and in words.
type drawing struct {
	SVG   template.HTML
	Words string
}

// palette gives each pair of a light and a dark colour a variable of CSS, so
// that a figure is in the page once, and the browser takes the colours that its
// reader wants.
type palette struct {
	pairs []pair
	drawn map[*plot.Figure]drawing
}

type pair struct{ light, dark string }

// drawAll draws the figures of a page.
func drawAll(p *Page) (*palette, error) {
	all := &palette{drawn: map[*plot.Figure]drawing{}}
	for _, s := range p.Sections {
		for _, f := range s.Figures {
			if f.Plot == nil {
				continue
			}
			svg, err := all.draw(f.Plot)
			if err != nil {
				return nil, err
			}
			all.drawn[f.Plot] = drawing{SVG: template.HTML(plain(svg)), Words: words(f.Plot)}
		}
	}
	return all, nil
}

// colour is one as vgsvg writes it, where a style has one.
var colour = regexp.MustCompile(`(fill|stroke):#[0-9A-F]{6}\b`)

// draw draws a figure in both themes, which differ in nothing but the colours,
// and puts variables in their place. Its text is escaped by whoever draws.
func (p *palette) draw(f *plot.Figure) (string, error) {
	light, err := inTheme(f, plot.Light)
	if err != nil {
		return "", err
	}
	dark, err := inTheme(f, plot.Dark)
	if err != nil {
		return "", err
	}
	if colour.ReplaceAllString(light, "") != colour.ReplaceAllString(dark, "") {
		return "", fmt.Errorf("the drawings of %q in light and in dark differ in more than colours", f.Title)
	}
	darks := colour.FindAllString(dark, -1)
	if len(darks) != len(colour.FindAllString(light, -1)) {
		return "", fmt.Errorf("the drawings of %q in light and in dark differ in the number of colours", f.Title)
	}
	at := 0
	return colour.ReplaceAllStringFunc(light, func(was string) string {
		name, value, _ := strings.Cut(was, ":")
		_, other, _ := strings.Cut(darks[at], ":")
		at++
		return name + ":var(--" + p.name(pair{value, other}) + ")"
	}), nil
}

func inTheme(f *plot.Figure, theme plot.Theme) (string, error) {
	copied := *f
	copied.Theme = theme
	return copied.Inline()
}

// name is the variable of a pair.
func (p *palette) name(of pair) string {
	i := slices.Index(p.pairs, of)
	if i < 0 {
		i, p.pairs = len(p.pairs), append(p.pairs, of)
	}
	return fmt.Sprintf("c%d", i)
}

// css sets the variables, and brings the font of figures; nothing where there is
// no figure. Paper is light.
func (p *palette) css() (string, error) {
	if len(p.drawn) == 0 {
		return "", nil
	}
	var text strings.Builder
	for _, d := range p.drawn {
		text.WriteString(string(d.SVG))
	}
	face, err := plot.FontFace(text.String())
	if err != nil {
		return "", err
	}
	var light, dark strings.Builder
	for i, c := range p.pairs {
		fmt.Fprintf(&light, "--c%d:%s;", i, c.light)
		fmt.Fprintf(&dark, "--c%d:%s;", i, c.dark)
	}
	return ":root{" + light.String() + "}\n@media screen and (prefers-color-scheme:dark){:root{" + dark.String() + "}}\n" + face, nil
}
