package analyze_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"tokwatt/analyze"
)

func sample(xs ...float64) analyze.Sample {
	s, _ := analyze.NewSample(xs)
	return s
}

func counting(n int) analyze.Sample {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(i + 1)
	}
	return sample(xs...)
}

func TestQuantileInterpolatesBetweenOrderStatistics(t *testing.T) {
	s := sample(40, 10, 30, 20)
	for _, c := range []struct{ p, want float64 }{{0, 10}, {0.25, 17.5}, {0.5, 25}, {0.9, 37}, {1, 40}} {
		if got := s.Quantile(c.p); !same(got, &c.want) {
			t.Errorf("quantile %v = %v, want %v", c.p, show(got), c.want)
		}
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		if got := s.Quantile(p); got != nil {
			t.Errorf("quantile %v = %v, want NULL", p, *got)
		}
	}
}

func TestFiguresNeedEnoughNumbers(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		get  func(analyze.Sample) *float64
	}{
		{"median", 1, analyze.Sample.Median},
		{"mean", 1, analyze.Sample.Mean},
		{"sd", 2, analyze.Sample.SD},
		{"population sd", 2, analyze.Sample.PopSD},
		{"cv", 2, analyze.Sample.CV},
		{"p90", 10, func(s analyze.Sample) *float64 { return s.Percentile(90) }},
		{"p10", 10, func(s analyze.Sample) *float64 { return s.Percentile(10) }},
		{"p99", 100, func(s analyze.Sample) *float64 { return s.Percentile(99) }},
		{"p99.9", 1000, func(s analyze.Sample) *float64 { return s.Percentile(99.9) }},
		{"interval", 6, func(s analyze.Sample) *float64 {
			if i := s.MedianInterval(); i != nil {
				return &i.Lo
			}
			return nil
		}},
	} {
		if got := c.get(counting(c.n - 1)); got != nil {
			t.Errorf("%s of %d numbers = %v, want NULL", c.name, c.n-1, *got)
		}
		if c.get(counting(c.n)) == nil {
			t.Errorf("%s of %d numbers is NULL", c.name, c.n)
		}
	}
}

func TestSampleRefusesWhatIsNotFinite(t *testing.T) {
	s, refused := analyze.NewSample([]float64{1, math.NaN(), math.Inf(1), 3, math.Inf(-1)})
	if refused != 3 || s.N() != 2 || *s.Mean() != 2 {
		t.Errorf("refused %d, kept %d", refused, s.N())
	}
	if huge := sample(math.MaxFloat64, math.MaxFloat64); huge.Mean() != nil {
		t.Errorf("a mean that can't be stored: %v", *huge.Mean())
	}
}

// The interval's ranks are counted out with integers, and its SQL form, which
// the summary view uses, agrees with them.
func TestMedianIntervalAgainstExactBinomial(t *testing.T) {
	for n := 6; n <= 400; n++ {
		iv := counting(n).MedianInterval()
		rank := int64(iv.Lo)
		want := coverage(n, rank)
		if math.Abs(iv.Coverage-want) > 1e-13 || want < 0.95 {
			t.Fatalf("n = %d: rank %d covers %v, exactly %v", n, rank, iv.Coverage, want)
		}
		if wider := coverage(n, rank+1); wider >= 0.95 {
			t.Fatalf("n = %d: rank %d would do, it covers %v", n, rank+1, wider)
		}
		if iv.Hi != float64(n)+1-iv.Lo {
			t.Fatalf("n = %d: %v to %v is not symmetric", n, iv.Lo, iv.Hi)
		}
	}
	for n := 6; n <= 3000; n++ {
		x := float64(n)
		sql := math.Floor(x/2 + 0.5 - 0.979981992270027*math.Sqrt(x) + 0.23/math.Sqrt(x))
		if got := counting(n).MedianInterval().Lo; got != sql {
			t.Fatalf("n = %d: rank %v, in SQL %v", n, got, sql)
		}
	}
}

// coverage is Σ C(n, i) / 2ⁿ over i = rank … n − rank, in integers.
func coverage(n int, rank int64) float64 {
	sum := new(big.Int)
	for i := rank; i <= int64(n)-rank; i++ {
		sum.Add(sum, new(big.Int).Binomial(int64(n), i))
	}
	f, _ := new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
	return f
}

func TestPooledSpread(t *testing.T) {
	p := analyze.PooledSpread([][]float64{{10, 12}, {100, 100, 100}, {55}, {0, 0, 0}, nil})
	if !same(p.StdDev, ptr(math.Sqrt(0.5))) || !same(p.SampleSD, ptr(math.Sqrt(2.0/3))) || !same(p.Mean, ptr(377.0/6)) {
		t.Errorf("std_dev %v, sample %v, mean %v", show(p.StdDev), show(p.SampleSD), show(p.Mean))
	}
	if p := analyze.PooledSpread([][]float64{{1}, {2}}); p.StdDev != nil || p.SampleSD != nil || p.CV != nil {
		t.Errorf("a spread of single runs: %v", *p.StdDev)
	}
}

