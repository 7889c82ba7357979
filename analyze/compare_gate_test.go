package analyze_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tokwatt/analyze"
)

// measured is a session of one case with a number of metrics, n batches of
// each: normal, spread by 2 %, those below worse 15 % slower.
func measuredSet(rnd *rand.Rand, session string, metrics []analyze.Metric, n, worse int) analyze.Selected {
	r := row(session, 1, 1, "")
	r.Stats = map[string]analyze.Stat{}
	for i, m := range metrics {
		middle := 50.0
		if i < worse {
			middle *= 0.85
		}
		points := make([]float64, n)
		for k := range points {
			points[k] = middle * (1 + 0.02*rnd.NormFloat64())
		}
		r.Stats[m.Name] = analyze.Stat{N: int64(n), Points: points}
	}
	return side("", r)
}

// manyMetrics are figures that are better high.
func manyMetrics(n int) []analyze.Metric {
	var out []analyze.Metric
	for i := range n {
		out = append(out, analyze.Metric{Name: fmt.Sprint("m", i), Better: analyze.Higher})
	}
	return out
}

// gated counts the pairs of each verdict.
func gated(t *testing.T, a, b analyze.Selected, metrics []analyze.Metric, limit float64) map[analyze.GateVerdict]int {
	t.Helper()
	set, err := analyze.Compare(a, b, metrics)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[analyze.GateVerdict]int{}
	for _, v := range set.Gate(limit) {
		counts[v]++
	}
	return counts
}

// Of two alike sides with 20 figures of 6 batches each at most 5 % fail, even
// where any change for the worse is too much; a true loss of 15 % is found.
func TestGateBySimulation(t *testing.T) {
	rnd, metrics := rand.New(rand.NewPCG(7, 8)), manyMetrics(20)
	const times = 1000
	for _, limit := range []float64{0, 0.05} {
		alarms, found, open := 0, 0, 0
		for range times {
			alike := gated(t, measuredSet(rnd, "1", metrics, 6, 0), measuredSet(rnd, "2", metrics, 6, 0), metrics, limit)
			if alike[analyze.GateWorse] > 0 {
				alarms++
			}
			open += alike[analyze.GateOpen]
			if gated(t, measuredSet(rnd, "1", metrics, 6, 0), measuredSet(rnd, "2", metrics, 6, 1), metrics, limit)[analyze.GateWorse] > 0 {
				found++
			}
		}
		t.Logf("limit %v: %d false alarms and %d losses found in %d", limit, alarms, found, times)
		if alarms > times/20 || found < times*98/100 || open > 0 {
			t.Errorf("limit %v: %d false alarms, %d losses found, %d open in %d", limit, alarms, found, open, times)
		}
	}
}

// Too few batches for the number of tests can't show a loss: that is open, and
// not passed, but for what the interval clears.
func TestGateOfFewRuns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	for name, c := range map[string]struct {
		metrics, n, worse         int
		limit                     float64
		bad, undecided, fulfilled int
	}{
		"4 batches, 1 test":             {1, 4, 1, 0.05, 1, 0, 0},
		"4 batches, 2 tests":            {2, 4, 1, 0.05, 0, 1, 1},
		"4 batches, none is bad enough": {2, 4, 1, 0.3, 0, 0, 2},
		"3 batches":                     {2, 3, 1, 0.05, 0, 2, 0},
		"6 batches, 23 tests":           {23, 6, 1, 0.08, 1, 0, 22},
		"6 batches, 24 tests":           {24, 6, 1, 0.08, 0, 1, 23},
		"7 batches, 24 tests":           {24, 7, 1, 0.08, 1, 0, 23},
	} {
		metrics := manyMetrics(c.metrics)
		got := gated(t, measuredSet(rnd, "1", metrics, c.n, 0), measuredSet(rnd, "2", metrics, c.n, c.worse), metrics, c.limit)
		if got[analyze.GateWorse] != c.bad || got[analyze.GateOpen] != c.undecided || got[analyze.GatePassed] != c.fulfilled {
			t.Errorf("%s: %v", name, got)
		}
	}
	for tests, want := range map[int]int{0: 4, 1: 4, 2: 5, 6: 5, 7: 6, 23: 6, 24: 7, 85: 7, 86: 8} {
		if got := analyze.GateRuns(tests); got != want {
			t.Errorf("%d tests need %d batches, want %d", tests, got, want)
		}
	}
}

// A loss of 6 % whose interval reaches down to 1 % is not one of more than 5 %.
func TestGateWantsTheWholeInterval(t *testing.T) {
	a, b := row("1", 1, 1, ""), row("2", 1, 1, "")
	a.Stats["generation_tps"] = analyze.Stat{N: 6, Points: []float64{100, 101, 102, 103, 104, 105}}
	b.Stats["generation_tps"] = analyze.Stat{N: 6, Points: []float64{90, 92, 95, 98, 99, 99.5}}
	for limit, want := range map[float64]analyze.GateVerdict{0: analyze.GateWorse, 0.05: analyze.GatePassed} {
		if got := gated(t, side("", a), side("", b), rate, limit); got[want] != 1 {
			t.Errorf("limit %v: %v", limit, got)
		}
	}
}

// A value that is not above 0 has no relative change, and then no verdict.
func TestNoVerdictWithoutChange(t *testing.T) {
	nought := []float64{0, 0, 0, 0, 0, 0}
	for name, c := range map[string]struct {
		a, b []float64
		want analyze.GateVerdict
	}{
		"nought and some": {nought, []float64{1, 2, 3, 4, 5, 6}, analyze.GateOpen},
		"some and nought": {[]float64{1, 2, 3, 4, 5, 6}, nought, analyze.GateOpen},
		"nought in both":  {nought, nought, analyze.GatePassed},
		"below":           {[]float64{-1, 2, 3, 4}, []float64{1, 2, 3, math.Pi}, analyze.GateOpen},
	} {
		a, b := row("1", 1, 1, ""), row("2", 1, 1, "")
		a.Stats["generation_tps"], b.Stats["generation_tps"] = analyze.Stat{N: 6, Points: c.a}, analyze.Stat{N: 6, Points: c.b}
		set, err := analyze.Compare(side("", a), side("", b), rate)
		if err != nil {
			t.Fatal(err)
		}
		if p := set.Pairs[0]; p.Verdict != analyze.VerdictNoRatio || p.Test.P != nil || p.Holm != nil || set.Tests != 0 || set.Gate(0)[0] != c.want {
			t.Errorf("%s: %+v, gate %s", name, p, set.Gate(0)[0])
		}
	}
}
