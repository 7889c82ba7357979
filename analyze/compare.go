package analyze

// CompareSet is the outcome of comparing two selections, A and B, case by case.
type CompareSet struct {
	Pairs    []Comparison    `json:"pairs"`     // by case in the order of A, within a case by metric in the order asked for
	OnlyA    []string        `json:"only_a"`    // cases that B has not, as people read them
	OnlyB    []string        `json:"only_b"`    // and that A has not
	Apart    []KeyValues     `json:"apart"`     // why no case matches: where both sides are chosen by such a key, it is what is compared
	Warnings []string        `json:"warnings"`  // what differs besides what was selected, each a sentence
	Means    []GeometricMean `json:"means"`     // one a metric that two cases or more have a change in
	Compared []CaseKey       `json:"compared"`  // what A and B were selected by or differ in: {"engine", "exo against ollama"}
	Tests    int             `json:"tests"`     // rank tests among the pairs
	Losses   Losses          `json:"losses"`    // filled by who reads the batches; Compare leaves it empty
	AfterAll int             `json:"after_all"` // of those with a verdict better or worse, how many keep it when all tests are counted (Holm)

	matched [2][]Summary // the rows of the cases that both sides have
}

// Matched are the rows of A and of B that belong to a case of both.
func (s *CompareSet) Matched() (a, b []Summary) { return s.matched[0], s.matched[1] }

// emptySet has lists without elements: as JSON they are [] and not null, so that
// programs can go through them unasked.
func emptySet() CompareSet {
	return CompareSet{Pairs: []Comparison{}, OnlyA: []string{}, OnlyB: []string{}, Apart: []KeyValues{},
		Warnings: []string{}, Means: []GeometricMean{}, Compared: []CaseKey{}}
}

// Comparison is one metric of one case that both selections have.
type Comparison struct {
	Case   []CaseKey `json:"case"` // what tells this case from the others of the set; empty where there is one
	Metric Metric    `json:"metric"`
	A      Side      `json:"a"`
	B      Side      `json:"b"`

	// Change is that of B against A, relative: 0.1 is a tenth more. It is the
	// median of all ratios of a batch of B to one of A, less 1 (Hodges and
	// Lehmann, on the logarithms). Nil where a side has not enough runs, or a
	// value that is not above 0: a bare percentage would say too much.
	Change   *float64  `json:"change"`
	Interval *Interval `json:"interval"` // of Change, with its coverage; nil with Change
	Test     RankTest  `json:"test"`
	Holm     *float64  `json:"p_holm"` // Test.P, adjusted for all tests of the set
	Verdict  Verdict   `json:"verdict"`
}

// KeyValues is a column that keeps all cases of A apart from all of B.
type KeyValues struct {
	Key string   `json:"key"`
	A   []string `json:"a"` // its values, in the order of the rows
	B   []string `json:"b"`
}

// CaseKey is a column that tells cases apart, with a case's value of it.
type CaseKey struct {
	Key   string `json:"key"` // the column, as view runs has it: pp, concurrency, model_id
	Value string `json:"value"`
}

// Side is one side of a comparison: the batch medians of a metric, and what
// follows from them.
type Side struct {
	N        int       `json:"n"` // batches with a value
	Median   *float64  `json:"median"`
	Low      *float64  `json:"low"` // a 95 % interval of the median, nil under 6 batches
	High     *float64  `json:"high"`
	Coverage *float64  `json:"coverage"` // that Low and High really have, 0–1
	Values   []float64 `json:"values"`   // the batch medians, session by session in the order of time
	Sessions []string  `json:"sessions"` // whole ids of where they come from
	NFailed  int64     `json:"n_failed"` // requests that failed in the case
}

// Verdict is what a comparison of a metric comes to.
type Verdict string

// The verdicts, of B against A. Better, worse and, for a metric that has no
// better, differs need a rank test with p ≤ 0.05, which counts each test by
// itself: [CompareSet.Gate] counts them all. Same is that the runs show no
// difference, not that there is none; no ratio that a value is not above 0, so
// that there is no relative change and nothing is tested.
const (
	VerdictBetter  Verdict = "better"
	VerdictWorse   Verdict = "worse"
	VerdictDiffers Verdict = "differs"
	VerdictSame    Verdict = "same"
	VerdictTooFew  Verdict = NotEnoughRuns
	VerdictNoRatio Verdict = "no ratio"
)

// GeometricMean is the mean change of a metric over cases: the geometric mean of
// the cases' ratios, less 1.
type GeometricMean struct {
	Metric Metric  `json:"metric"`
	Change float64 `json:"change"`
	Cases  int     `json:"cases"`
}
