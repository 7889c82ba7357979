package analyze

import "math"

// minRuns is how many batches a side a comparison needs.
const minRuns = 4

// NotEnoughRuns is the verdict of a comparison with too few runs on a side.
const NotEnoughRuns = "not enough runs"

// RankTest is the outcome of a Mann–Whitney test.
type RankTest struct {
	U       *float64 `json:"u"`       // pairs in which the number of a is the higher one, a tie counting half; nil with NotEnoughRuns
	P       *float64 `json:"p"`       // two-sided probability of such a U or a rarer one where both sides are alike
	Exact   bool     `json:"exact"`   // P counts all orders; else it is of the normal distribution
	Verdict string   `json:"verdict"` // why there is no P: NotEnoughRuns, or of a comparison VerdictNoRatio; else empty
}

// maxExactPairs bounds the exact distribution, whose cost grows with the
// square of the number of pairs. Beyond it the normal one is off by less than
// 0.001.
const maxExactPairs = 10_000

// MannWhitney tests whether numbers of a tend to be higher or lower than those
// of b, by their ranks alone: no spread or shape is supposed, only that the
// numbers are independent. Give it batch medians. It needs 4 a side.
//
// Without ties P is exact. With ties, or over 10,000 pairs, it is that of the
// normal distribution, with the variance corrected for ties and U by half a
// step for continuity.
func MannWhitney(a, b []float64) RankTest { return uDistributions{}.test(a, b) }

// test is MannWhitney.
func (d uDistributions) test(a, b []float64) RankTest {
	sa, _ := NewSample(a)
	sb, _ := NewSample(b)
	if sa.N() < minRuns || sb.N() < minRuns {
		return RankTest{Verdict: NotEnoughRuns}
	}
	u, tied := rankU(sa.xs, sb.xs)
	n, m := sa.N(), sb.N()
	exact := tied == 0 && n*m <= maxExactPairs
	var p float64
	if exact {
		p = d.exactP(u, n, m)
	} else {
		p = normalP(u, n, m, tied)
	}
	return RankTest{U: &u, P: &p, Exact: exact}
}

// rankU counts the pairs in which the number of a is higher, ties half, and
// returns Σ (t³ − t) over the groups of t equal numbers on both sides
// together. Both slices are ascending.
func rankU(a, b []float64) (u, tied float64) {
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		x := lowest(a[i:], b[j:])
		ta, tb := run(a[i:], x), run(b[j:], x)
		u += float64(ta) * (float64(j) + float64(tb)/2)
		t := float64(ta + tb)
		tied += t*t*t - t
		i, j = i+ta, j+tb
	}
	return u, tied
}

func lowest(a, b []float64) float64 {
	if len(a) == 0 || len(b) > 0 && b[0] < a[0] {
		return b[0]
	}
	return a[0]
}

// run is how many numbers at the start of xs equal x.
func run(xs []float64, x float64) int {
	n := 0
	for n < len(xs) && xs[n] == x {
		n++
	}
	return n
}

// exactP is the two-sided probability of a U as far from its mean as u, or
// farther, over all orders of n and m numbers.
func (d uDistributions) exactP(u float64, n, m int) float64 {
	distribution := d.of(n, m)
	tail := 0.0
	for k := int(min(u, float64(n*m)-u)); k >= 0; k-- {
		tail += distribution[k]
	}
	return min(1, 2*tail)
}

// uDistributions are the distributions that one comparison has needed, by n and
// m: of a thousand cases in thirty metrics most have as many batches as others.
type uDistributions map[[2]int][]float64

func (d uDistributions) of(n, m int) []float64 {
	key := [2]int{n, m}
	if d[key] == nil {
		d[key] = uDistribution(n, m)
	}
	return d[key]
}

// uDistribution is the probability of each U, 0 to n·m, where all orders of n
// and m numbers are as likely.
//
// It is built up by the last number of the order: that is one of a with
// probability n / (n + m), and then beats all m, or one of b. All terms are
// positive, so that nothing cancels.
func uDistribution(n, m int) []float64 {
	rows := make([][]float64, m+1) // rows[j] is the distribution for i and j numbers
	for j := range rows {
		rows[j] = []float64{1} // i = 0: no pairs
	}
	for i := 1; i <= n; i++ {
		for j := 1; j <= m; j++ {
			next := make([]float64, i*j+1)
			for k, p := range rows[j] { // a is last: i − 1 and j numbers, and j pairs won
				next[k+j] += p * float64(i) / float64(i+j)
			}
			for k, p := range rows[j-1] { // b is last: i and j − 1 numbers
				next[k] += p * float64(j) / float64(i+j)
			}
			rows[j] = next
		}
	}
	return rows[m]
}

// normalP is exactP by the normal approximation.
func normalP(u float64, n, m int, tied float64) float64 {
	nm, all := float64(n*m), float64(n+m)
	variance := nm / 12 * (all + 1 - tied/(all*(all-1)))
	if variance <= 0 {
		return 1 // all numbers are equal
	}
	z := max(0, math.Abs(u-nm/2)-0.5) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}
