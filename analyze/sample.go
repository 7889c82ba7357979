package analyze

import (
	"math"
	"slices"
)

// Sample is a set of finite numbers, from which the statistics are taken. Each
// is nil where there are too few numbers for it.
type Sample struct {
	xs []float64 // ascending
}

// NewSample takes the finite numbers of xs and says how many it refused.
func NewSample(xs []float64) (s Sample, refused int) {
	s.xs = make([]float64, 0, len(xs))
	for _, x := range xs {
		if finite(&x) != nil {
			s.xs = append(s.xs, x)
		}
	}
	slices.Sort(s.xs)
	return s, len(xs) - len(s.xs)
}

// N is how many numbers there are.
func (s Sample) N() int { return len(s.xs) }

// Quantile is the p-quantile, 0 ≤ p ≤ 1, by linear interpolation between order
// statistics (Hyndman and Fan's type 7; DuckDB's quantile_cont, numpy's
// default). It needs one number.
func (s Sample) Quantile(p float64) *float64 {
	if len(s.xs) == 0 || !(p >= 0 && p <= 1) {
		return nil
	}
	at := p * float64(len(s.xs)-1)
	i := min(int(at), len(s.xs)-1)
	lo, hi := s.xs[i], s.xs[min(i+1, len(s.xs)-1)]
	f := at - float64(i)
	return finite(ptr(lo + (hi-lo)*f))
}

// Median is the middle value. It needs one number.
func (s Sample) Median() *float64 { return s.Quantile(0.5) }

// Percentile is Quantile(p/100), nil where fewer than one number is expected
// beyond it: p90 needs 10 numbers, p99 needs 100. The median needs one.
func (s Sample) Percentile(p float64) *float64 {
	beyond := min(p, 100-p) * float64(len(s.xs)) / 100
	if p != 50 && beyond < 1-1e-9 { // 100 − 99.9 is a little under 0.1
		return nil
	}
	return s.Quantile(p / 100)
}

// Mean is the arithmetic mean. It needs one number.
func (s Sample) Mean() *float64 {
	if len(s.xs) == 0 {
		return nil
	}
	return finite(ptr(s.mean()))
}

// SD is the sample standard deviation (÷ n − 1). It needs two numbers.
func (s Sample) SD() *float64 {
	if len(s.xs) < 2 {
		return nil
	}
	return finite(ptr(math.Sqrt(s.squares() / float64(len(s.xs)-1))))
}

// PopSD is the population standard deviation (÷ n). It needs two numbers: of
// one it would be 0 whatever the spread.
func (s Sample) PopSD() *float64 {
	if len(s.xs) < 2 {
		return nil
	}
	return finite(ptr(math.Sqrt(s.squares() / float64(len(s.xs)))))
}

// CV is the coefficient of variation in percent, 100 × PopSD / mean. It needs
// two numbers and a mean above 0.
func (s Sample) CV() *float64 { return cv(s.PopSD(), s.Mean()) }

func cv(sd, mean *float64) *float64 {
	if sd == nil || positive(mean) == nil {
		return nil
	}
	return finite(ptr(100 * *sd / *mean))
}

// Stability is the class of a CV in percent: under 5 stable, under 10
// variable, else unstable; empty without a CV.
func Stability(cv *float64) string {
	switch {
	case cv == nil:
		return ""
	case *cv < 5:
		return "stable"
	case *cv < 10:
		return "variable"
	}
	return "unstable"
}

func (s Sample) mean() float64 {
	sum := 0.0
	for _, x := range s.xs {
		sum += x
	}
	return sum / float64(len(s.xs))
}

// squares is the sum of squared deviations from the mean, in two passes: from
// sums of squares nothing is left where the mean is large against the spread.
// The second sum takes off what rounding of the mean brought in.
func (s Sample) squares() float64 {
	mean, sum, dev := s.mean(), 0.0, 0.0
	for _, x := range s.xs {
		sum += (x - mean) * (x - mean)
		dev += x - mean
	}
	return max(0, sum-dev*dev/float64(len(s.xs)))
}
