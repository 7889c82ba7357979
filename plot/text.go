package plot

import (
	"image/color"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// The sizes of text, in points at the size the figure is printed.
const (
	titleSize  = 11
	labelSize  = 9
	legendSize = 8.5
	tickSize   = 8
	noteSize   = 7.5
	laneSize   = 7.5
)

func fontOf(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// textStyle is left-aligned text that hangs from its point. There is one
// weight: vgpdf cannot find a bold font again that it has embedded.
func textStyle(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: fontOf(size), XAlign: text.XLeft, YAlign: text.YTop, Handler: textHandler()}
}

// inFont tells whether the font has a glyph for r.
func inFont(r rune) bool {
	fnt := fontOf(tickSize)
	index, err := gonum.DefaultTextHandler.Cache().Lookup(fnt, fnt.Size).Face.GlyphIndex(nil, r)
	return err == nil && index != 0 && unicode.IsPrint(r)
}

// anywhere tells whether a reader's own fonts may have r, where those are at hand.
func anywhere(r rune) bool { return unicode.IsPrint(r) }

// spell replaces what cannot be shown by its escape, such as \u901a: the font
// would leave a gap, and two names could become one.
func spell(s string, shown func(rune) bool) string {
	var b strings.Builder
	for _, r := range s {
		if shown(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// titleOnce leaves the heading of the only panel to the figure's, which has it.
func (f *Figure) titleOnce() {
	if len(f.Panels) == 1 {
		f.Panels[0].Title = ""
	}
}

// finished is the figure without empty notes, and with labels that have room.
func (f *Figure) finished() *Figure {
	f.Notes = slices.DeleteFunc(f.Notes, func(n string) bool { return n == "" })
	f.shortenLabels()
	return f
}

// spelled returns the figure with all its text spelled, and a footnote that
// says so where something was replaced.
func (f *Figure) spelled(shown func(rune) bool) *Figure {
	out, replaced := *f, false
	sp := func(s string) string {
		t := spell(s, shown)
		replaced = replaced || t != s
		return t
	}
	all := func(list []string) []string {
		list = slices.Clone(list)
		for i := range list {
			list[i] = sp(list[i])
		}
		return list
	}
	out.Title, out.Subtitle = sp(f.Title), sp(f.Subtitle)
	out.Legend, out.Notes = all(f.Legend), all(f.Notes)
	out.Panels = slices.Clone(f.Panels)
	for i := range out.Panels {
		p := &out.Panels[i]
		p.Title, p.X.Label, p.Y.Label = sp(p.Title), sp(p.X.Label), sp(p.Y.Label)
		p.Series, p.Y.Ticks = slices.Clone(p.Series), slices.Clone(p.Y.Ticks)
		for j := range p.Series {
			p.Series[j].Name = sp(p.Series[j].Name)
		}
		for j := range p.Y.Ticks {
			p.Y.Ticks[j].Label = sp(p.Y.Ticks[j].Label)
		}
		p.Lanes = slices.Clone(p.Lanes)
		for j := range p.Lanes {
			p.Lanes[j] = slices.Clone(p.Lanes[j])
			for k := range p.Lanes[j] {
				p.Lanes[j][k].Text = sp(p.Lanes[j][k].Text)
			}
		}
	}
	if replaced {
		out.Notes = append(out.Notes, `Characters that the font lacks are written as their code point, \u….`)
	}
	return &out
}

// lineSpacing is the distance of lines as a multiple of the font's size.
const lineSpacing = 1.25

// wrap breaks s into lines no wider than width: between words, else, in a word
// that fits no line, after a punctuation mark, else anywhere.
func wrap(sty text.Style, s string, width vg.Length) []string {
	var lines []string
	line := ""
	for _, word := range withUnits(strings.Fields(s)) {
		for word != "" {
			start := line
			if start != "" {
				start += " "
			}
			switch {
			case sty.Width(start+word) <= width:
				line, word = start+word, ""
				continue
			case sty.Width(word) > width:
				n := fitting(sty, word, width-sty.Width(start), line == "")
				if n > 0 {
					start += word[:n]
					word = word[n:]
				}
				lines = append(lines, strings.TrimSpace(start))
			default:
				lines = append(lines, line)
			}
			line = ""
		}
	}
	return append(lines, line)
}

// withUnits joins a number and the unit behind it or the key before it, which a
// line must not part.
func withUnits(words []string) []string {
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	var out []string
	for _, w := range words {
		if n := len(out); n > 0 {
			before := out[n-1]
			unit := digit(before[len(before)-1]) && slices.Contains([]string{"%", "ms", "s", "min", "h", "W", "J"}, strings.TrimRight(w, ".,;:)"))
			value := digit(w[0]) && slices.Contains([]string{"pp", "tg", "concurrency", "session"}, before)
			if unit || value {
				out[n-1] += " " + w
				continue
			}
		}
		out = append(out, w)
	}
	return out
}

// fitting is how many bytes of word to put into the given width: up to the
// last punctuation mark, or, where the line is the word's alone, any number of
// characters, at least one.
func fitting(sty text.Style, word string, width vg.Length, alone bool) int {
	last, mark := 0, 0
	for i, r := range word {
		end := i + utf8.RuneLen(r)
		if sty.Width(word[:end]) > width && (last > 0 || !alone) {
			break
		}
		last = end
		if strings.ContainsRune("-_/:.,@+", r) {
			mark = end
		}
	}
	if !alone || mark > last/2 {
		return mark
	}
	return last
}
