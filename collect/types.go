package collect

import "time"

// A Record is one thing a run has to say. The concrete types are *Session,
// *Segment, *TargetInfo, *Case, *Sensors, *Idle, *Batch, *Samples and *End, in
// the order in which the first of each can appear, and *Lost anywhere behind a
// segment.
type Record interface{ record() }

func (*Session) record()    {}
func (*Segment) record()    {}
func (*TargetInfo) record() {}
func (*Case) record()       {}
func (*Sensors) record()    {}
func (*Idle) record()       {}
func (*Batch) record()      {}
func (*Samples) record()    {}
func (*Lost) record()       {}
func (*End) record()        {}

// Session is one invocation of collect on one host.
type Session struct {
	ID        string    // UUIDv7, so ids sort by start
	StartedAt time.Time // UTC; zero where an imported file does not say
	Profile   string    // "default", "exo", "asiai"
	Options   string    // the options as JSON, without secrets
	Label     string
	Tags      []string
	Note      string
	// Calibration is the newest result of tokwatt calibrate on this host when
	// the session began, as JSON: how wrong this client's own times are.
	Calibration string
	Host        Host
	Imported    *Origin // nil: tokwatt measured it
}

// Host is what is known of the machine that measures.
type Host struct {
	Name      string
	Chip      string // "Apple M3 Max", or the CPU's model name
	Model     string // "Mac15,9"; empty elsewhere
	CPUCores  *int64
	GPUCores  *int64
	RAMBytes  *int64
	OSName    string
	OSVersion string
	PowerMode string
	OnBattery *bool
}

// Segment is one process run of a session. All offsets in nanoseconds that
// carry its number count from StartedAt on the monotonic clock.
type Segment struct {
	Segment        int64
	StartedAt      time.Time // wall time of the clock's origin, UTC
	ToolVersion    string
	BootID         string
	PID            int64
	PlannedBatches int64
}

// Sensors says what one source reads during a segment, and of what it can't
// read, why.
type Sensors struct {
	Segment  int64
	TargetID int64 // whose engine has them; 0: this machine
	EveryNS  int64 // how often it is read
	Channels []Channel
}

// Channel is one quantity that a sensor can read, or can't.
type Channel struct {
	Node      string // the machine, as in Sample
	Source    string
	Scope     string
	Metric    string
	Unit      string
	RefreshNS int64   // how often the sensor itself is renewed; 0: not known, or at each reading
	Range     float64 // value after which a counter begins at 0 again; 0: not known
	Stamped   bool    // readings carry the sensor's own stamps
	Devices   int64   // how many devices' sum the readings are; 0: one
	Missing   string  // why it can't be read, one of power's reasons; empty: it can
	Note      string  // the same for people
}

// TargetInfo is what a target says of itself. One that comes again with the
// same TargetID, in a later segment, is of the same target and takes the place
// of the one before: only what a target is not told by differs, as its instance
// or how long it loaded.
type TargetInfo struct {
	TargetID      int64
	Engine        string // "llama.cpp", "mlx_lm", "reference"; "openai" where the server does not tell
	EngineVersion string
	Driver        string // package that measured: "openai", "inproc"
	Endpoint      string // URL without user, password and query; empty in process
	ModelID       string // as asked for, a path reduced to its base name
	ServedModel   string // as the server names it
	Unlisted      bool   // the server lists models, and ModelID is not among them
	ModelFormat   string
	Quantization  string
	Sharding      string // placement; empty where there is none
	InstanceMeta  string
	Nodes         []string
	InstanceID    string
	DownloadS     *float64
	LoadS         *float64
	Sampling      string // JSON: what was sent, and what the server says it used
	Cluster       string // JSON snapshot; empty on one machine
	ContextTokens *int64 // the context window that was asked for or is in force
	ModelBytes    *int64 // memory that the loaded model takes
	ModelGPUBytes *int64 // how much of that is on the GPU
	MaxStreams    *int64 // requests that the server runs at once; more wait in its queue
	// What an imported file states of the power drawn during its runs.
	StatedPowerW     *float64
	StatedPowerScope string
}

// Case is one point of the matrix.
type Case struct {
	TargetID           int64
	CaseID             int64
	PP                 *int64 // wanted prompt tokens; nil for own prompts
	Depth              *int64 // tokens that the context held before; nil: not known, or none
	TG                 int64  // max_tokens of each request
	TGWanted           bool   // TG is a wanted length, not a mere limit
	TemplateHeadTokens *int64 // the chat template's part before the prompt
	Concurrency        int64
	CacheMode          CacheMode
	ColdMethod         string // "nonce", "engine"; empty: none
	EOSBan             string // "logit_bias_unverified", "engine"; empty: none
	PromptKind         string // "sized", "own", "none" (imported), or the kind's name: "code", "tool_call", …
	PromptSource       PromptSource
	PromptHash         string // own prompts: 16 hexadecimal digits of the text's SHA-256
	Streaming          bool
}

// CacheMode says what a case asks of the server's prefix cache.
type CacheMode string

// The cache modes.
const (
	CacheCold   CacheMode = "cold"   // no reuse between requests
	CachePrefix CacheMode = "prefix" // reuse is wanted
	CacheServer CacheMode = "server" // whatever the server does by itself
)

// PromptSource says how the length of a prompt is known.
type PromptSource string

// The prompt sources.
const (
	PromptTokenizer  PromptSource = "tokenizer"  // counted with the model's own tokenizer
	PromptCalibrated PromptSource = "calibrated" // fitted to the server's own counts
	PromptText       PromptSource = "text"       // given by the user; the length is what the server counts
)

// Idle is a quiet window before a target's first request: the target is ready,
// and nothing is asked of it.
type Idle struct {
	Segment  int64
	TargetID int64
	StartNS  int64
	EndNS    int64
}

