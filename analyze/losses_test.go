package analyze_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"tokwatt/analyze"
)

// MoreOften against scipy.stats.fisher_exact(…, alternative="greater"), 1.17.1.
func TestMoreOftenAgainstReference(t *testing.T) {
	for _, c := range []struct {
		a, n, b, m int64
		want       float64
	}{
		{0, 6, 5, 6, 0.007575757575757577}, {0, 6, 4, 6, 0.030303030303030304}, {0, 12, 5, 12, 0.018633540372670808},
		{3, 100, 12, 90, 0.008107307695588352}, {10, 2000, 40, 1900, 4.7278037465852715e-06},
		{5, 5, 0, 5, 1}, {0, 5, 5, 5, 0.003968253968253969}, {0, 4, 0, 4, 1}, {2, 3, 1, 9, 0.9954545454545455},
	} {
		if got := analyze.MoreOften(c.a, c.n, c.b, c.m); math.Abs(got-c.want) > 1e-10*c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}

// And against counting, in whole numbers.
func TestMoreOftenByCounting(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		n, m := rnd.Int64N(40), 1+rnd.Int64N(40)
		a, b := rnd.Int64N(n+1), rnd.Int64N(m+1)
		more := new(big.Int)
		for k := b; k <= min(m, a+b); k++ {
			if a+b-k <= n {
				more.Add(more, new(big.Int).Mul(new(big.Int).Binomial(m, k), new(big.Int).Binomial(n, a+b-k)))
			}
		}
		want, _ := new(big.Rat).SetFrac(more, new(big.Int).Binomial(n+m, a+b)).Float64()
		if got := analyze.MoreOften(a, n, b, m); math.Abs(got-want) > 1e-12 {
			t.Fatalf("%d of %d, %d of %d: %v, want %v", a, n, b, m, got, want)
		}
	}
}

// A side is worse that loses more, by more than the limit and than chance; two
// alike sides are told apart in no more than half of one case in twenty.
func TestLosses(t *testing.T) {
	of := func(a, n, b, m int64) analyze.Losses {
		return analyze.Losses{A: analyze.LostBatches{Batches: n, Failed: a}, B: analyze.LostBatches{Batches: m, Failed: b}}
	}
	for _, c := range []struct {
		losses analyze.Losses
		limit  float64
		worse  bool
	}{
		{of(0, 6, 5, 6), 0.05, true}, {of(0, 6, 5, 6), 0.9, false}, {of(0, 6, 4, 6), 0.05, false}, {of(5, 6, 0, 6), 0, false},
		{of(0, 0, 0, 0), 0, false}, {of(0, 0, 5, 5), 0, false}, {of(0, 1000, 20, 1000), 0.05, false}, {of(0, 1000, 20, 1000), 0.01, true},
	} {
		if got := c.losses.Worse(c.limit); got != c.worse {
			t.Errorf("%+v with %v: %v", c.losses, c.limit, got)
		}
	}
	rnd := rand.New(rand.NewPCG(13, 14))
	lost := func(share float64) (n int64) {
		for range 20 {
			if rnd.Float64() < share {
				n++
			}
		}
		return n
	}
	alarms := 0
	for range 4000 {
		if of(lost(0.3), 20, lost(0.3), 20).Worse(0) {
			alarms++
		}
	}
	if alarms > 4000/40 {
		t.Errorf("%d of 4000 pairs of like sides are called worse", alarms)
	}
}
