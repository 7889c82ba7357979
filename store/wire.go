package store

import (
	"time"

	"tokwatt/collect"
)

// The types of this file are collect's, field by field, with the names that
// stand in the file. Go converts between two structs that differ in tags
// alone, so a field that is added to collect and not here does not compile.
// The names are part of the format: none is ever changed or used again.

type sessionV1 struct {
	ID          string          `cbor:"id"`
	StartedAt   time.Time       `cbor:"started"`
	Profile     string          `cbor:"profile,omitempty"`
	Options     string          `cbor:"options,omitempty"`
	Label       string          `cbor:"label,omitempty"`
	Tags        []string        `cbor:"tags,omitempty"`
	Note        string          `cbor:"note,omitempty"`
	Calibration string          `cbor:"calib,omitempty"`
	Host        collect.Host    `cbor:"-"`
	Imported    *collect.Origin `cbor:"-"`
}

type originV1 struct {
	Format      string    `cbor:"format"`
	Tool        string    `cbor:"tool,omitempty"`
	ToolVersion string    `cbor:"toolver,omitempty"`
	File        string    `cbor:"file,omitempty"`
	Hash        string    `cbor:"hash,omitempty"`
	ImportedAt  time.Time `cbor:"at"`
	Extra       string    `cbor:"extra,omitempty"`
}

type hostV1 struct {
	Name      string `cbor:"name,omitempty"`
	Chip      string `cbor:"chip,omitempty"`
	Model     string `cbor:"model,omitempty"`
	CPUCores  *int64 `cbor:"cpus,omitempty"`
	GPUCores  *int64 `cbor:"gpus,omitempty"`
	RAMBytes  *int64 `cbor:"ram,omitempty"`
	OSName    string `cbor:"os,omitempty"`
	OSVersion string `cbor:"osver,omitempty"`
	PowerMode string `cbor:"power,omitempty"`
	OnBattery *bool  `cbor:"battery,omitempty"`
}

type segmentV1 struct {
	Segment        int64     `cbor:"seg"`
	StartedAt      time.Time `cbor:"started"`
	ToolVersion    string    `cbor:"tool,omitempty"`
	BootID         string    `cbor:"boot,omitempty"`
	PID            int64     `cbor:"pid"`
	PlannedBatches int64     `cbor:"planned"`
}

type targetV1 struct {
	TargetID      int64    `cbor:"id"`
	Engine        string   `cbor:"engine,omitempty"`
	EngineVersion string   `cbor:"enginever,omitempty"`
	Driver        string   `cbor:"driver,omitempty"`
	Endpoint      string   `cbor:"endpoint,omitempty"`
	ModelID       string   `cbor:"model,omitempty"`
	ServedModel   string   `cbor:"served,omitempty"`
	Unlisted      bool     `cbor:"unlisted,omitempty"`
	ModelFormat   string   `cbor:"format,omitempty"`
	Quantization  string   `cbor:"quant,omitempty"`
	Sharding      string   `cbor:"sharding,omitempty"`
	InstanceMeta  string   `cbor:"meta,omitempty"`
	Nodes         []string `cbor:"nodes,omitempty"`
	InstanceID    string   `cbor:"instance,omitempty"`
	DownloadS     *float64 `cbor:"download,omitempty"`
	LoadS         *float64 `cbor:"load,omitempty"`
	Sampling      string   `cbor:"sampling,omitempty"`
	Cluster       string   `cbor:"cluster,omitempty"`
	ContextTokens *int64   `cbor:"ctx,omitempty"`
	ModelBytes    *int64   `cbor:"bytes,omitempty"`
	ModelGPUBytes *int64   `cbor:"gpubytes,omitempty"`
	MaxStreams    *int64   `cbor:"streams,omitempty"`

	StatedPowerW     *float64 `cbor:"watts,omitempty"`
	StatedPowerScope string   `cbor:"wattscope,omitempty"`
}

type sensorsV1 struct {
	Segment  int64             `cbor:"seg"`
	TargetID int64             `cbor:"target,omitempty"`
	EveryNS  int64             `cbor:"every,omitempty"`
	Channels []collect.Channel `cbor:"-"`
}

type channelV1 struct {
	Node      string  `cbor:"node,omitempty"`
	Source    string  `cbor:"src,omitempty"`
	Scope     string  `cbor:"scope,omitempty"`
	Metric    string  `cbor:"metric,omitempty"`
	Unit      string  `cbor:"unit,omitempty"`
	RefreshNS int64   `cbor:"refresh,omitempty"`
	Range     float64 `cbor:"range,omitempty"`
	Stamped   bool    `cbor:"stamped,omitempty"`
	Devices   int64   `cbor:"devices,omitempty"`
	Missing   string  `cbor:"missing,omitempty"`
	Note      string  `cbor:"note,omitempty"`
}

type idleV1 struct {
	Segment  int64 `cbor:"seg"`
	TargetID int64 `cbor:"target"`
	StartNS  int64 `cbor:"start"`
	EndNS    int64 `cbor:"end"`
}

type caseV1 struct {
	TargetID           int64                `cbor:"target"`
	CaseID             int64                `cbor:"id"`
	PP                 *int64               `cbor:"pp,omitempty"`
	Depth              *int64               `cbor:"depth,omitempty"`
	TG                 int64                `cbor:"tg"`
	TGWanted           bool                 `cbor:"wanted,omitempty"`
	TemplateHeadTokens *int64               `cbor:"head,omitempty"`
	Concurrency        int64                `cbor:"conc"`
	CacheMode          collect.CacheMode    `cbor:"cache,omitempty"`
	ColdMethod         string               `cbor:"cold,omitempty"`
	EOSBan             string               `cbor:"eosban,omitempty"`
	PromptKind         string               `cbor:"kind,omitempty"`
	PromptSource       collect.PromptSource `cbor:"source,omitempty"`
	PromptHash         string               `cbor:"hash,omitempty"`
	Streaming          bool                 `cbor:"stream,omitempty"`
}

