package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/plot"
)

// curve is a figure of one line, with a name from anywhere.
func curve(t *testing.T, model string) *plot.Figure {
	t.Helper()
	var rows []analyze.Summary
	for i, pp := range []int64{128, 512, 2048} {
		rate := 900 + 100*float64(i)
		rows = append(rows, analyze.Summary{Engine: "e", ModelID: model, PP: &pp, TG: 64, Concurrency: 1, NBatches: 1,
			Stats: map[string]analyze.Stat{"prompt_tps": {N: 1, Median: &rate, Points: []float64{rate}}}})
	}
	f, err := plot.Scaling(rows, plot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// everywhere is a page with one text wherever a page has text.
func everywhere(t *testing.T, text string) *Page {
	return &Page{Title: text, Lead: []string{text}, Footer: text, Sections: []Section{{
		ID: "a", Title: text, Text: []string{text}, Notes: []string{text},
		Figures: []Figure{{Name: text, Plot: curve(t, text)}, {Name: text, Missing: text}},
		Tables: []Table{
			{Caption: text, Keys: 1, Columns: []Column{{Head: text}, {Head: text, Unit: text, About: text, Number: true}}, Rows: [][]string{{text, text}}, Notes: []string{text}},
			{Caption: text, Folded: true, Columns: []Column{{Head: text}}, Rows: [][]string{{text}}}},
		Facts: []Facts{{Caption: text, List: []Fact{{text, text}}}},
		Code:  []Code{{Caption: text, Text: text}},
	}}}
}

// FuzzWrite: whatever text a page has, the elements of the page are its own, and
// a strict parser reads it.
func FuzzWrite(f *testing.F) {
	for _, s := range []string{"", "plain", `<script>alert(1)</script>`, `"><img src=x onerror=y>`, "</title></style><svg onload=x>", "a&b;\x00\x7f\xff\u202e\ufffe", "{{.}}`${x}`", "--><!--", "]]>"} {
		f.Add(s)
	}
	want := ""
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			t.Skip("text of a figure breaks into lines, of which there may be many")
		}
		var b bytes.Buffer
		if err := everywhere(t, text).Write(&b); err != nil {
			t.Fatal(err)
		}
		got := elements(t, b.String())
		if want == "" {
			var plain bytes.Buffer
			if err := everywhere(t, "word").Write(&plain); err != nil {
				t.Fatal(err)
			}
			want = elements(t, plain.String())
		}
		if got != want {
			t.Errorf("%q has other elements than a word:\n%s\n%s", text, got, want)
		}
	})
}

// elements are the names of a page's elements with those of their attributes, but
// for a figure's own, which has more lines of text where there is more, and
// parts that an empty text leaves out.
func elements(t *testing.T, page string) string {
	t.Helper()
	var out []string
	d, inside := xml.NewDecoder(strings.NewReader(page)), 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(out, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			name := tok.Name.Local
			for _, a := range tok.Attr {
				if strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("<%s %s>", name, a.Name.Local)
				}
				if a.Name.Local != "title" {
					name += "." + a.Name.Local
				}
			}
			if inside == 0 && !strings.HasPrefix(name, "span") && name != "wbr" {
				out = append(out, name)
			}
			if inside > 0 && name != "g.transform" && !strings.HasPrefix(name, "path.") && !strings.HasPrefix(name, "text.") && tok.Name.Local != "g" {
				t.Errorf("<%s> in a figure", name)
			}
			if tok.Name.Local == "svg" || inside > 0 {
				inside++
			}
		case xml.EndElement:
			inside = max(0, inside-1)
		}
	}
}

// TestThemes: a figure is in the page once, each colour a variable that has a
// value for light and for dark.
func TestThemes(t *testing.T) {
	p := everywhere(t, "word")
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	svg := text[strings.Index(text, "<svg"):strings.Index(text, "</svg>")]
	if strings.Count(text, "<svg") != 1 || colour.MatchString(svg) || !strings.Contains(svg, "fill:var(--c0)") {
		t.Error("the figure is not there once, or has colours of its own")
	}
	for _, want := range []string{"--c0:#FFFFFF;", "--c0:#16181C;", "@font-face"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s is there %d times", want, strings.Count(text, want))
		}
	}
	b.Reset()
	p.Sections[0].Figures = p.Sections[0].Figures[1:]
	if err := p.Write(&b); err != nil || b.Len() > 20_000 || strings.Contains(b.String(), "@font-face") {
		t.Errorf("%v: a page without figures has %d bytes", err, b.Len())
	}
}

// TestWords: what is to be seen is told, and not at length.
func TestWords(t *testing.T) {
	got := words(curve(t, "m"))
	if want := "Prefill rate of a request by prompt length."; !strings.HasPrefix(got, want) || !strings.Contains(got, "900 at 128, 1000 at 512, 1100 at 2k") {
		t.Errorf("%q", got)
	}
	f := curve(t, "m")
	for range 300 {
		f.Panels[0].Series[0].Points = append(f.Panels[0].Series[0].Points, plot.Point{X: 4, Median: 5})
	}
	if got := words(f); len(got) > mostWords+60 || !strings.HasSuffix(got, "which the tables have.") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	trace := plot.Trace{Name: "gpu", Lines: [][]plot.Vertex{{{T: 0, V: 10}, {T: 1, V: 30}}}, Columns: [][]plot.Column{{{Lo: 5, Hi: 7, Mean: 6}}}}
	if lo, hi := traceRange(trace); lo != 5 || hi != 30 {
		t.Errorf("%v to %v", lo, hi)
	}
	if lo, hi := traceRange(plot.Trace{}); lo != math.Inf(1) || hi != math.Inf(-1) {
		t.Errorf("nothing is from %v to %v", lo, hi)
	}
}
