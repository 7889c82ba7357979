package analyze

// Interval is a confidence interval with the confidence that it really has.
type Interval struct {
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
	Coverage float64 `json:"coverage"` // 0–1, at least 0.95
}

// minCoverage is the confidence asked of an interval.
const minCoverage = 0.95

// MedianInterval is the narrowest interval of the median between order
// statistics that covers at least 95 %, nil with fewer than 6 numbers: from 5
// even the widest covers only 1 − 2/32 = 93.75 %. It supposes that the numbers
// are independent and nothing of how they are spread. Requests of one batch
// are not independent: give it batch medians.
func (s Sample) MedianInterval() *Interval {
	rank, coverage := medianRank(len(s.xs))
	if rank < 1 {
		return nil
	}
	return &Interval{Lo: s.xs[rank-1], Hi: s.xs[len(s.xs)-rank], Coverage: coverage}
}

// medianRank returns the highest rank k, from 1, for which the k-th lowest and
// the k-th highest of n numbers have the median between them with at least 95 %
// confidence; 0 where there is none.
//
// The number of values below the median is binomial, X ~ B(n, ½), and the
// interval covers the median when k ≤ X ≤ n − k. So the sum of P(X = i) is
// grown from the middle outwards, two equal terms at a time, until it is
// enough. The middle term is a product of factors near 1 and each further one
// follows from its neighbour: nothing overflows or cancels, whatever n is.
func medianRank(n int) (k int, coverage float64) {
	if n < 1 {
		return 0, 0
	}
	k = n / 2
	p := middleTerm(n) // P(X = k) = P(X = n − k)
	if n%2 == 0 {
		coverage = p
	} else {
		coverage = 2 * p
	}
	for coverage < minCoverage && k > 0 {
		p *= float64(k) / float64(n-k+1) // P(X = k − 1)
		k--
		coverage += 2 * p
	}
	if coverage < minCoverage {
		return 0, 0
	}
	return k, coverage
}

// middleTerm is the probability C(n, ⌊n/2⌋) / 2ⁿ: for an even n the product of
// (2j − 1) / 2j over j = 1 … n/2, and for an odd n the same as for n + 1.
func middleTerm(n int) float64 {
	p := 1.0
	for j := 1; j <= (n+1)/2; j++ {
		p *= float64(2*j-1) / float64(2*j)
	}
	return p
}
