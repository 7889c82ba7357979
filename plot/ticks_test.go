package plot

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFromZero(t *testing.T) {
	for max, want := range map[float64]string{
		0:       "0 0.2 0.4 0.6 0.8 1.0",
		0.00037: "0 0.0001 0.0002 0.0003 0.0004",
		0.68:    "0 0.2 0.4 0.6 0.8",
		1:       "0 0.2 0.4 0.6 0.8 1.0",
		9.9:     "0 2 4 6 8 10",
		12:      "0 2 4 6 8 10 12",
		71:      "0 20 40 60 80",
		240:     "0 50 100 150 200 250",
		1350:    "0 500 1,000 1,500",
		1.9e6:   "0 500,000 1,000,000 1,500,000 2,000,000",
		4e9:     "0 1e9 2e9 3e9 4e9",
		3.2e-7:  "0 1e-7 2e-7 3e-7 4e-7",
	} {
		ticks, top := fromZero(max)
		if got := labels(ticks); got != want || top < max || top != ticks[len(ticks)-1].Value {
			t.Errorf("up to %v: %q to %v, want %q", max, got, top, want)
		}
	}
}

func TestDecades(t *testing.T) {
	tests := []struct {
		min, max float64
		want     string // labels, without minor ticks
	}{
		{40, 1500, "20 50 100 200 500 1,000 2,000"},
		{120, 150, "100 200"},
		{100, 100, "50 100 200"},
		{22, 47, "20 30 40 50"},
		{0.3, 5200, "1 10 100 1,000 10,000"},
		{0.00015, 71, "0.0001 0.001 0.01 0.1 1 10 100"},
	}
	for _, tt := range tests {
		ticks, lo, hi := decades(tt.min, tt.max)
		if got := strings.Join(strings.Fields(labels(ticks)), " "); got != tt.want || lo > tt.min || hi < tt.max || lo >= hi {
			t.Errorf("%v to %v: %q from %v to %v, want %q", tt.min, tt.max, got, lo, hi, tt.want)
		}
	}
}

func TestAtValues(t *testing.T) {
	tests := []struct {
		values []float64
		want   string
		kibi   bool
	}{
		{[]float64{1, 2, 4, 8, 16, 32}, "1 2 4 8 16 32", false},
		{[]float64{128, 512, 4096}, "128 512 4k", true},
		{[]float64{512, 3072, 131072}, "512 3k 128k", true},
		{[]float64{512, 1000, 2048}, "512 1,000 2,048", false},
		{[]float64{1000, 10000}, "1,000 10,000", false},
	}
	for _, tt := range tests {
		ticks, kibi := atValues(tt.values)
		if got := labels(ticks); got != tt.want || kibi != tt.kibi {
			t.Errorf("%v: %q, %v; want %q, %v", tt.values, got, kibi, tt.want, tt.kibi)
		}
	}
}

func TestManyValues(t *testing.T) {
	if got := labels(doublings(100, 3000)); got != "128 256 512 1,024 2,048" {
		t.Errorf("doublings %q", got)
	}
	if got := labels(between(3, 31)); got != "10 20 30" {
		t.Errorf("between %q", got)
	}
}

// Labels that are kept do not touch; of even ticks every second or third is.
func TestThin(t *testing.T) {
	width := func(s string) float64 { return 4 * float64(len(s)) }
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		var ticks []Tick
		v := 0.0
		for range 1 + r.IntN(30) {
			v += 30 * r.Float64()
			ticks = append(ticks, Tick{v, decimal(v*100, 1)})
		}
		place := func(v float64) float64 { return v }
		edge, kept := math.Inf(-1), 0
		for _, k := range thin(ticks, place, width, 5) {
			if k.Label == "" {
				continue
			}
			if k.Value-width(k.Label)/2 < edge+5 {
				t.Fatalf("seed %d: %q touches the label before", seed, k.Label)
			}
			edge, kept = k.Value+width(k.Label)/2, kept+1
		}
		if kept == 0 {
			t.Fatalf("seed %d: no label is left", seed)
		}
	}
	logs, lo, hi := decades(800, 25000)
	onLog := func(v float64) float64 { return 150 * math.Log(v/lo) / math.Log(hi/lo) }
	if got := strings.Join(strings.Fields(labels(thin(logs, onLog, width, 5))), " "); got != "1,000 10,000" {
		t.Errorf("crowded decades thinned to %q", got)
	}
	even, _ := atValues([]float64{128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768})
	thinned := thin(even, func(v float64) float64 { return 14 * math.Log2(v) }, width, 5)
	if got := strings.Join(strings.Fields(labels(thinned)), " "); got != "128 512 2k 8k 32k" {
		t.Errorf("even ticks thinned to %q", got)
	}
}

// Powers of ten that would touch are left out evenly, as are doublings.
func TestThinEvenly(t *testing.T) {
	ticks, lo, hi := decades(0.009, 130_000)
	place := func(v float64) float64 { return 150 * math.Log(v/lo) / math.Log(hi/lo) }
	width := func(s string) float64 { return 4.5 * float64(len(s)) }
	var at []float64
	for _, tick := range thin(ticks, place, width, 5) {
		if tick.Label != "" {
			at = append(at, math.Round(math.Log10(tick.Value)))
		}
	}
	if len(at) < 3 {
		t.Fatalf("labels at %v", at)
	}
	for i := 2; i < len(at); i++ {
		if at[i]-at[i-1] != at[1]-at[0] {
			t.Errorf("labels at ten to the %v", at)
		}
	}
}
