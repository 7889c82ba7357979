package analyze

import (
	"cmp"
	"slices"
)

// newSide gathers the batch medians of one metric out of the rows of a case.
func newSide(rows []Summary, metric string) Side {
	s := Side{Values: []float64{}, Sessions: []string{}}
	for _, r := range rows {
		s.Values = append(s.Values, r.Stats[metric].Points...)
		s.NFailed += r.NFailed
		if !slices.Contains(s.Sessions, r.SessionID) {
			s.Sessions = append(s.Sessions, r.SessionID)
		}
	}
	sample, _ := NewSample(s.Values)
	s.N, s.Median = sample.N(), sample.Median()
	if i := sample.MedianInterval(); i != nil {
		s.Low, s.High, s.Coverage = &i.Lo, &i.Hi, &i.Coverage
	}
	return s
}

func newComparison(d uDistributions, key []CaseKey, m Metric, a, b Side) Comparison {
	c := Comparison{Case: key, Metric: m, A: a, B: b, Test: d.test(a.Values, b.Values)}
	c.Change, c.Interval = d.change(a.Values, b.Values)
	if c.Change == nil && c.Test.P != nil {
		c.Test = RankTest{Verdict: string(VerdictNoRatio)}
	}
	c.Verdict = c.verdict()
	return c
}

// verdict reads the rank test: which side has the higher numbers in more than
// half of the pairs, and whether that is more than chance.
func (c *Comparison) verdict() Verdict {
	middle := float64(c.A.N*c.B.N) / 2
	switch {
	case c.Test.P == nil:
		return Verdict(c.Test.Verdict)
	case *c.Test.P > maxChance:
		return VerdictSame
	case c.Metric.Better == "":
		return VerdictDiffers
	case (*c.Test.U < middle) == (c.Metric.Better == Higher):
		return VerdictBetter
	}
	return VerdictWorse
}

// finish fills what follows from all pairs together.
func (s *CompareSet) finish(metrics []Metric) {
	s.correct()
	for _, m := range metrics {
		var changes []float64
		for _, c := range s.Pairs {
			if c.Metric.Name == m.Name && c.Change != nil {
				changes = append(changes, *c.Change)
			}
		}
		if len(changes) > 1 {
			s.Means = append(s.Means, GeometricMean{m, geometricMean(changes), len(changes)})
		}
	}
}

// correct adjusts the tests' probabilities for their number (Holm, 1979): the
// lowest of n times n, the next times n − 1, none below the one before it.
func (s *CompareSet) correct() {
	var tested []*Comparison
	for i := range s.Pairs {
		if s.Pairs[i].Test.P != nil {
			tested = append(tested, &s.Pairs[i])
		}
	}
	s.Tests = len(tested)
	slices.SortStableFunc(tested, func(a, b *Comparison) int { return cmp.Compare(*a.Test.P, *b.Test.P) })
	least := 0.0
	for i, c := range tested {
		least = max(least, min(1, *c.Test.P*float64(len(tested)-i)))
		c.Holm = ptr(least)
		if least <= maxChance {
			s.AfterAll++
		}
	}
}
