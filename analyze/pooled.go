package analyze

import "math"

// Pooled is the spread within groups of runs, without that between them.
type Pooled struct {
	StdDev   *float64 // asiai's M8: root of the unweighted mean of the population variances
	SampleSD *float64 // root of the sample variances weighted by their degrees of freedom
	Mean     *float64 // of all runs
	CV       *float64 // percent, 100 × StdDev / Mean
}

// PooledSpread pools the spread of tok_per_sec over groups of runs, one group a
// prompt kind (a sized case is its own kind). Only runs above 0 count: 0.0
// stands for "not measurable". A group needs two of them to have a spread; with
// no such group there is none.
//
// StdDev is the published rule. With few runs a group it reads low, by 18 % at
// three; SampleSD does not.
func PooledSpread(groups [][]float64) Pooled {
	var all []float64
	var pop, squares, freedom float64
	spread := 0
	for _, g := range groups {
		runs := measurable(g)
		all = append(all, runs...)
		s, _ := NewSample(runs)
		if s.N() < 2 {
			continue
		}
		spread++
		pop += s.squares() / float64(s.N())
		squares += s.squares()
		freedom += float64(s.N() - 1)
	}
	everything, _ := NewSample(all)
	p := Pooled{Mean: everything.Mean()}
	if spread == 0 {
		return p
	}
	p.StdDev = finite(ptr(math.Sqrt(pop / float64(spread))))
	p.SampleSD = finite(ptr(math.Sqrt(squares / freedom)))
	p.CV = cv(p.StdDev, p.Mean)
	return p
}

func measurable(xs []float64) []float64 {
	var out []float64
	for _, x := range xs {
		if x > 0 && finite(&x) != nil {
			out = append(out, x)
		}
	}
	return out
}