// Batch is one repeat of a case: its requests were released together. It is
// the unit of durability: stored whole or not at all.
type Batch struct {
	CaseID       int64
	BatchID      int64
	Segment      int64
	StartNS      int64 // release of the barrier
	EndNS        int64 // end of the last response
	RepeatIndex  int64 // from 0; warm-ups count apart
	Warmup       bool
	ClientCPUPct *float64 // share of the cores this process may use, 0–100
	WakeupP99NS  *int64   // 99th percentile lateness of a timer during the batch
	ClockStepNS  int64    // wall time elapsed less monotonic time elapsed
	// The host's own word on heat, over the batch; nil where it has none.
	SpeedLimitPct *float64 // lowest CPU speed allowed, 0–100
	Throttled     *bool
	Requests      []Request
}

// Request is all that is known of one request, failed ones too.
type Request struct {
	RequestID       int64
	ConcurrentIndex int64 // the stream's number, from 0
	StartNS         int64 // just before the request is written
	EndNS           int64 // end of the response, or when it failed
	PPTokens        *int64
	Failure         *Failure // nil: the answer was complete
	HTTPStatus      *int64
	StampSource     StampSource
	Streamed        bool // the answer came as a stream
	UncleanEnd      bool // complete, but the end mark or transfer end was missing
	OutputChars     int64
	Preview         string // first 200 code points of the visible text
	Chunks          []Chunk
	Recount         *Recount // nil where the model's tokenizer or some of the text is not at hand
	Report          Report
	Stated          *Stated // nil: tokwatt measured it
}

// Recount is the output counted with the model's own tokenizer, after the fact.
type Recount struct {
	Tokens int64 // of the whole output
	First  int64 // of the first output chunk alone
}

// StampSource says who stamped the arrivals of a request.
type StampSource string

// The stamp sources.
const (
	StampUser   StampSource = "user"   // this process, when its read returned
	StampKernel StampSource = "kernel" // the kernel, when the bytes came in
)

// Samples are readings of sensors, in the order in which they were taken.
type Samples struct {
	Segment int64
	Samples []Sample
}

// Sample is one reading of one sensor.
type Sample struct {
	Node    string
	Source  string
	Scope   string
	Metric  string
	Unit    string
	StartNS *int64 // nil: an instantaneous reading; else the value is an average
	EndNS   int64
	Value   float64
}

// Chunk is one data event on the wire.
type Chunk struct {
	T      int64 // ns; on the segment's clock while in flight, from Request.StartNS once recorded
	Bytes  int32 // length of the event's data
	Tokens int32 // tokens of this chunk; TokensUnknown where nobody said
	Kind   ChunkKind
}

// TokensUnknown is Chunk.Tokens where the server does not count per chunk.
const TokensUnknown = -1

// ChunkKind says what a chunk brought.
type ChunkKind uint8

// The kinds. Content, reasoning and tool chunks are output; the values are
// part of the store's format.
const (
	KindRole      ChunkKind = iota // a data event without output: role only, empty delta, finish
	KindContent                    // visible text
	KindReasoning                  // thinking, not shown
	KindTool                       // part of a tool call, its name included
	KindUsage                      // counts only
	KindProgress                   // prefill progress
	KindReport                     // final message or statistics, after the output
)

// Output reports whether a chunk of this kind brought something the model made.
func (k ChunkKind) Output() bool {
	return k == KindContent || k == KindReasoning || k == KindTool
}

var kindNames = [...]string{"role", "content", "reasoning", "tool", "usage", "progress", "report"}

// String is the kind's name in SQL.
func (k ChunkKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Report is what the server says about a request, as it says it: kept beside
// what we saw and never mixed with it. Of each field the last value that was
// not null stands.
type Report struct {
	Source           ReportSource
	Model            string
	FinishReason     string
	PromptTokens     *int64
	CompletionTokens *int64
	ReasoningTokens  *int64
	CachedTokens     *int64
	PrefixCacheHit   string   // "none", "partial", "exact" where the server has a word for it
	PromptTPS        *float64 // tokens/s of prefill
	GenerationTPS    *float64 // tokens/s of decode, verbatim
	GenerationRule   RateRule // the formula behind GenerationTPS
	PromptEvalNS     *float64 // durations as the server states them
	EvalNS           *float64
	LoadNS           *float64
	TotalNS          *float64
	PeakMemoryBytes  *int64
	JSON             string // the statistics objects verbatim
}

// ReportSource says whose word a report is.
type ReportSource string

// The report sources.
const (
	ReportServer ReportSource = "server" // another process, over HTTP
	ReportEngine ReportSource = "engine" // our own worker
)

// RateRule says which formula a server's generation rate follows.
type RateRule string

// The rate rules, for n tokens.
const (
	RateIntervals RateRule = "intervals" // (n − 1) / span from the first token to the last
	RateTokens    RateRule = "tokens"    // n / span, or a rule that is not known
)

// Lost is something that was not measured, or not to its end, and so has no
// rows: a target that was not found, could not be opened or died, a prompt's
// length that can't be had.
type Lost struct {
	Segment int64
	Model   string // as in TargetInfo.ModelID; empty where nobody knows it
	Message string // why, in a sentence
}

// End closes a session.
type End struct {
	At     time.Time
	Status SessionStatus
	NotRun int64 // planned batches that were not run
}

// SessionStatus says how a session ended.
type SessionStatus string

// The session states. A session without an End is still running, or its
// process died.
const (
	StatusComplete    SessionStatus = "complete"
	StatusInterrupted SessionStatus = "interrupted"
	StatusFailed      SessionStatus = "failed" // nothing was measured
)
