package plot

import (
	"math"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
)

func segmentsAt(starts ...time.Duration) []analyze.PowerSegment {
	var list []analyze.PowerSegment
	for i, s := range starts {
		list = append(list, analyze.PowerSegment{Segment: int64(i + 1), StartedAt: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC).Add(s)})
	}
	return list
}

func TestClock(t *testing.T) {
	used := map[int64]stretch{1: {0, 100}, 2: {0, 100}}
	for _, c := range []struct {
		name   string
		second time.Duration
		at     float64 // of the second segment's origin
		cuts   int
	}{
		{"soon after", 110 * time.Second, 110, 0},
		{"hours later", 5 * time.Hour, 106, 1},
		{"after the wall clock was set back", -time.Hour, 106, 0},
	} {
		k := newClock(segmentsAt(0, c.second), used)
		if got := k.at(2, 0); math.Abs(got-c.at) > 1e-9 || len(k.cuts) != c.cuts {
			t.Errorf("%s: the second segment begins at %v with %d cuts, want %v and %d", c.name, got, len(k.cuts), c.at, c.cuts)
		}
		if got := k.at(1, 3*second); got != 3 {
			t.Errorf("%s: 3 s of the first are at %v", c.name, got)
		}
		if n := k.note(); (c.cuts > 0) != strings.Contains(n, "5.0 h") {
			t.Errorf("%s: %q", c.name, n)
		}
	}
}

func TestTimeAxis(t *testing.T) {
	for _, c := range []struct {
		window stretch
		unit   string
		labels string
	}{
		{stretch{0, 0.4}, "(s)", "0 0.05 0.10 0.15 0.20 0.25 0.30 0.35 0.40"},
		{stretch{2.2, 71}, "(s)", "10 20 30 40 50 60 70"},
		{stretch{-9, 1200}, "(min)", "0 5 10 15 20"},
		{stretch{0, 6 * 3600}, "(h)", "0 1 2 3 4 5 6"},
		{stretch{0, 40 * 24 * 3600}, "(h)", "0 168 336 504 672 840"},
		{stretch{-30, 20}, "(s)", "−30 −20 −10 0 10 20"},
	} {
		a := timeAxis(c.window)
		if got := labels(a.Ticks); got != c.labels || !strings.HasSuffix(a.Label, c.unit) {
			t.Errorf("%v: %q in %q, want %q in %s", c.window, got, a.Label, c.labels, c.unit)
		}
		for _, k := range a.Ticks {
			if k.Value < a.Min || k.Value > a.Max*(1+1e-9) {
				t.Errorf("%v: a tick at %v", c.window, k.Value)
			}
		}
	}
}