// Every order of two small sides is tried: the probability is the share of
// orders whose U is as far from the middle.
func TestMannWhitneyAgainstAllOrders(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n, m := 4+rnd.IntN(3), 4+rnd.IntN(3)
		order := rnd.Perm(n + m)
		a, b := make([]float64, n), make([]float64, m)
		for i := range a {
			a[i] = float64(order[i])
		}
		for i := range b {
			b[i] = float64(order[n+i])
		}
		got := analyze.MannWhitney(a, b)
		if u := wins(a, b); *got.U != u {
			t.Fatalf("U(%v, %v) = %v, want %v", a, b, *got.U, u)
		}
		if want := bruteP(n, m, *got.U); math.Abs(*got.P-want) > 1e-14 {
			t.Fatalf("p(%v, %v) = %v, want %v", a, b, *got.P, want)
		}
	}
}

func wins(a, b []float64) float64 {
	u := 0.0
	for _, x := range a {
		for _, y := range b {
			if x > y {
				u++
			} else if x == y {
				u += 0.5
			}
		}
	}
	return u
}

func bruteP(n, m int, u float64) float64 {
	middle := float64(n*m) / 2
	far, all := 0.0, 0.0
	for set := range 1 << (n + m) {
		if ones(set) != n {
			continue
		}
		got, below := 0.0, 0.0
		for i := range n + m {
			if set>>i&1 == 1 {
				got += below
			} else {
				below++
			}
		}
		all++
		if math.Abs(got-middle) >= math.Abs(u-middle) {
			far++
		}
	}
	return far / all
}

func ones(set int) int {
	n := 0
	for ; set > 0; set &= set - 1 {
		n++
	}
	return n
}

func TestMannWhitneyEdges(t *testing.T) {
	equal := []float64{5, 5, 5, 5}
	if r := analyze.MannWhitney(equal, equal); *r.P != 1 || *r.U != 8 {
		t.Errorf("all equal: p = %v, U = %v", *r.P, *r.U)
	}
	if r := analyze.MannWhitney([]float64{1, 2, 3, math.NaN()}, equal); r.Verdict != analyze.NotEnoughRuns || r.P != nil {
		t.Errorf("three finite runs: %+v", r)
	}
	apart := analyze.MannWhitney([]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8})
	if math.Abs(*apart.P-2.0/70) > 1e-15 || *apart.U != 0 {
		t.Errorf("apart: p = %v, U = %v", *apart.P, *apart.U)
	}
}

// Reference values are scipy's: mannwhitneyu, exact up to 10,000 pairs without
// ties, asymptotic else.
func TestMannWhitneyAgainstReference(t *testing.T) {
	evens, others := make([]float64, 101), make([]float64, 100)
	for i := range evens {
		evens[i] = float64(2 * i)
	}
	for i := range others {
		others[i] = float64(2*i - 21)
	}
	for _, c := range []struct {
		name string
		a, b []float64
		u, p float64
	}{
		{"ties", []float64{1, 2, 2, 3, 5, 8}, []float64{2, 3, 4, 4, 9}, 10.5, 0.4590186329613657},
		{"10,000 pairs", evens[:100], others, 5995, 0.014877600142181972},
		{"10,100 pairs", evens, others, 6095, 0.011303920329709229},
	} {
		r := analyze.MannWhitney(c.a, c.b)
		if *r.U != c.u || math.Abs(*r.P-c.p) > 1e-13 {
			t.Errorf("%s: U = %v, p = %v, want %v and %v", c.name, *r.U, *r.P, c.u, c.p)
		}
	}
}

// Reference values are numpy's, with ddof 1 and 0.
func TestSpreadAgainstReference(t *testing.T) {
	s := sample(3, 1, 4, 1, 5, 9, 2, 6)
	for _, c := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"mean", s.Mean(), 3.875},
		{"sd", s.SD(), 2.748376143938713},
		{"population sd", s.PopSD(), 2.5708704751503917},
		{"cv", s.CV(), 66.3450445200101},
		{"sd on a large offset", sample(1.2e10+0.25, 1.2e10+1.5, 1.2e10+3, 1.2e10+7.75, 1.2e10+2).SD(), 2.8863904794743522},
	} {
		if !same(c.got, &c.want) {
			t.Errorf("%s = %v, want %v", c.name, show(c.got), c.want)
		}
	}
	if got := sample().MedianInterval(); got != nil {
		t.Errorf("an interval of nothing: %+v", *got)
	}
}
