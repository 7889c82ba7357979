package plot

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/power"
)

var always = clock{offset: map[int64]float64{}}

// traceOf is the trace of readings a second apart.
func traceOf(t *testing.T, metric string, average bool, values ...float64) analyze.PowerTrace {
	t.Helper()
	var list []analyze.PowerReading
	for i, v := range values {
		r := analyze.PowerReading{EndNS: int64(i+1) * second, Value: v}
		if average {
			r.StartNS = new(int64(i) * second)
		}
		list = append(list, r)
	}
	return *analyze.NewPowerTrace(analyze.PowerTrace{Scope: "gpu"}, metric, list)
}

func TestLines(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name  string
		trace analyze.PowerTrace
		want  [][]Vertex
	}{
		{"nothing", analyze.PowerTrace{}, nil},
		{"a counter, as power between readings", traceOf(t, "energy", false, 100, 110, 140),
			[][]Vertex{{{1, 10}, {2, 10}, {2, 30}, {3, 30}}}},
		{"averages", traceOf(t, "power", true, 5, 7), [][]Vertex{{{0, 5}, {1, 5}, {1, 7}, {2, 7}}}},
		{"instants", traceOf(t, "power", false, 5, 7, 6), [][]Vertex{{{1, 5}, {2, 7}, {3, 6}}}},
		{"one instant", traceOf(t, "power", false, 5), [][]Vertex{{{1, 5}}}},
		{"a gap", traceOf(t, "power", false, 5, 7, nan, nan, nan, nan, 6, 8), [][]Vertex{{{1, 5}, {2, 7}}, {{7, 6}, {8, 8}}}},
		{"a counter that begins anew", traceOf(t, "energy", false, 100, 110, 5, 25), [][]Vertex{{{1, 10}, {2, 10}}, {{3, 20}, {4, 20}}}},
	} {
		if got := linesOf(c.trace, always, stretch{-100, 100}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestLinesEndAtTheWindow(t *testing.T) {
	tr := traceOf(t, "power", false, 0, 10, 20, 30)
	for _, c := range []struct {
		window stretch
		want   [][]Vertex
	}{
		{stretch{1.5, 3.5}, [][]Vertex{{{1.5, 5}, {2, 10}, {3, 20}, {3.5, 25}}}},
		{stretch{2.25, 2.75}, [][]Vertex{{{2.25, 12.5}, {2.75, 17.5}}}},
		{stretch{2, 3}, [][]Vertex{{{2, 10}, {3, 20}}}},
		{stretch{5, 6}, nil},
	} {
		if got := linesOf(tr, always, c.window); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, want %v", c.window, got, c.want)
		}
	}
}

// Of a long trace nothing is lost: every value is inside the columns, both
// extremes are reached, the area stays, and a gap stays a gap.
func TestColumnsAreHonest(t *testing.T) {
	const seed, n = 4, 100_000
	r := rand.New(rand.NewPCG(seed, seed))
	tr := analyze.PowerTrace{}
	area, lowest, highest := 0.0, math.Inf(1), 0.0
	at := int64(0)
	for i := range n {
		from := at
		at += int64(r.ExpFloat64() * second)
		if i == n/2 {
			from = at + 4000*second // a hole of some columns
			at = from + second
		}
		watts := 50 + 20*r.NormFloat64()*math.Abs(r.NormFloat64())
		if i == 777 {
			watts = 900 // one reading among many
		}
		watts = math.Max(watts, 0)
		tr.Stretches = append(tr.Stretches, power.Stretch{FromNS: from, ToNS: at, FromW: watts, ToW: watts})
		area += watts * float64(at-from) / 1e9
		lowest, highest = math.Min(lowest, watts), math.Max(highest, watts)
	}
	window := stretch{0, float64(at) / 1e9}
	got := drawTrace([]analyze.PowerTrace{tr}, always, window)
	if got.Lines != nil || len(got.Columns) != 2 || len(got.Gaps) != 1 {
		t.Fatalf("seed %d: %d lines, %d runs of columns and %d gaps, want columns alone, interrupted once", seed, len(got.Lines), len(got.Columns), len(got.Gaps))
	}
	columns := slices.Concat(got.Columns...)
	if len(columns) > traceColumns {
		t.Errorf("%d columns", len(columns))
	}
	drawn, lo, hi := 0.0, math.Inf(1), 0.0
	for i, c := range columns {
		drawn += c.Mean * (c.To - c.From)
		lo, hi = math.Min(lo, c.Lo), math.Max(hi, c.Hi)
		if c.Mean < c.Lo || c.Mean > c.Hi || c.To < c.From || i > 0 && c.From < columns[i-1].To-1e-6 {
			t.Fatalf("seed %d: column %d is %+v after %+v", seed, i, c, columns[max(i-1, 0)])
		}
	}
	if lo != lowest || hi != highest {
		t.Errorf("values from %v to %v, want %v to %v", lo, hi, lowest, highest)
	}
	if math.Abs(drawn-area) > 1e-6*area {
		t.Errorf("an area of %v J, want %v", drawn, area)
	}
	for _, s := range tr.Stretches {
		mid := (float64(s.FromNS) + float64(s.ToNS)) / 2e9
		if !slices.ContainsFunc(columns, func(c Column) bool {
			return c.From-1e-6 <= mid && mid <= c.To+1e-6 && c.Lo <= s.FromW && s.FromW <= c.Hi
		}) {
			t.Fatalf("seed %d: %v W at %v s are in no column", seed, s.FromW, mid)
		}
	}
}

// A trace that has room is drawn as it is.
func TestShortTracesHaveNoColumns(t *testing.T) {
	values := make([]float64, mostVertices+1)
	for i := range values {
		values[i] = float64(i % 7)
	}
	window := stretch{0, float64(len(values)) + 1}
	for n, columns := range map[int]bool{mostPoints: false, mostVertices: false, mostVertices + 1: true} {
		got := drawTrace([]analyze.PowerTrace{traceOf(t, "power", false, values[:n]...)}, always, window)
		if (got.Columns != nil) != columns || (got.Lines != nil) == columns || got.Points != (n <= mostPoints) {
			t.Errorf("%d readings: %d lines, %d runs of columns, points %v", n, len(got.Lines), len(got.Columns), got.Points)
		}
	}
}

func BenchmarkDrawTrace(b *testing.B) {
	g := day(24 * 3600)
	window := stretch{0, 24 * 3600}
	b.ResetTimer()
	for b.Loop() {
		drawTrace(g.Traces[:1], always, window)
	}
	b.ReportMetric(float64(len(g.Traces[0].Stretches)), "stretches")
}

// Traces beside each other carry their shapes, at places of their own and on
// their lines.
func TestShapesOnTraces(t *testing.T) {
	for _, pic := range powerGallery() {
		fig, err := pic.build()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range fig.Panels {
			taken := map[float64]bool{}
			for i, trace := range p.Traces {
				shapes := shapesOn(trace, p.X, i, len(p.Traces))
				if len(shapes) == 0 {
					t.Errorf("%s: %s has no shape", pic.name, trace.Name)
				}
				lo, hi := traceExtent(trace)
				for _, s := range shapes {
					if taken[s.T] || s.V < lo || s.V > hi {
						t.Errorf("%s: %s has a shape at %v, from %v to %v", pic.name, trace.Name, s, lo, hi)
					}
					taken[s.T] = true
				}
			}
		}
	}
	gap := Trace{Lines: [][]Vertex{{{0, 1}, {1, 3}}, {{9, 5}, {10, 5}}}}
	if v, ok := gap.valueAt(0.5); !ok || v != 2 {
		t.Errorf("%v between 1 and 3", v)
	}
	if v, ok := gap.valueAt(5); ok {
		t.Errorf("%v where nothing is known", v)
	}
}

func traceExtent(t Trace) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range t.Lines {
		for _, v := range l {
			lo, hi = math.Min(lo, v.V), math.Max(hi, v.V)
		}
	}
	for _, r := range t.Columns {
		for _, c := range r {
			lo, hi = math.Min(lo, c.Mean), math.Max(hi, c.Mean)
		}
	}
	return lo, hi
}
