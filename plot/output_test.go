package plot

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func oneFigure(t *testing.T) *Figure {
	t.Helper()
	fig, err := Scaling(matrixOf(servers()[:2], []int64{128, 512}, []int64{1}, 6), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return fig
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{"a.png": PNG, "b/c.SVG": SVG, "x.y.pdf": PDF, "a.jpg": "", "png": ""} {
		got, err := FormatOf(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A PDF carries no date, and its table of objects still points at them.
func TestPDFWithoutDate(t *testing.T) {
	data := encode(t, oneFigure(t), PDF)
	if bytes.Contains(data, []byte("Date")) {
		t.Error("the file carries a date")
	}
	m := regexp.MustCompile(`startxref\n(\d+)`).FindSubmatch(data)
	at, err := strconv.Atoi(string(m[1]))
	if err != nil || !bytes.HasPrefix(data[at:], []byte("xref\n")) {
		t.Errorf("startxref points to %q", data[at:at+10])
	}
	entries := regexp.MustCompile(`(?m)^(\d{10}) 00000 n`).FindAllSubmatch(data, -1)
	for i, e := range entries {
		at, _ := strconv.Atoi(string(e[1]))
		if want := strconv.Itoa(i+1) + " 0 obj"; !bytes.HasPrefix(data[at:], []byte(want)) {
			t.Errorf("object %d is not at its place, which has %q", i+1, data[at:at+10])
		}
	}
}

// The SVG has its text as text, in a font that it brings along.
func TestSVGBringsItsFont(t *testing.T) {
	svg := string(encode(t, oneFigure(t), SVG))
	if strings.Count(svg, `@font-face`) != 1 || !strings.Contains(svg, `font-family:"Liberation Sans"`) || !strings.Contains(svg, "base64,AAEAAA") {
		t.Error("the font is not in the file")
	}
	if n := strings.Count(svg, "<text "); n == 0 || n != strings.Count(svg, "font-family:Liberation Sans"+standIns) {
		t.Error("some text has no font where the file's is not loaded")
	}
	for _, want := range []string{">Prefill rate of a request<", ">llama.cpp · Q4_K_M<", ">Prefill rate (tok/s)<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no text %s", want)
		}
	}
}

// A page that ends within a pixel is dark to its edge on a dark theme.
func TestDarkToTheEdge(t *testing.T) {
	rows := matrixOf(servers()[:3], []int64{128, 512, 2048}, []int64{1}, 6)
	for n := 1; n <= len(rows); n++ { // pages of various heights
		fig, err := Latency(rows[:n], Options{})
		if err != nil {
			t.Fatal(err)
		}
		fig.Theme = Dark
		img, err := png.Decode(bytes.NewReader(encode(t, fig, PNG)))
		if err != nil {
			t.Fatal(err)
		}
		want, b := color.NRGBAModel.Convert(dark().background), img.Bounds()
		for _, at := range []image.Point{b.Min, b.Max.Sub(image.Pt(1, 1)), {b.Dx() / 2, 0}, {b.Dx() - 1, b.Dy() / 2}} {
			if got := color.NRGBAModel.Convert(img.At(at.X, at.Y)); got != want {
				t.Errorf("%d cases, %d × %d: %v at %v", n, b.Dx(), b.Dy(), got, at)
			}
		}
	}
}

type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	for _, format := range []Format{PNG, SVG, PDF} {
		if err := oneFigure(t).Write(full{}, format); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", format, err)
		}
	}
	if err := oneFigure(t).Write(io.Discard, "gif"); err == nil || !strings.Contains(err.Error(), `"gif"`) {
		t.Errorf("gif: %v", err)
	}
}
