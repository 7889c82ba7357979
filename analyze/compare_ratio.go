package analyze

import (
	"math"
	"slices"
)

// maxChance is the probability at which a rank test counts as a difference,
// and of an interval to miss.
const maxChance = 1 - minCoverage

// RelativeChange says by how much b is more than a, relative: 0.1 is a tenth.
// It is the estimate that goes with the rank test: the median of all ratios of a
// number of b to one of a, less 1, and between which of these ratios the true
// one lies with at least 95 %. Both are nil with fewer than 4 numbers a side, or
// where one is not above 0.
//
// On logarithms a ratio is a shift, and this is Hodges and Lehmann's estimate of
// it with Moses' interval (Hollander, Wolfe and Chicken, Nonparametric
// Statistical Methods, 3rd ed., 4.2 and 4.3; R's wilcox.test with conf.int): of
// the n·m differences the k-th from below and from above, k being the highest
// with 2·P(U < k) ≤ 5 %. Up to 10,000 pairs P is exact, with ties a little too
// wide; beyond it is the normal approximation with a step's half for continuity.
// Give it batch medians.
func RelativeChange(a, b []float64) (change *float64, interval *Interval) {
	return uDistributions{}.change(a, b)
}

// change is RelativeChange.
func (d uDistributions) change(a, b []float64) (change *float64, interval *Interval) {
	la, lb := logarithms(a), logarithms(b)
	if len(la) < minRuns || len(lb) < minRuns {
		return nil, nil
	}
	pairs := len(la) * len(lb)
	lower, upper := shift(la, lb, (pairs+1)/2), shift(la, lb, pairs/2+1)
	change = finite(ptr(math.Expm1(lower + (upper-lower)/2)))
	k, coverage := d.shiftRank(len(la), len(lb))
	lo, hi := math.Expm1(shift(la, lb, k)), math.Expm1(shift(la, lb, pairs+1-k))
	if change == nil || finite(&lo) == nil || finite(&hi) == nil {
		return nil, nil
	}
	return change, &Interval{Lo: lo, Hi: hi, Coverage: coverage}
}

// logarithms are in ascending order; nil where a number has none.
func logarithms(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		if positive(finite(&x)) == nil {
			return nil
		}
		out[i] = math.Log(x)
	}
	slices.Sort(out)
	return out
}

// shiftRank is the rank of the interval's ends among the differences, from 1,
// and what the interval covers.
func (d uDistributions) shiftRank(n, m int) (k int, coverage float64) {
	if n*m > maxExactPairs {
		return normalShiftRank(float64(n), float64(m))
	}
	missed := 0.0
	for _, p := range d.of(n, m) {
		if 2*(missed+p) > maxChance {
			break
		}
		missed += p
		k++
	}
	return k, 1 - 2*missed
}

func normalShiftRank(n, m float64) (k int, coverage float64) {
	middle, sd := n*m/2, math.Sqrt(n*m*(n+m+1)/12)
	below := func(k int) float64 { return math.Erfc((middle-(float64(k)-0.5))/sd/math.Sqrt2) / 2 } // P(U < k)
	k = int(middle - 1.9*sd)
	for 2*below(k) > maxChance {
		k--
	}
	return k, 1 - 2*below(k)
}

// shift is the k-th lowest, from 1, of all differences of a number of b and one
// of a, both ascending. It halves the range of the floating-point numbers
// between the lowest and the highest difference until one is left, so that
// n·m differences are never held.
func shift(a, b []float64, k int) float64 {
	lo, hi := order(b[0]-a[len(a)-1]), order(b[len(b)-1]-a[0])
	for lo < hi {
		middle := lo + (hi-lo)/2
		if atMost(a, b, unorder(middle)) >= k {
			hi = middle
		} else {
			lo = middle + 1
		}
	}
	return unorder(lo)
}

// atMost counts the differences of at most x: with each further number of b
// fewer of a will do.
func atMost(a, b []float64, x float64) int {
	count, i := 0, 0
	for _, y := range b {
		for i < len(a) && y-a[i] > x {
			i++
		}
		count += len(a) - i
	}
	return count
}

// order maps finite numbers to integers in the same order, neighbours to
// neighbours.
func order(x float64) uint64 {
	bits := math.Float64bits(x)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func unorder(n uint64) float64 {
	if n>>63 == 1 {
		return math.Float64frombits(n &^ (1 << 63))
	}
	return math.Float64frombits(^n)
}

// geometricMean is the geometric mean of relative changes, as ratios; it needs
// one.
func geometricMean(changes []float64) float64 {
	sum := 0.0
	for _, c := range changes {
		sum += math.Log1p(c)
	}
	return math.Expm1(sum / float64(len(changes)))
}
