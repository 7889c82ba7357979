package plot

import (
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
)

func TestLatencyLanes(t *testing.T) {
	fig, err := Latency(matrixOf(servers()[:2], []int64{512, 128}, []int64{1}, 12), Options{})
	if err != nil {
		t.Fatal(err)
	}
	left, right := fig.Panels[0], fig.Panels[1]
	if left.X.Label != "Time (ms)" || right.X.Label != "Gap between tokens (ms)" {
		t.Errorf("axes %q and %q", left.X.Label, right.X.Label)
	}
	if got := labels(left.Y.Ticks); got != "pp 128 pp 512" || right.Y.Ticks != nil {
		t.Errorf("lanes %q and %v, want them named on the left alone", got, right.Y.Ticks)
	}
	if got := strings.Join(fig.Legend, "|"); got != "llama.cpp · Q4_K_M|mlx_lm · 4bit" {
		t.Errorf("legend %q", got)
	}
	// lanes from top to bottom: at each length the engines in order
	a, b := left.Series[0].Points, left.Series[1].Points
	order := []float64{0, a[0].X, b[0].X, left.Edges[0], a[1].X, b[1].X, left.Y.Max}
	if !slices.IsSorted(order) || len(left.Edges) != 1 {
		t.Errorf("places %v are not in order", order)
	}
}

// By one key, all the others stand at the lanes.
func TestLatencyBy(t *testing.T) {
	fig, err := Latency(matrixOf(servers()[:2], []int64{512, 128}, []int64{1}, 3), Options{By: []string{"pp"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := labels(fig.Panels[0].Y.Ticks); got != "llama.cpp · Q4_K_M mlx_lm · 4bit" {
		t.Errorf("lanes %q", got)
	}
	if !slices.Equal(fig.Legend, []string{"pp 128", "pp 512"}) {
		t.Errorf("legend %q", fig.Legend)
	}
}

func TestLatencyAxes(t *testing.T) {
	narrow := matrixOf(servers()[:1], []int64{512}, []int64{1}, 6)
	wide := matrixOf(servers()[:1], []int64{128, 16384}, []int64{1}, 6)
	client := slices.Clone(narrow)
	client[0].Stats = map[string]analyze.Stat{"ttft_client_ms": stat([]float64{5, 6})}
	tests := []struct {
		name  string
		rows  []analyze.Summary
		opt   Options
		label string
		log   bool
	}{
		{"linear", narrow, Options{}, "Time (ms)", false},
		{"wide", wide, Options{}, "Time (ms), log scale", true},
		{"wide, linear on request", wide, Options{Log: "none"}, "Time (ms)", false},
		{"log on request", narrow, Options{Log: "x"}, "Time (ms), log scale", true},
		{"the client's clock where there is no other", client, Options{}, "Time (ms)", false},
	}
	for _, tt := range tests {
		fig, err := Latency(tt.rows, tt.opt)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if x := fig.Panels[0].X; x.Label != tt.label || x.Log != tt.log || !x.Log && x.Min != 0 {
			t.Errorf("%s: axis %q from %v, log %v", tt.name, x.Label, x.Min, x.Log)
		}
	}
}

func TestBoxNoteFromTenBatches(t *testing.T) {
	for n, want := range map[int]bool{9: false, 10: true} {
		fig, err := Latency(matrixOf(servers()[:1], []int64{512}, []int64{1}, n), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(fig.Notes[0], "box"); got != want {
			t.Errorf("%d batches: %q", n, fig.Notes[0])
		}
	}
}

// The values are numpy's: numpy.percentile(v, [25, 75]).
func TestQuartiles(t *testing.T) {
	tests := []struct {
		values []float64
		lo, hi float64
	}{
		{[]float64{3}, 3, 3},
		{[]float64{4, 1, 3, 2}, 1.75, 3.25},
		{[]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, 5, 112},
	}
	for _, tt := range tests {
		if lo, hi := quartiles(tt.values); lo != tt.lo || hi != tt.hi {
			t.Errorf("quartiles of %v: %v and %v, want %v and %v", tt.values, lo, hi, tt.lo, tt.hi)
		}
	}
}

// Far quantiles are the summary's, in range and explained; rates have none.
func TestTails(t *testing.T) {
	rows := withTails(matrixOf(servers()[:1], []int64{512}, []int64{1}, 6))
	fig, err := Latency(rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, p := rows[0].Stats["ttft_ms"], fig.Panels[0]
	if got := p.Series[0].Points[0].Tails; !slices.Equal(got, []Tail{{90, *st.P90}, {99, *st.P99}}) || p.X.Max < *st.P99 {
		t.Errorf("tails %v on an axis to %v", got, p.X.Max)
	}
	if !strings.Contains(fig.Notes[0], "hollow circle, from 10 requests on: the 90th percentile (p90) of the requests; hollow diamond, from 100 on: the 99th.") {
		t.Errorf("notes %q", fig.Notes)
	}
	fig, err = Scaling(rows, Options{X: "pp", Y: []string{"ttft_ms"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fig.Panels[0].Series[0].Points[0].Tails; got != nil {
		t.Errorf("a curve has tails %v", got)
	}
}
