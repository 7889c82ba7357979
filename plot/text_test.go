package plot

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// No line begins with the unit of the number that ends the one before.
func TestUnitsStayWithNumbers(t *testing.T) {
	sty := textStyle(noteSize, nil)
	const text = "Whiskers: 95 % interval of 1,234 ms, 12 s and 3 h; of 7 batches 5 W. pp 512 · tg 128"
	for width := vg.Length(48); width < 300; width++ {
		lines := wrap(sty, text, width)
		for _, l := range lines {
			if first, _, _ := strings.Cut(l, " "); slices.Contains([]string{"%", "ms,", "s", "h;", "W.", "512", "128"}, first) {
				t.Fatalf("%v points: %q", width, lines)
			}
		}
		if got := strings.Join(lines, " "); got != text {
			t.Fatalf("%v points: %q", width, got)
		}
	}
}

func TestSpelling(t *testing.T) {
	tests := []struct {
		name, figure, pdf string
	}{
		{"Qwen3-8B · Q4_K_M", "Qwen3-8B · Q4_K_M", "Qwen3-8B · Q4_K_M"},
		{"通义-7B", `\u901a\u4e49-7B`, `\u901a\u4e49-7B`},
		{"fast🚀", `fast\U0001f680`, `fast\U0001f680`},
		{"Müller “x” 3–8 €", "Müller “x” 3–8 €", "Müller “x” 3–8 €"},
		{"Сайга", "Сайга", `\u0421\u0430\u0439\u0433\u0430`}, // in the font, not in the PDF's encoding
		{"tab\tand\x00nul", `tab\tand\x00nul`, `tab\tand\x00nul`},
	}
	for _, tt := range tests {
		if got := spell(tt.name, inFont); got != tt.figure {
			t.Errorf("%q is %q, want %q", tt.name, got, tt.figure)
		}
		if got := spell(spell(tt.name, inFont), inPDF); got != tt.pdf {
			t.Errorf("%q is %q in a PDF, want %q", tt.name, got, tt.pdf)
		}
	}
}

// Replaced names stay apart wherever they stand, and a footnote says so once.
func TestReplacedNames(t *testing.T) {
	list := servers()[:2]
	list[0].model, list[1].model = "通义", "混元"
	for _, build := range []string{"scaling", "latency"} {
		rows := matrixOf(list, []int64{128, 512}, []int64{1}, 3)
		fig, err := Scaling(rows, Options{})
		if build == "latency" {
			fig, err = Latency(rows, Options{By: []string{"pp"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		fig = fig.spelled(inFont)
		all := strings.Join(fig.Legend, " ") + labels(fig.Panels[0].Y.Ticks)
		if !strings.Contains(all, `\u901a\u4e49`) || !strings.Contains(all, `\u6df7\u5143`) {
			t.Errorf("%s names %q", build, all)
		}
		if n := len(fig.Notes); !strings.Contains(fig.Notes[n-1], "code point") {
			t.Errorf("%s notes %q", build, fig.Notes)
		}
	}
}

// What the font lacks stands in an SVG and in pages, for the reader's fonts, with
// room for it: lines of a lane's name end at one place.
func TestWideNames(t *testing.T) {
	list := servers()[:2]
	list[0].model, list[1].model = "通义千问-7B-中文中文中文中文", "short"
	fig, err := Latency(matrixOf(list, []int64{128, 512}, []int64{1}, 3), Options{By: []string{"pp"}})
	if err != nil {
		t.Fatal(err)
	}
	inline, err := fig.Inline()
	if err != nil {
		t.Fatal(err)
	}
	for _, svg := range []string{inline, string(encode(t, fig, SVG))} {
		if !strings.Contains(svg, "通义千问-7B-") || strings.Contains(svg, "code point") {
			t.Error("the name is not in the SVG, or a note speaks of code points")
		}
	}
	p, tr := fig.spelled(anywhere).layout(light()), newTracer()
	p.drawStrips(draw.NewCanvas(tr, p.width, p.height()))
	var ends []vg.Length
	for _, text := range tr.texts {
		if strings.Contains(text.text, "中文") || strings.HasPrefix(text.text, "mlx_lm") {
			ends = append(ends, text.box.Max.X)
		}
	}
	if len(ends) < 2 || slices.Max(ends)-slices.Min(ends) > 0.01 {
		t.Errorf("names end at %v", ends)
	}
	sty := textStyle(tickSize, nil)
	if w := sty.Width("通义"); w != 2*tickSize {
		t.Errorf("two characters are %v wide", w)
	}
}

// No line is wider than asked, nothing is lost, and no line is empty.
func TestWrap(t *testing.T) {
	sty := textStyle(tickSize, nil)
	texts := []string{"", "one", "a b c d e f g", "llama.cpp · " + strings.Repeat("mlx-community/", 9) + " · 4bit", strings.Repeat("x", 90), "ünïcödé" + strings.Repeat("é", 40)}
	for _, s := range texts {
		for _, width := range []vg.Length{30, 60, 150, 400} {
			lines := wrap(sty, s, width)
			for _, l := range lines {
				if sty.Width(l) > width {
					t.Errorf("%q is wider than %v", l, width)
				}
			}
			squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
			if squeeze(strings.Join(lines, "")) != squeeze(s) {
				t.Errorf("%q became %q", s, lines)
			}
			if s != "" && slices.Contains(lines, "") {
				t.Errorf("%q has an empty line in %q", s, lines)
			}
		}
	}
}
