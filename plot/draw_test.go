package plot

import (
	"image"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// tracer is a canvas that keeps where text and ink go.
type tracer struct {
	at    [][6]float64 // stack of affine maps a b c d e f: x' = a·x + c·y + e, y' = b·x + d·y + f
	width vg.Length    // of the line
	ink   vg.Rectangle
	texts []placed
}

type placed struct {
	text string
	size vg.Length
	box  vg.Rectangle
}

func newTracer() *tracer {
	return &tracer{at: [][6]float64{{1, 0, 0, 1, 0, 0}},
		ink: vg.Rectangle{Min: vg.Point{X: math.MaxFloat64, Y: math.MaxFloat64}, Max: vg.Point{X: -math.MaxFloat64, Y: -math.MaxFloat64}}}
}

func (t *tracer) SetLineWidth(w vg.Length)            { t.width = w }
func (t *tracer) SetLineDash([]vg.Length, vg.Length)  {}
func (t *tracer) SetColor(color.Color)                {}
func (t *tracer) DrawImage(vg.Rectangle, image.Image) {}
func (t *tracer) Push()                               { t.at = append(t.at, t.at[len(t.at)-1]) }
func (t *tracer) Pop()                                { t.at = t.at[:len(t.at)-1] }
func (t *tracer) Scale(x, y float64)                  { t.apply([6]float64{x, 0, 0, y, 0, 0}) }
func (t *tracer) Translate(p vg.Point)                { t.apply([6]float64{1, 0, 0, 1, float64(p.X), float64(p.Y)}) }
func (t *tracer) Stroke(p vg.Path)                    { t.cover(p, t.width/2) }
func (t *tracer) Fill(p vg.Path)                      { t.cover(p, 0) }
func (t *tracer) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	t.apply([6]float64{cos, sin, -sin, cos, 0, 0})
}

func (t *tracer) apply(m [6]float64) {
	o := t.at[len(t.at)-1]
	t.at[len(t.at)-1] = [6]float64{
		o[0]*m[0] + o[2]*m[1], o[1]*m[0] + o[3]*m[1],
		o[0]*m[2] + o[2]*m[3], o[1]*m[2] + o[3]*m[3],
		o[0]*m[4] + o[2]*m[5] + o[4], o[1]*m[4] + o[3]*m[5] + o[5],
	}
}

func (t *tracer) point(p vg.Point) vg.Point {
	m := t.at[len(t.at)-1]
	x, y := float64(p.X), float64(p.Y)
	return vg.Point{X: vg.Length(m[0]*x + m[2]*y + m[4]), Y: vg.Length(m[1]*x + m[3]*y + m[5])}
}

func around(r vg.Rectangle, p vg.Point, by vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: min(r.Min.X, p.X-by), Y: min(r.Min.Y, p.Y-by)},
		Max: vg.Point{X: max(r.Max.X, p.X+by), Y: max(r.Max.Y, p.Y+by)}}
}

func (t *tracer) cover(p vg.Path, by vg.Length) {
	for _, comp := range p {
		if comp.Type != vg.CloseComp {
			t.ink = around(t.ink, t.point(comp.Pos), by)
		}
	}
}

