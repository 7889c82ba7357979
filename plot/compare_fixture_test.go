package plot

import (
	"math"
	"math/rand/v2"
	"strconv"

	"tokwatt/analyze"
)

// pairsOf compares the servers a and b at each prompt length: batches a side,
// the second's rates times factor, more so with every length.
func pairsOf(pp []int64, batches int, factor float64, metrics ...string) analyze.CompareSet {
	r := rand.New(rand.NewPCG(2, 4))
	set := analyze.CompareSet{Tests: len(pp) * len(metrics), AfterAll: 1,
		Warnings: []string{"The operating systems differ: macOS 26.0 against macOS 26.1."}}
	for k, p := range pp {
		for _, name := range metrics {
			m, _ := metricNamed(name)
			side := func(f float64) analyze.Side {
				values := make([]float64, batches)
				for i := range values {
					values[i] = 62 * f * (1 + 0.03*r.NormFloat64())
				}
				median := middle(values)
				return analyze.Side{N: batches, Median: &median, Values: values}
			}
			c := analyze.Comparison{Metric: m.Metric, A: side(1), B: side(math.Pow(factor, float64(k)-1))}
			if len(pp) > 1 {
				c.Case = []analyze.CaseKey{{Key: "pp", Value: strconv.FormatInt(p, 10)}, {Key: "concurrency", Value: "4"}}
			}
			c.Change, c.Interval = analyze.RelativeChange(c.A.Values, c.B.Values)
			c.Test = analyze.MannWhitney(c.A.Values, c.B.Values)
			c.Verdict = verdictOf(c)
			set.Pairs = append(set.Pairs, c)
		}
	}
	return set
}

func verdictOf(c analyze.Comparison) analyze.Verdict {
	switch up := c.Change != nil && *c.Change > 0; {
	case c.Change == nil:
		return analyze.VerdictTooFew
	case *c.Test.P > 0.05:
		return analyze.VerdictSame
	case c.Metric.Better == "":
		return analyze.VerdictDiffers
	case up == (c.Metric.Better == analyze.Higher):
		return analyze.VerdictBetter
	}
	return analyze.VerdictWorse
}

func comparing(set analyze.CompareSet) func() (*Figure, error) {
	return func() (*Figure, error) {
		return Compare(set, "engine=mlx_lm (0199a000-0000)", "engine=exo (0199b111-2222)")
	}
}

func compareGallery() []picture {
	long := pairsOf([]int64{128, 512}, 6, 1.04, "generation_tps")
	for i := range long.Pairs {
		long.Pairs[i].Case = append([]analyze.CaseKey{{Key: "model_id", Value: "mlx-community/DeepSeek-R1-0528-Distill-Qwen3-235B-A22B-Instruct-2507-4bit"}}, long.Pairs[i].Case...)
	}
	wide := pairsOf([]int64{128, 512, 2048}, 6, 1.04, "generation_tps")
	wide.Pairs[1].Interval.Lo = -0.99
	return []picture{
		{"compare_wide", comparing(wide), 2},
		{"compare", comparing(pairsOf([]int64{128, 512, 2048, 8192}, 8, 1.04, "prompt_tps", "generation_tps", "itl_p50_ms")), 2},
		{"compare_one", comparing(pairsOf([]int64{512}, 6, 1, "generation_tps")), 2},
		{"compare_few", comparing(pairsOf([]int64{128, 512, 2048}, 3, 1.1, "generation_tps")), 2},
		{"compare_far", comparing(pairsOf([]int64{128, 512, 2048, 8192}, 6, 4, "generation_tps", "avg_power_w")), 2},
		{"compare_long", comparing(long), 2},
	}
}
