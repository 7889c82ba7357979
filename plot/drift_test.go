package plot

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestDrift: batches are in order of time whatever their order was, in the unit
// that suits the session; many become medians of those that follow each other.
func TestDrift(t *testing.T) {
	var batches []DriftBatch
	for i := range 150 { // falls by a tenth over ten minutes
		batches = append([]DriftBatch{{"a", float64(i) * 4, 105 - float64(i)/15}}, batches...)
	}
	batches = append(batches, DriftBatch{"b", 600, 100}, DriftBatch{"b", 604, 101})
	f, err := Drift("generation rate", batches)
	if err != nil {
		t.Fatal(err)
	}
	p := f.Panels[0]
	a := p.Series[0].Points
	if len(p.Series) != 2 || len(f.Legend) != 2 || len(a) != 50 || a[0].N != 3 || len(p.Series[1].Points) != 2 {
		t.Fatalf("%d series, %d marks of %d batches", len(p.Series), len(a), a[0].N)
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	if !near(a[0].X, 4.0/60) || !near(a[0].Median, 105-1.0/15) || !near(a[49].Median, 105-148.0/15) {
		t.Errorf("first %+v, last %+v", a[0], a[49])
	}
	for _, s := range p.Series {
		for i, pt := range s.Points {
			if pt.X < p.X.Min || pt.X > p.X.Max || pt.Median < p.Y.Min || pt.Median > p.Y.Max || i > 0 && pt.X <= s.Points[i-1].X {
				t.Errorf("%+v is outside of the panel, or not in order", pt)
			}
		}
	}
	if !strings.Contains(p.X.Label, "(min)") || !strings.Contains(fmt.Sprint(f.Notes), "median of up to 3 batches") {
		t.Errorf("%s: %s", p.X.Label, f.Notes)
	}
	var b bytes.Buffer
	if err := f.Write(&b, PNG); err != nil {
		t.Error(err)
	}
}

func TestDriftRefuses(t *testing.T) {
	for _, c := range []struct {
		batches []DriftBatch
		want    string
	}{
		{nil, "needs two batches"},
		{[]DriftBatch{{"a", 1, 100}}, "needs two batches"},
		{[]DriftBatch{{"a", 1, 100}, {"a", 2, math.NaN()}}, "not finite"},
	} {
		if _, err := Drift("rate", c.batches); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.batches, err, c.want)
		}
	}
	f, err := Drift("rate", []DriftBatch{{"a", 0, 100}, {"a", 0, 100}}) // all alike
	if err != nil || f.Panels[0].Y.Min >= 100 || f.Panels[0].Y.Max <= 100 || f.Panels[0].X.Max <= 0 {
		t.Errorf("%v: %+v", err, f)
	}
}
