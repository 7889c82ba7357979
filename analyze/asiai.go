package analyze

// Asiai is one row of the view asiai: the metrics M1 to M8 of asiai's
// specification for one target of a session. A figure is nil where it was not
// measured.
type Asiai struct {
	SessionID     string
	Host          string
	Date          string // UTC, YYYY-MM-DD
	Engine        string
	EngineVersion string
	ModelID       string
	Quantization  string
	Sharding      string   // placement; empty where there is none
	InstanceMeta  string   // likewise
	Nodes         []string // likewise
	TargetID      int64

	// Medians over the rows in statistics.
	TokPerSec            *float64 // M1
	TokPerSecResponse    *float64 // M1, up to the end of the response
	TTFTMS               *float64 // M2
	TotalDurationMS      *float64 // M3
	TokensGenerated      *float64 // M4
	GenerationDurationMS *float64 // M5
	PowerWatts           *float64 // M6
	PowerScope           string
	TokPerSecPerWatt     *float64 // M7

	TokPerSecMean  *float64
	StdDevTokS     *float64 // M8
	PooledSDSample *float64
	CV             *float64 // percent
	Stability      string   // "stable", "variable", "unstable"; empty where CV is nil

	NRuns  int64 // rows behind the times
	NRates int64 // rows behind TokPerSec
	NWarm  int64 // rows behind the times that hit a prefix cache
	NKinds int64 // prompt kinds with two runs or more

	NOK          int64
	NFailed      int64
	NInvalid     int64
	NCacheHit    int64
	NEstimated   int64
	NImplausible int64
}
