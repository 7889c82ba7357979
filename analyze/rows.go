package analyze

import (
	"time"

	"tokwatt/collect"
)

// The row types hold one Go field per SQL column of their table, in the order
// of the columns. NULL is a nil pointer, an empty string or a zero time; a
// list is never NULL. Units are in the names. host and date are not fields:
// they are the partition of the file that a row is in (see [Export]).

// SessionRow is a row of table sessions.
type SessionRow struct {
	SessionID   string
	StartedAt   time.Time
	EndedAt     time.Time // zero while the session runs, or where its process died
	Status      string    // of collect.SessionStatus; empty while it runs
	HWChip      string
	HWModel     string
	CPUCores    *int64
	GPUCores    *int64
	RAMBytes    *int64
	OSName      string
	OSVersion   string
	PowerMode   string
	OnBattery   *bool
	Profile     string
	OptionsJSON string
	Label       string
	Tags        []string
	Note        string
	NotRun      *int64 // planned batches; nil while the session runs
	// ClientCalibrationJSON says how wrong this client's own times are.
	ClientCalibrationJSON string

	// Where the session was imported from; zero where tokwatt measured it.
	ImportFormat      string
	ImportTool        string
	ImportToolVersion string
	ImportFile        string
	ImportHash        string
	ImportedAt        time.Time
	ImportExtraJSON   string
}

// SegmentRow is a row of table segments.
type SegmentRow struct {
	SessionID string
	collect.Segment
	SensorsJSON string // see [SensorsOf]
	LostJSON    string // see [LostOf]
}

// TargetRow is a row of table targets.
type TargetRow struct {
	SessionID string
	collect.TargetInfo
	PowerWatts *float64 // over the target's own window
	PowerScope string
	IdleWatts  *float64 // before its first request, in the same scope
}

// CaseRow is a row of table cases.
type CaseRow struct {
	SessionID string
	collect.Case
}

// BatchRow is a row of table batches.
type BatchRow struct {
	SessionID        string
	CaseID           int64
	BatchID          int64
	Segment          int64
	StartNS          int64
	EndNS            int64
	RepeatIndex      int64
	Warmup           bool
	BatchWallS       *float64
	Requests         int64
	Failed           int64
	AggGenTPS        *float64
	AggWallTPS       *float64
	AggSteadyTPS     *float64
	DispatchSpreadUS *float64

	EnergyJ                *float64
	EnergyLowJ             *float64
	EnergyHighJ            *float64
	EnergyPartialJ         *float64
	EnergyNetJ             *float64
	EnergyCoverage         string
	EnergyNullReason       string
	AvgPowerW              *float64
	PowerScope             string
	PowerSource            string
	EnergyIndicative       *bool
	JPerOutputToken        *float64
	JPerTotalToken         *float64
	PrefillJPerPromptToken *float64

	SpeedLimitPct *float64
	Throttled     *bool
	ClientCPUPct  *float64
	Flags         []string
	WakeupP99NS   *int64
	ClockStepNS   int64
	HostThrottled *bool // by the host's own word, without the sensors'
}

// RequestRow is a row of table requests.
type RequestRow struct {
	SessionID       string
	CaseID          int64
	BatchID         int64
	RequestID       int64
	Segment         int64
	StartNS         int64
	EndNS           int64
	ConcurrentIndex int64
	Status          Status
	ErrorKind       string
	Error           string
	HTTPStatus      *int64
	RetryAfterS     *float64
	ServedModel     string
	Flags           []string

	PPTokens        *int64
	PromptTokens    *int64
	TokensGenerated *int64
	TokensSource    Source
	ReasoningTokens *int64
	CachedTokens    *int64
	PrefixCacheHit  CacheHit
	InStats         bool
	InColdStats     bool
	InPrefillStats  bool

	TTFTMS               *float64
	TTFTClientMS         *float64
	FirstChunkMS         *float64
	FirstTextMS          *float64
	TotalDurationMS      *float64
	ResponseMS           *float64
	GenerationDurationMS *float64
	LoadDurationMS       *float64

	PromptTPS           *float64
	PromptTPSSource     Source
	GenerationTPS       *float64
	GenerationTPSSource Source
	GenerationTPSClient *float64
	GenerationTPSServer *float64
	DecodeTPS           *float64
	TokPerSec           *float64

	ElapsedS          *float64
	ITLP50MS          *float64
	ITLP99MS          *float64
	ITLMaxMS          *float64
	Chunks            *int64
	PeakMemoryBytes   *int64
	FinishReason      string
	OutputTextPreview string
	ServerJSON        string
	StampSource       string // who stamped the arrivals: "kernel", "user"

	MixedTPS   *float64 // imported: prefill and generation together
	Stated     []string // columns that have an imported file's own figure
	StatedRule string   // the formula behind its rates
	StatedSD   *float64 // sample standard deviation of its rate
	StatedN    *int64   // how many runs its rate is the mean of

	Recorded

	// Repeated of the batch (see OfBatchColumns)
	RepeatIndex   int64
	Warmup        bool
	ClientCPUPct  *float64
	SpeedLimitPct *float64
	Throttled     *bool
	BatchFlags    []string
}

// SampleRow is a row of table samples.
type SampleRow struct {
	SessionID string
	Segment   int64
	collect.Sample
}

// ChunkRow is a row of table chunks.
type ChunkRow struct {
	SessionID string
	RequestID int64
	Seq       int64 // from 0 within the request
	collect.Chunk
}

// Status says what became of a request.
type Status string

// The states of a request.
const (
	StatusOK      Status = "ok"      // a complete answer
	StatusFailed  Status = "failed"  // no complete answer; ErrorKind says why
	StatusInvalid Status = "invalid" // complete, but its figures contradict each other
)

// Source says where a figure comes from.
type Source string

// The sources.
const (
	SourceServer    Source = "server"    // the server says so
	SourceEngine    Source = "engine"    // our own engine's worker says so
	SourceClient    Source = "client"    // our own clock
	SourceTokenizer Source = "tokenizer" // counted by us, with the model's own tokenizer
	SourceEstimate  Source = "estimate"  // from the length of the text
	SourceImport    Source = "import"    // the figure of another tool, by its own rule
)

// CacheHit says how much of a prompt the server had in its prefix cache.
type CacheHit string

// The kinds of hit.
const (
	HitNone    CacheHit = "none"
	HitPartial CacheHit = "partial"
	HitExact   CacheHit = "exact"   // all of it, or all but the last token
	HitUnknown CacheHit = "unknown" // the server does not say
)
