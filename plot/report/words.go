package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tokwatt/plot"
)

// mostWords bounds the description of a figure, in characters: whoever has it
// read out waits for its end, and all figures are in the tables.
const mostWords = 1200

// words tells a figure: its title, and for each panel what there is to read off.
func words(f *plot.Figure) string {
	parts := []string{f.Title, f.Subtitle}
	for _, p := range f.Panels {
		parts = append(parts, panelWords(p))
	}
	var said []string
	for _, s := range parts {
		if s = strings.TrimSpace(s); s != "" {
			said = append(said, strings.TrimSuffix(s, "."))
		}
	}
	text := strings.Join(said, ". ") + "."
	if r := []rune(text); len(r) > mostWords {
		cut := string(r[:mostWords])
		if i := strings.LastIndexAny(cut, ";."); i > 0 {
			cut = cut[:i]
		}
		text = cut + "; and more, which the tables have."
	}
	return text
}

func panelWords(p plot.Panel) string {
	var parts []string
	for _, s := range p.Series {
		parts = append(parts, strings.TrimSpace(s.Name+" "+pointWords(p, s.Points)))
	}
	for _, t := range p.Traces {
		if lo, hi := traceRange(t); lo <= hi {
			parts = append(parts, fmt.Sprintf("%s from %s to %s", t.Name, digits(lo), digits(hi)))
		}
	}
	switch n := len(p.Streams); {
	case n == 1:
		parts = append(parts, fmt.Sprintf("one stream over %s s", digits(p.X.Max)))
	case n > 1:
		parts = append(parts, fmt.Sprintf("%d streams over %s s", n, digits(p.X.Max)))
	}
	if n := len(p.Dots); n > 0 {
		parts = append(parts, gapWords(p))
	}
	if len(parts) == 0 {
		return ""
	}
	name := p.Title
	if name == "" {
		name = p.Y.Label
	}
	return strings.TrimPrefix(name+": ", ": ") + strings.Join(parts, "; ")
}

// pointWords has the median at each place.
func pointWords(p plot.Panel, points []plot.Point) string {
	var out []string
	for _, at := range points {
		value := digits(at.Median)
		if p.Kind == plot.Curves || p.Kind == plot.Times {
			value += " at " + placeName(p.X, at.X)
		} else if name := laneName(p.Y, at.X); name != "" {
			value += " for " + name
		}
		out = append(out, value)
	}
	return strings.Join(out, ", ")
}

// placeName is a place on an axis as its tick says it, else as a number.
func placeName(a plot.Axis, x float64) string {
	for _, t := range a.Ticks {
		if t.Value == x && t.Label != "" {
			return t.Label
		}
	}
	return digits(x)
}

// laneName is the label that a lane is nearest to.
func laneName(a plot.Axis, y float64) string {
	name, best := "", math.Inf(1)
	for _, t := range a.Ticks {
		if d := math.Abs(t.Value - y); t.Label != "" && d < best {
			name, best = t.Label, d
		}
	}
	return name
}

func traceRange(t plot.Trace) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, line := range t.Lines {
		for _, v := range line {
			lo, hi = math.Min(lo, v.V), math.Max(hi, v.V)
		}
	}
	for _, run := range t.Columns {
		for _, c := range run {
			lo, hi = math.Min(lo, c.Lo), math.Max(hi, c.Hi)
		}
	}
	return lo, hi
}

func gapWords(p plot.Panel) string {
	longest, stalls := 0.0, 0
	for _, d := range p.Dots {
		longest = math.Max(longest, d.V)
		if d.Stall {
			stalls++
		}
	}
	text := fmt.Sprintf("%d gaps between outputs, the longest %s ms, %d stalls", len(p.Dots), digits(longest), stalls)
	if len(p.Levels) > 0 {
		text += ", median " + digits(p.Levels[0]) + " ms"
	}
	return text
}

// digits is v with three significant digits, and no exponent where it can be
// without.
func digits(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
