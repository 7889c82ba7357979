package analyze_test

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"tokwatt/analyze"
)

var emit = flag.String("emit", "", "write random inputs and their statistics to this file, for scripts/check_stats.py")

// emitted is one random input with all that is computed of it.
type emitted struct {
	A, B                                   []float64
	Groups                                 [][]float64
	N                                      int
	Median, P90, P99, Mean, SD, PopSD, CV  *float64
	Lo, Hi, Coverage                       *float64
	StdDev, SampleSD, PooledMean, PooledCV *float64
	U, P                                   *float64
	Change, From, To, Covered              *float64
	Cases                                  [][2][]float64 // of a comparison: a case's batches of A and of B
	GeometricMean                          *float64
	MeanOf                                 int
	Holm                                   []*float64
}

func TestEmitStatistics(t *testing.T) {
	if *emit == "" {
		t.Skip("for scripts/check_stats.py: give -emit")
	}
	rnd := rand.New(rand.NewPCG(11, 12))
	var out []emitted
	for i := range 600 {
		out = append(out, newEmitted(rnd, i))
	}
	text, err := json.Marshal(out)
	if err == nil {
		err = os.WriteFile(*emit, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// newEmitted draws sides of every size from 0 up, near 0 or on a large offset,
// every third with many ties.
func newEmitted(rnd *rand.Rand, i int) emitted {
	offset := []float64{0, 50, 1.2e10}[i%3]
	draw := func(n int) []float64 {
		xs := make([]float64, n)
		for k := range xs {
			xs[k] = offset + math.Abs(rnd.NormFloat64())*10
			if i%4 == 0 {
				xs[k] = offset + float64(1+rnd.IntN(5))
			}
		}
		return xs
	}
	e := emitted{A: draw(i / 3), B: draw(rnd.IntN(60))}
	for range rnd.IntN(5) {
		e.Groups = append(e.Groups, draw(rnd.IntN(6)))
	}
	s, _ := analyze.NewSample(e.A)
	e.N, e.Median, e.P90, e.P99 = s.N(), s.Median(), s.Percentile(90), s.Percentile(99)
	e.Mean, e.SD, e.PopSD, e.CV = s.Mean(), s.SD(), s.PopSD(), s.CV()
	if iv := s.MedianInterval(); iv != nil {
		e.Lo, e.Hi, e.Coverage = &iv.Lo, &iv.Hi, &iv.Coverage
	}
	p := analyze.PooledSpread(e.Groups)
	e.StdDev, e.SampleSD, e.PooledMean, e.PooledCV = p.StdDev, p.SampleSD, p.Mean, p.CV
	r := analyze.MannWhitney(e.A, e.B)
	e.U, e.P = r.U, r.P
	change, interval := analyze.RelativeChange(e.A, e.B)
	if e.Change = change; interval != nil {
		e.From, e.To, e.Covered = &interval.Lo, &interval.Hi, &interval.Coverage
	}
	for range 2 + rnd.IntN(5) {
		e.Cases = append(e.Cases, [2][]float64{draw(1 + rnd.IntN(12)), draw(1 + rnd.IntN(12))})
	}
	e.compare()
	return e
}

// compare fills what follows from the cases together.
func (e *emitted) compare() {
	var sides [2]analyze.Selected
	for i, c := range e.Cases {
		for k := range sides {
			s := row(strconv.Itoa(k), int64(i), 1, "pp="+strconv.Itoa(i))
			s.Stats = map[string]analyze.Stat{"generation_tps": {Points: c[k]}}
			sides[k].Rows = append(sides[k].Rows, s)
		}
	}
	set, err := analyze.Compare(sides[0], sides[1], rate)
	if err != nil {
		panic(err)
	}
	for _, p := range set.Pairs {
		e.Holm = append(e.Holm, p.Holm)
	}
	for _, m := range set.Means {
		e.GeometricMean, e.MeanOf = &m.Change, m.Cases
	}
}