type batchV1 struct {
	CaseID        int64             `cbor:"case"`
	BatchID       int64             `cbor:"id"`
	Segment       int64             `cbor:"seg"`
	StartNS       int64             `cbor:"start"`
	EndNS         int64             `cbor:"end"`
	RepeatIndex   int64             `cbor:"repeat"`
	Warmup        bool              `cbor:"warmup,omitempty"`
	ClientCPUPct  *float64          `cbor:"cpu,omitempty"`
	WakeupP99NS   *int64            `cbor:"wakeup,omitempty"`
	ClockStepNS   int64             `cbor:"step,omitempty"`
	SpeedLimitPct *float64          `cbor:"speed,omitempty"`
	Throttled     *bool             `cbor:"throttled,omitempty"`
	Requests      []collect.Request `cbor:"-"`
}

type requestV1 struct {
	RequestID       int64               `cbor:"id"`
	ConcurrentIndex int64               `cbor:"index"`
	StartNS         int64               `cbor:"start"`
	EndNS           int64               `cbor:"end"`
	PPTokens        *int64              `cbor:"pp,omitempty"`
	Failure         *collect.Failure    `cbor:"-"`
	HTTPStatus      *int64              `cbor:"http,omitempty"`
	StampSource     collect.StampSource `cbor:"stamps,omitempty"`
	Streamed        bool                `cbor:"streamed,omitempty"`
	UncleanEnd      bool                `cbor:"unclean,omitempty"`
	OutputChars     int64               `cbor:"chars,omitempty"`
	Preview         string              `cbor:"preview,omitempty"`
	Chunks          []collect.Chunk     `cbor:"-"`
	Recount         *collect.Recount    `cbor:"-"`
	Report          collect.Report      `cbor:"-"`
	Stated          *collect.Stated     `cbor:"-"`
}

type failureV1 struct {
	Kind       collect.ErrorKind `cbor:"kind"`
	Message    string            `cbor:"msg,omitempty"`
	HTTPStatus *int64            `cbor:"http,omitempty"`
	RetryAfter *float64          `cbor:"retry,omitempty"`
}

type recountV1 struct {
	Tokens int64 `cbor:"n"`
	First  int64 `cbor:"first"`
}

type reportV1 struct {
	Source           collect.ReportSource `cbor:"src,omitempty"`
	Model            string               `cbor:"model,omitempty"`
	FinishReason     string               `cbor:"finish,omitempty"`
	PromptTokens     *int64               `cbor:"prompt,omitempty"`
	CompletionTokens *int64               `cbor:"tokens,omitempty"`
	ReasoningTokens  *int64               `cbor:"reasoning,omitempty"`
	CachedTokens     *int64               `cbor:"cached,omitempty"`
	PrefixCacheHit   string               `cbor:"hit,omitempty"`
	PromptTPS        *float64             `cbor:"ptps,omitempty"`
	GenerationTPS    *float64             `cbor:"gtps,omitempty"`
	GenerationRule   collect.RateRule     `cbor:"rule,omitempty"`
	PromptEvalNS     *float64             `cbor:"peval,omitempty"`
	EvalNS           *float64             `cbor:"eval,omitempty"`
	LoadNS           *float64             `cbor:"load,omitempty"`
	TotalNS          *float64             `cbor:"total,omitempty"`
	PeakMemoryBytes  *int64               `cbor:"mem,omitempty"`
	JSON             string               `cbor:"json,omitempty"`
}

type statedV1 struct {
	FirstOutputNS        *int64   `cbor:"first,omitempty"`
	LastOutputNS         *int64   `cbor:"last,omitempty"`
	Sent                 bool     `cbor:"sent,omitempty"`
	TTFTMS               *float64 `cbor:"ttft,omitempty"`
	TotalDurationMS      *float64 `cbor:"total,omitempty"`
	GenerationDurationMS *float64 `cbor:"gen,omitempty"`
	PromptTPS            *float64 `cbor:"ptps,omitempty"`
	GenerationTPS        *float64 `cbor:"gtps,omitempty"`
	TokPerSec            *float64 `cbor:"tps,omitempty"`
	MixedTPS             *float64 `cbor:"mixed,omitempty"`
	Rule                 string   `cbor:"rule,omitempty"`
	SD                   *float64 `cbor:"sd,omitempty"`
	N                    *int64   `cbor:"n,omitempty"`
}

type lostV1 struct {
	Segment int64  `cbor:"seg"`
	Model   string `cbor:"model,omitempty"`
	Message string `cbor:"msg"`
}

type endV1 struct {
	At     time.Time             `cbor:"at"`
	Status collect.SessionStatus `cbor:"status"`
	NotRun int64                 `cbor:"notrun,omitempty"`
}

// The values whose parts are structs of their own.

type sessionValue struct {
	sessionV1
	Host     hostV1    `cbor:"host"`
	Imported *originV1 `cbor:"imported,omitempty"`
}

type sensorsValue struct {
	sensorsV1
	Channels []channelV1 `cbor:"channels"`
}

type batchValue struct {
	batchV1
	Values int `cbor:"values"` // how many values after this one are the batch's
	Count  int `cbor:"reqs"`   // how many of them are requests
}

type requestValue struct {
	*requestV1
	Failure *failureV1 `cbor:"failure,omitempty"`
	Recount *recountV1 `cbor:"recount,omitempty"`
	Report  *reportV1  `cbor:"report,omitempty"`
	Stated  *statedV1  `cbor:"stated,omitempty"`
}
