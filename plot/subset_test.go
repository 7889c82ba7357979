package plot

import (
	"reflect"
	"testing"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// What the text needs is as it was, outline, width and kerning, letters that are
// put together included; of the rest the outlines alone are gone.
func TestSubset(t *testing.T) {
	const text = "Ömer · 95 % ≤ “p” – −3 ǻ"
	small, err := subset(liberationsansregular.TTF, text)
	if err != nil {
		t.Fatal(err)
	}
	if len(small) > 60_000 {
		t.Errorf("%d bytes", len(small))
	}
	whole, _ := sfnt.Parse(liberationsansregular.TTF)
	part, err := sfnt.Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	var b, c sfnt.Buffer
	size := fixed.I(1000)
	outline := func(f *sfnt.Font, buf *sfnt.Buffer, r rune) (sfnt.GlyphIndex, sfnt.Segments, fixed.Int26_6) {
		i, err := f.GlyphIndex(buf, r)
		if err != nil {
			t.Fatal(err)
		}
		width, err := f.GlyphAdvance(buf, i, size, font.HintingNone)
		if err != nil {
			t.Fatal(err)
		}
		segments, err := f.LoadGlyph(buf, i, size, nil)
		if err != nil {
			t.Fatal(err)
		}
		return i, segments, width
	}
	for _, r := range text + "AVz~" {
		i, want, wide := outline(whole, &b, r)
		if i == 0 {
			t.Fatalf("the font has no %q", r)
		}
		j, got, width := outline(part, &c, r)
		if i != j || wide != width || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: glyph %d of %v is now %d of %v", r, i, wide, j, width)
		}
	}
	if _, gone, _ := outline(part, &c, 'Ж'); len(gone) > 0 {
		t.Error("an outline is there that nobody wants")
	}
	pair := func(f *sfnt.Font, buf *sfnt.Buffer) fixed.Int26_6 {
		i, _ := f.GlyphIndex(buf, 'A')
		j, _ := f.GlyphIndex(buf, 'V')
		k, err := f.Kern(buf, i, j, size, font.HintingNone)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	if a, z := pair(whole, &b), pair(part, &c); a != z || a == 0 {
		t.Errorf("kerning %v is now %v", a, z)
	}
}
