package plot

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
)

// A batch of many streams is a file of a size that can be sent, and none of its
// gaps is lost: each lies within a shape that is drawn.
func TestManyGaps(t *testing.T) {
	fig, err := ITL(batchOf(64, 512, 80, 0))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(encode(t, fig, SVG)); n > 1_900_000 {
		t.Errorf("the SVG has %d bytes", n)
	}
	panel := fig.Panels[1]
	x := func(v float64) vg.Length { return vg.Length(tracesWidth * panel.X.place(v)) }
	y := func(v float64) vg.Length { return vg.Length(tracesHeight) * vg.Length(panel.Y.place(v)) }
	byRow := map[int][][2]vg.Point{} // the corners left and right of each shape, by a point's height
	path := gapMarks{panel, light()}.dots(x, y)
	var left, right vg.Point
	for _, c := range path {
		switch {
		case c.Type == vg.MoveComp:
			left, right = c.Pos, c.Pos
		case c.Type == vg.CloseComp:
			byRow[int(left.Y)] = append(byRow[int(left.Y)], [2]vg.Point{left, right})
		case c.Pos.X > right.X:
			right = c.Pos
		}
	}
	for _, d := range panel.Dots {
		at := vg.Point{X: x(d.T), Y: y(d.V)}
		drawn := d.Stall
		for row := int(at.Y) - 1; row <= int(at.Y)+1 && !drawn; row++ {
			drawn = slices.ContainsFunc(byRow[row], func(s [2]vg.Point) bool {
				return s[0].X <= at.X+gapCell && at.X <= s[1].X+gapCell && math.Abs(float64(s[0].Y-at.Y)) <= gapDot
			})
		}
		if !drawn {
			t.Fatalf("the gap of %v ms at %v s is not in the picture", d.V, d.T)
		}
	}
}
