package analyze

// Summary is one row of the view summary: a target × case of one session,
// apart for each kind of prefix-cache hit where the case is not a cold one.
type Summary struct {
	SessionID      string
	Host           string
	Date           string // UTC, YYYY-MM-DD
	Engine         string
	EngineVersion  string
	ModelID        string
	Quantization   string
	Sharding       string   // placement; empty where there is none
	InstanceMeta   string   // likewise
	Nodes          []string // likewise
	TargetID       int64
	CaseID         int64
	PP             *int64
	TG             int64
	Concurrency    int64
	CacheMode      string
	PromptKind     string
	PromptSource   string
	PrefixCacheHit string // empty in a cold case, whose rows are of all kinds but exact

	NBatches     int64
	NOK          int64
	NFailed      int64
	NInvalid     int64
	NCacheHit    int64
	NEstimated   int64
	NImplausible int64

	CV        *float64 // percent, over the batch medians of generation_tps
	Stability string   // "stable", "variable", "unstable"; empty where CV is nil

	Stats map[string]Stat // by metric name, see Metrics

	// Keys are all that the row is of, as text and by column: the GroupKeys, and
	// whose word its figures are. What is NULL is empty; placement_nodes is how
	// many there are, and tags have commas between.
	Keys map[string]string
}

// Stat is the distribution of one metric over the rows of a Summary. Every
// figure is nil where n is too small for it.
type Stat struct {
	N        int64 // rows with a value
	Median   *float64
	Lo, Hi   *float64 // an interval of the median over batch medians
	Coverage *float64 // the confidence the interval really has, 0–1
	Mean, SD *float64 // sample form
	P90, P99 *float64
	Points   []float64 // the batch medians in order of time; filled for plots only
}
