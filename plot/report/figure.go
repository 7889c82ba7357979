package report

import (
	"html/template"

	"tokwatt/plot"
)

// drawing is a figure in both themes, and in words.
type drawing struct {
	Light, Dark template.HTML
	Words       string
}

// drawn draws a figure. Its text is escaped by whoever draws.
func drawn(f *plot.Figure) (drawing, error) {
	d := drawing{Words: words(f)}
	for theme, to := range map[plot.Theme]*template.HTML{plot.Light: &d.Light, plot.Dark: &d.Dark} {
		copied := *f
		copied.Theme = theme
		svg, err := copied.Inline()
		if err != nil {
			return d, err
		}
		*to = template.HTML(plain(svg))
	}
	return d, nil
}
