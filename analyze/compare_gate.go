package analyze

import (
	"math"
	"slices"
)

// GateVerdict is what a gate comes to on one comparison.
type GateVerdict string

// The verdicts of a gate. A comparison passes where the interval shows that B
// is not worse by more than the limit, or where the test could have shown that
// it is and has not; it is open where too few batches could have shown it.
const (
	GatePassed GateVerdict = "passed"
	GateWorse  GateVerdict = "worse"
	GateOpen   GateVerdict = "open"
)

// Gate says for each pair whether B is worse by more than limit, a share from 0
// up: 0.05 is 5 %. Worse takes two things at once, so that two runs of the same
// rarely differ however many figures are held against each other: the rank
// test's p is at most 5 % after Holm's correction for all tests of the set, and
// the whole interval of the change is beyond the limit. The chance that any pair
// of two alike sides is called worse is thus 5 % at most.
//
// Metrics that have no better pass.
func (s *CompareSet) Gate(limit float64) []GateVerdict {
	out := make([]GateVerdict, len(s.Pairs))
	for i := range s.Pairs {
		out[i] = s.gate(&s.Pairs[i], limit)
	}
	return out
}

func (s *CompareSet) gate(c *Comparison, limit float64) GateVerdict {
	if c.Metric.Better == "" {
		return GatePassed
	}
	if c.Change == nil || c.Holm == nil {
		if c.Verdict == VerdictNoRatio && nought(c.A.Values) && nought(c.B.Values) {
			return GatePassed
		}
		return GateOpen
	}
	least, most := c.losses()
	switch {
	case *c.Holm <= maxChance && c.Verdict == VerdictWorse && least > limit:
		return GateWorse
	case most > limit && leastP(c.A.N, c.B.N)*float64(s.Tests) > maxChance && *c.Holm > maxChance:
		return GateOpen
	}
	return GatePassed
}

func nought(xs []float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return x != 0 })
}

// losses are the ends of the interval as what B is worse by: below 0 it is better.
func (c *Comparison) losses() (least, most float64) {
	if c.Metric.Better == Higher {
		return -c.Interval.Hi, -c.Interval.Lo
	}
	return c.Interval.Lo, c.Interval.Hi
}

// GateRuns is how many batches a side [CompareSet.Gate] needs to find anything
// among that many tests: the least n, from 4 up, at which the lowest p there is,
// times tests, is at most 5 %. It is 4 for one test, 5 for up to 6, 6 for up to
// 23 and 7 for up to 85.
func GateRuns(tests int) int {
	n := minRuns
	for leastP(n, n)*float64(tests) > maxChance {
		n++
	}
	return n
}

// leastP is the lowest two-sided p that n and m numbers can have: two of all
// their orders.
func leastP(n, m int) float64 {
	orders := 1.0
	for i := 1; i <= m; i++ {
		orders *= float64(n+i) / float64(i)
	}
	return math.Min(1, 2/orders)
}
