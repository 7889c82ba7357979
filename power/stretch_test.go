package power

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func readingsAt(start func(int) *int64, step int64, values ...float64) []Reading {
	var out []Reading
	for i, v := range values {
		out = append(out, Reading{StartNS: start(i), EndNS: int64(i+1) * step, Value: v})
	}
	return out
}

func TestStretches(t *testing.T) {
	const s = 1_000_000_000
	none := func(int) *int64 { return nil }
	since := func(i int) *int64 { return new(int64(i) * s) }
	holed := readingsAt(none, s, 5, 6, 6, 7)
	holed[3].EndNS = 20 * s
	for _, tt := range []struct {
		name     string
		kind     Kind
		readings []Reading
		want     []Stretch
	}{
		{"none", Counter, nil, nil},
		{"one reading of a counter", Counter, readingsAt(none, s, 5), nil},
		{"a counter", Counter, readingsAt(none, s, 5, 15, 15, 45), []Stretch{{s, 2 * s, 10, 10}, {2 * s, 4 * s, 15, 15}}},
		{"a counter that begins anew", Counter, readingsAt(none, s, 50, 60, 1, 3), []Stretch{{s, 2 * s, 10, 10}, {3 * s, 4 * s, 2, 2}}},
		{"averages", Average, readingsAt(since, s, 5, 6), []Stretch{{0, s, 5, 5}, {s, 2 * s, 6, 6}}},
		{"instants", Instant, readingsAt(none, s, 5, 6), []Stretch{{s, 2 * s, 5, 6}}},
		{"one instant", Instant, readingsAt(none, s, 5), []Stretch{{s, s, 5, 5}}},
		{"an instant behind a hole", Instant, holed, []Stretch{{s, 2 * s, 5, 6}, {2 * s, 3 * s, 6, 6}, {20 * s, 20 * s, 7, 7}}},
	} {
		if got := slices.Collect(NewCurve(tt.kind, CurveOptions{}, tt.readings).Stretches()); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The area under the stretches is the curve's own energy, where it has one.
func TestStretchesHaveTheEnergy(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, seed))
	for range 300 {
		kind := Kind(1 + r.IntN(3))
		var readings []Reading
		at, joules := int64(0), 0.0
		for range 2 + r.IntN(40) {
			from := at
			at += int64(1e8 + r.Float64()*9e8)
			watts := 200 * r.Float64()
			joules += watts * seconds(at-from)
			reading := Reading{EndNS: at, Value: watts}
			switch kind {
			case Counter:
				reading.Value = joules
			case Average:
				reading.StartNS = &from
			}
			readings = append(readings, reading)
		}
		c, area := NewCurve(kind, CurveOptions{}, readings), 0.0
		for s := range c.Stretches() {
			area += (s.FromW + s.ToW) / 2 * seconds(s.ToNS-s.FromNS)
		}
		w := c.Energy(c.t[0], c.t[len(c.t)-1])
		if w.EnergyJ == nil || math.Abs(area-*w.EnergyJ) > 1e-9*area {
			t.Fatalf("seed %d, kind %d: an area of %v J, want %v", seed, kind, area, w.EnergyJ)
		}
	}
}
