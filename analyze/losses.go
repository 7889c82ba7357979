package analyze

import "math"

// Losses are how many batches of each side of a comparison lost a request. What
// fails is in no figure, and fewer streams are quicker: a side that loses requests
// may look the better one.
type Losses struct {
	A LostBatches `json:"a"`
	B LostBatches `json:"b"`
}

// LostBatches counts the measured batches of a side.
type LostBatches struct {
	Batches int64 `json:"batches"`
	Failed  int64 `json:"failed"` // those with a request that failed
}

// share is 0 of no batches.
func (l LostBatches) share() float64 {
	if l.Batches == 0 {
		return 0
	}
	return float64(l.Failed) / float64(l.Batches)
}

// Worse reports whether B loses requests more often than A: in a share of its
// batches that is higher by more than limit, and by more than chance. That is
// MoreOften with at most half of 5 %: the rank tests of [CompareSet.Gate], which
// are two-sided, call two alike sides worse in the other half at most.
func (l Losses) Worse(limit float64) bool {
	return l.B.share()-l.A.share() > limit && MoreOften(l.A.Failed, l.A.Batches, l.B.Failed, l.B.Batches) <= maxChance/2
}

// MoreOften is the probability that, of a + b failures among n + m batches that
// fail alike, b or more fall to the m: Fisher's exact test, one-sided. It supposes
// that 0 ≤ a ≤ n and 0 ≤ b ≤ m, and that batches fail independently.
func MoreOften(a, n, b, m int64) float64 {
	failed := a + b
	all := logChoose(n+m, failed)
	p := 0.0
	for k := min(m, failed); k >= b; k-- {
		if failed-k <= n {
			p += math.Exp(logChoose(m, k) + logChoose(n, failed-k) - all)
		}
	}
	return min(1, p)
}

// logChoose is the logarithm of the number of ways to take k of n.
func logChoose(n, k int64) float64 {
	lg := func(x int64) float64 { y, _ := math.Lgamma(float64(x) + 1); return y }
	return lg(n) - lg(k) - lg(n-k)
}
