package plot

import (
	"bytes"
	"io"
	"regexp"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgpdf"
)

// pdfCanvas hands vgpdf text in the encoding of the fonts it embeds, Windows
// code page 1252; given UTF-8 it would draw each byte as a character.
type pdfCanvas struct{ *vgpdf.Canvas }

func (c pdfCanvas) FillString(f font.Face, at vg.Point, s string) {
	var b []byte
	for _, r := range s {
		code, _ := cp1252(r)
		b = append(b, code)
	}
	c.Canvas.FillString(f, at, string(b))
}

// inPDF tells whether a character can be written into a PDF.
func inPDF(r rune) bool {
	_, ok := cp1252(r)
	return ok
}

// cp1252 encodes one character, see
// https://www.unicode.org/Public/MAPPINGS/VENDORS/MICSFT/WINDOWS/CP1252.TXT.
func cp1252(r rune) (byte, bool) {
	if r == '−' { // which has no minus: the en dash is hardly narrower
		r = '–'
	}
	if r >= 0x20 && r < 0x7f || r >= 0xa0 && r <= 0xff {
		return byte(r), true
	}
	// 0x80 to 0x9f; a space where the code page has no character
	for i, h := range []rune("€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ") {
		if h == r {
			return byte(0x80 + i), true
		}
	}
	return '?', false
}

// stamps are the two dates that make every file another one.
var stamps = regexp.MustCompile(`/(CreationDate|ModDate) \(D:\d{14}\)`)

func (p page) writePDF(w io.Writer, th theme) error {
	c := pdfCanvas{vgpdf.New(p.width, p.height())}
	p.draw(draw.New(c), th)
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return err
	}
	// Blanks of the same length keep the offsets of the file's table right.
	_, err := w.Write(stamps.ReplaceAllFunc(buf.Bytes(), func(m []byte) []byte {
		return bytes.Repeat([]byte{' '}, len(m))
	}))
	return err
}
