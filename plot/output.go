package plot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// dpi is the resolution of PNG files.
const dpi = 200

// Format is a kind of file.
type Format string

// The formats.
const (
	PNG Format = "png"
	SVG Format = "svg"
	PDF Format = "pdf"
)

// FormatOf tells the format by a file name's extension.
func FormatOf(name string) (Format, error) {
	switch f := Format(strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))); f {
	case PNG, SVG, PDF:
		return f, nil
	}
	return "", fmt.Errorf("a figure cannot be written to %q: name it .png, .svg or .pdf", name)
}

// Write encodes the figure: PNG at 200 dpi, SVG with its font inside, or PDF.
// Its errors are the writer's.
func (f *Figure) Write(w io.Writer, format Format) error {
	switch format {
	case PNG:
		f = f.spelled(inFont)
	case PDF:
		f = f.spelled(inPDF)
	case SVG:
		f = f.spelled(anywhere)
	}
	th := f.Theme.colors()
	p := f.layout(th)
	var err error
	switch format {
	case SVG:
		err = p.writeSVG(w, th)
	case PDF:
		err = p.writePDF(w, th)
	case PNG:
		err = p.writePNG(w, th)
	default:
		err = fmt.Errorf("there is no figure format %q: take png, svg or pdf", format)
	}
	return err
}

func (p page) writePNG(w io.Writer, th theme) error {
	c := vgimg.NewWith(vgimg.UseWH(p.width, p.height()), vgimg.UseDPI(dpi))
	p.draw(draw.New(c), th)
	var buf bytes.Buffer
	if err := png.Encode(&buf, paletted(c.Image())); err != nil {
		return err
	}
	_, err := w.Write(withResolution(buf.Bytes()))
	return err
}

// withResolution adds the pHYs chunk, which the encoder leaves out, behind the
// header (8 bytes of signature, 25 of IHDR): without it a page shows the
// picture at 72 or 96 dpi, twice as large as it was laid out.
func withResolution(file []byte) []byte {
	const header = 8 + 25
	perMeter := uint32(math.Round(dpi / 0.0254))
	chunk := binary.BigEndian.AppendUint32(nil, 9)
	chunk = append(chunk, "pHYs"...)
	chunk = binary.BigEndian.AppendUint32(chunk, perMeter)
	chunk = binary.BigEndian.AppendUint32(chunk, perMeter)
	chunk = append(chunk, 1) // the unit is the metre
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return bytes.Join([][]byte{file[:header], chunk, file[header:]}, nil)
}