func (t *tracer) FillString(f font.Face, at vg.Point, s string) {
	w, _, _ := textHandler().Box(s, f.Font)
	up := 0.72 * f.Font.Size // of capitals
	p := t.point(at)
	box := vg.Rectangle{Min: p, Max: p}
	for _, corner := range []vg.Point{{X: w}, {Y: up}, {X: w, Y: up}} {
		box = around(box, t.point(at.Add(corner)), 0)
	}
	t.texts = append(t.texts, placed{s, f.Font.Size, box})
	t.ink = around(around(t.ink, box.Min, 0), box.Max, 0)
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

// leastText is the smallest text that journals print, in points: the page has the
// size in which it is printed.
const leastText = 6

// No text lies on another or is too small to read, nothing is nearer to the edge than half the margin,
// whatever the picture.
func TestNothingOverlapsOrIsCut(t *testing.T) {
	for _, pic := range gallery() {
		fig, err := pic.build()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*Figure{fig.spelled(inFont), fig.spelled(inPDF), fig.spelled(anywhere)} {
			p, tr := f.layout(light()), newTracer()
			c := draw.NewCanvas(tr, p.width, p.height())
			p.drawStrips(c)
			if lo, hi := tr.ink.Min, tr.ink.Max; lo.X < margin/2 || lo.Y < margin/2 || hi.X > p.width-margin/2 || hi.Y > p.height()-margin/2 {
				t.Errorf("%s: ink from %.1f to %.1f on a page of %.1f × %.1f", pic.name, lo, hi, p.width, p.height())
			}
			for i, a := range tr.texts {
				if a.size < leastText {
					t.Errorf("%s: %q is of %v points", pic.name, a.text, a.size)
				}
				for _, b := range tr.texts[:i] {
					if overlap(a.box, b.box) {
						t.Errorf("%s: %q lies on %q", pic.name, a.text, b.text)
					}
				}
			}
		}
	}
}

// No name of an upright axis is longer than the axis, whatever the picture.
func TestAxesHoldTheirNames(t *testing.T) {
	for _, pic := range gallery() {
		fig, err := pic.build()
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range panelHeights(fig.Panels, fig.columns()) {
			p := fig.Panels[i*fig.columns()]
			if w := textStyle(labelSize, nil).Width(p.Y.Label); w > h-tickRoom {
				t.Errorf("%s: %q takes %.0f of %.0f points", pic.name, p.Y.Label, w, h-tickRoom)
			}
		}
	}
}

// Names of upright axes below each other stand in one line.
func TestNamesOfAxesAlign(t *testing.T) {
	for _, name := range []string{"itl_streams", "history_two_metrics"} {
		fig, err := gallery()[slices.IndexFunc(gallery(), func(p picture) bool { return p.name == name })].build()
		if err != nil {
			t.Fatal(err)
		}
		p, tr := fig.layout(light()), newTracer()
		p.drawStrips(draw.NewCanvas(tr, p.width, p.height()))
		var at []vg.Length
		for _, panel := range fig.Panels {
			i := slices.IndexFunc(tr.texts, func(t placed) bool {
				return t.text == panel.Y.Label && t.box.Max.Y-t.box.Min.Y > t.box.Max.X-t.box.Min.X
			})
			at = append(at, tr.texts[i].box.Min.X)
		}
		if len(at) != 2 || math.Abs(float64(at[0]-at[1])) > 0.01 {
			t.Errorf("%s: at %v", name, at)
		}
	}
}

// The guard above would see it.
func TestTracerSeesOverlap(t *testing.T) {
	tr := newTracer()
	c := draw.NewCanvas(tr, 100, 100)
	sty := textStyle(tickSize, nil)
	sty.Rotation = math.Pi / 2
	c.FillText(sty, vg.Point{X: 40, Y: 20}, "upright")
	c.FillText(textStyle(tickSize, nil), vg.Point{X: 30, Y: 40}, "level")
	if !overlap(tr.texts[0].box, tr.texts[1].box) {
		t.Errorf("crossing texts at %v and %v count as apart", tr.texts[0].box, tr.texts[1].box)
	}
}

// Of many batches few are drawn, the extremes always, and a footnote says so.
func TestDotted(t *testing.T) {
	for _, n := range []int{0, 1, mostDots, mostDots + 1, 1000, 12_345} {
		raw := make([]float64, n)
		for i := range raw {
			raw[i] = float64((i*7919)%n) + 1
		}
		got := dotted(raw)
		if len(got) > mostDots+1 || n <= mostDots && len(got) != n {
			t.Errorf("%d of %d batches", len(got), n)
		}
		if n > 0 && (slices.Min(got) != 1 || slices.Max(got) != float64(n)) {
			t.Errorf("%d batches: from %v to %v", n, slices.Min(got), slices.Max(got))
		}
	}
	for batches, want := range map[int]bool{mostDots: false, mostDots + 1: true} {
		fig, err := Latency(matrixOf(servers()[:1], []int64{128, 512}, []int64{1}, batches), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(fig.Notes[0], "one in up to 2 in order of size"); got != want {
			t.Errorf("%d batches: %q", batches, fig.Notes[0])
		}
	}
}

func TestStylesAreDistinct(t *testing.T) {
	type look struct {
		color color.NRGBA
		dash  int
		glyph int
	}
	seen := map[look]int{}
	for i := range maxSeries {
		l := look{light().color(i), i % 4, i % 6}
		if j, ok := seen[l]; ok {
			t.Errorf("series %d and %d look the same", i, j)
		}
		seen[l] = i
		for j := range i {
			if light().color(i) == light().color(j) && (i%4 == j%4 || i%6 == j%6) {
				t.Errorf("series %d and %d share the colour and the dash or the glyph", i, j)
			}
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	fig, err := Scaling(matrixOf(servers(), []int64{128, 512, 2048, 8192}, []int64{1}, 6), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, format := range []Format{PNG, SVG, PDF} {
		b.Run(string(format), func(b *testing.B) {
			for b.Loop() {
				if err := fig.Write(io.Discard, format); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// placesOf are the places of a panel's marks on an area of 150 by 150 points.
func placesOf(p Panel) [][]vg.Point {
	on := func(a Axis) func(float64) vg.Length {
		return func(v float64) vg.Length { return vg.Length(150 * a.place(v)) }
	}
	return places(p, on(p.X), on(p.Y))
}
