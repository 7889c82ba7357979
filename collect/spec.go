package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Spec says what to measure. The zero value of a field is its default;
// Validate reports every fault at once.
type Spec struct {
	Models []string // as the driver names them; empty: what the driver finds

	// The matrix: sized prompts (PP × TG) or the user's own.
	PP              []int64
	TG              []int64
	AllCombinations bool    // the product even where the lists are of one length
	Prompts         []Text  // own prompts, verbatim; then PP must be empty
	Concurrency     []int64 // default 1
	Repeat          int     // default 6
	Warmup          *int    // discarded batches per target, of the first pair's shape; default 1
	WarmupPrompt    *Text   // sent by warm-ups instead, one at a time; its Limit may be 1
	Order           Order   // default interleaved

	// Each request.
	Temperature  *float64 // nil: the server's default
	Seed         *int64
	Streaming    Streaming
	Cache        CacheMode     // default cold
	NoEOSBan     bool          // let the model end where it likes, wanted length or not
	Unload       bool          // free the model when its target is done, where the engine can
	Timeout      time.Duration // whole request; default 2 h
	FirstTimeout time.Duration // until the first progress; default 30 min
	StallTimeout time.Duration // between outputs; default 2 min

	// Between batches; negative: none. In-process engines pause 0 unless set.
	Pause       time.Duration // before each batch; default 1 s
	GroupPause  time.Duration // after each group of batches; default 1 s
	TargetPause time.Duration // before each target but the first; default none
	NoIdle      bool          // no quiet window before a target's first request
}

// Text is a prompt that is sent verbatim.
type Text struct {
	Kind  string // empty: "own"
	Text  string
	Limit int64 // max_tokens where the spec has no TG; 0: DefaultTG
	About int64 `json:",omitempty"` // tokens that it is meant to have; 0: nobody said
}

// Streaming says which answers are asked for as streams.
type Streaming string

// The streaming policies.
const (
	StreamAll    Streaming = ""       // every answer
	StreamSingle Streaming = "single" // where one request runs alone
	StreamNone   Streaming = "none"
)

// streams reports whether requests of that concurrency are streamed.
func (s Streaming) streams(concurrency int64) bool {
	return s == StreamAll || s == StreamSingle && concurrency == 1
}

// Order says how repeats follow each other.
type Order string

// The orders.
const (
	OrderInterleaved Order = "interleaved" // every case once, then every case again: heat drifts
	OrderListed      Order = "listed"      // all repeats of a case, then the next
)

// The defaults of Spec.
const (
	DefaultRepeat       = 6
	DefaultWarmup       = 1
	DefaultTG           = 128 // the limit for own prompts without TG
	DefaultTimeout      = 2 * time.Hour
	DefaultFirstTimeout = 30 * time.Minute
	DefaultStallTimeout = 2 * time.Minute
	DefaultPause        = time.Second
)

// What no bench needs more of: beyond it is a slip of the hand that would take
// the memory first.
const (
	maxTokens      = 1 << 24
	maxConcurrency = 1 << 16
	maxRepeat      = 1 << 20
)

// Shape is the matrix point of a case, before a target is known.
type Shape struct {
	PP          int64 // 0: own prompt
	Prompt      Text  // own prompt, verbatim
	TG          int64
	TGWanted    bool
	Concurrency int64
}

// Validate reports all faults of the spec, joined.
func (s Spec) Validate() error {
	var f faults
	s.checkPrompts(&f)
	s.checkCounts(&f)
	s.checkWords(&f)
	return errors.Join(f...)
}

// faults are what is wrong with a spec.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (s Spec) checkPrompts(f *faults) {
	switch {
	case len(s.PP) > 0 && len(s.Prompts) > 0:
		f.add("--pp and own prompts exclude each other: give one of them")
	case len(s.PP) == 0 && len(s.Prompts) == 0:
		f.add("nothing to send: give --pp and --tg, or --prompt")
	case len(s.PP) > 0 && len(s.TG) == 0:
		f.add("--pp needs --tg, the number of tokens to generate")
	}
	for _, pp := range s.PP {
		if pp < 1 || pp > maxTokens {
			f.add("--pp %d: must be from 1 to %d", pp, maxTokens)
		}
	}
	for _, p := range s.Prompts {
		if p.Limit == 1 || p.Limit < 0 || p.Limit > maxTokens {
			f.add("a limit of %d tokens for a prompt: must be from 2 to %d", p.Limit, maxTokens)
		}
	}
	if p := s.WarmupPrompt; p != nil && (p.Limit < 0 || p.Limit > maxTokens) {
		f.add("a limit of %d tokens for the warm-up: must be from 1 to %d", p.Limit, maxTokens)
	}
}

func (s Spec) checkCounts(f *faults) {
	for _, tg := range s.TG {
		if tg == 1 {
			f.add("--tg 1: one token has no interval, so there is no generation rate; take at least 2")
		} else if tg < 1 || tg > maxTokens {
			f.add("--tg %d: must be from 2 to %d", tg, maxTokens)
		}
	}
	for _, c := range s.Concurrency {
		if c < 1 || c > maxConcurrency {
			f.add("--concurrency %d: must be from 1 to %d", c, maxConcurrency)
		}
	}
	if s.Repeat < 0 || s.Repeat > maxRepeat {
		f.add("--repeat %d: must be from 1 to %d", s.Repeat, maxRepeat)
	}
	if s.Warmup != nil && (*s.Warmup < 0 || *s.Warmup > maxRepeat) {
		f.add("--warmup %d: must be from 0 to %d", *s.Warmup, maxRepeat)
	}
	if t := s.Temperature; t != nil && !(*t >= 0 && *t <= 100) {
		f.add("--temperature %g: must be from 0 to 100", *t)
	}
}

func (s Spec) checkWords(f *faults) {
	switch s.Streaming {
	case StreamAll, StreamSingle, StreamNone:
	default:
		f.add("streaming %q: must be %q or %q, or empty", s.Streaming, StreamSingle, StreamNone)
	}
	switch s.Cache {
	case "", CacheCold, CachePrefix, CacheServer:
	default:
		f.add("cache mode %q: must be %s, %s or %s", s.Cache, CacheCold, CachePrefix, CacheServer)
	}
	switch s.Order {
	case "", OrderInterleaved, OrderListed:
	default:
		f.add("--order %s: must be %s or %s", s.Order, OrderInterleaved, OrderListed)
	}
}

// Warnings are sentences on what a valid spec will make less exact.
func (s Spec) Warnings() []string {
	if s.Cache != CachePrefix {
		return nil
	}
	out := []string{"--use-prefix-cache: prompt TPS will be approximate, since parts of a prompt may come out of the cache"}
	if !slices.IsSorted(s.PP) {
		out = append(out, "--pp values are not in ascending order: prompt TPS will be less accurate, since a shorter prompt behind a longer one comes out of the cache whole")
	}
	return out
}

// Shapes is the matrix of a valid spec, in the order of its lists: the pairs
// zip where PP and TG are of one length, else each PP meets each TG; every
// pair meets every concurrency.
func (s Spec) Shapes() []Shape {
	var out []Shape
	for _, pair := range s.pairs() {
		for _, c := range s.concurrency() {
			pair.Concurrency = c
			out = append(out, pair)
		}
	}
	return out
}

func (s Spec) pairs() []Shape {
	var out []Shape
	for _, p := range s.Prompts {
		if len(s.TG) == 0 {
			out = append(out, Shape{Prompt: p, TG: cmp.Or(p.Limit, DefaultTG)})
		}
		for _, tg := range s.TG {
			out = append(out, Shape{Prompt: p, TG: tg, TGWanted: true})
		}
	}
	if len(s.PP) == len(s.TG) && !s.AllCombinations {
		for i, pp := range s.PP {
			out = append(out, Shape{PP: pp, TG: s.TG[i], TGWanted: true})
		}
		return out
	}
	for _, pp := range s.PP {
		for _, tg := range s.TG {
			out = append(out, Shape{PP: pp, TG: tg, TGWanted: true})
		}
	}
	return out
}

// caseOf is a shape as a case, so far as the spec alone decides it.
func (s Spec) caseOf(shape Shape) Case {
	c := Case{
		TG: shape.TG, TGWanted: shape.TGWanted, Concurrency: shape.Concurrency,
		CacheMode: s.cache(),
		Streaming: s.Streaming.streams(shape.Concurrency),
	}
	if shape.PP > 0 {
		pp := shape.PP
		c.PP, c.PromptKind = &pp, "sized"
		return c
	}
	c.PromptKind, c.PromptSource = cmp.Or(shape.Prompt.Kind, "own"), PromptText
	c.PromptHash = promptHash(shape.Prompt.Text)
	return c
}

// warmupShape is what warm-ups send: their own prompt, or the first shape's.
func (s Spec) warmupShape() Shape {
	if p := s.WarmupPrompt; p != nil {
		text := Text{Kind: cmp.Or(p.Kind, "warm-up"), Text: p.Text}
		return Shape{Prompt: text, TG: cmp.Or(p.Limit, DefaultTG), Concurrency: 1}
	}
	return s.Shapes()[0]
}

func (s Spec) concurrency() []int64 {
	if len(s.Concurrency) == 0 {
		return []int64{1}
	}
	return s.Concurrency
}

// cache is the mode of all cases.
func (s Spec) cache() CacheMode { return cmp.Or(s.Cache, CacheCold) }

func (s Spec) repeat() int {
	if s.Repeat == 0 {
		return DefaultRepeat
	}
	return s.Repeat
}

func (s Spec) warmup() int {
	if s.Warmup == nil {
		return DefaultWarmup
	}
	return *s.Warmup
}

// Limits bound each request. What a driver asks beside the measured requests
// may take no longer either.
func (s Spec) Limits() Limits {
	return Limits{
		Total: orDefault(s.Timeout, DefaultTimeout),
		First: orDefault(s.FirstTimeout, DefaultFirstTimeout),
		Stall: orDefault(s.StallTimeout, DefaultStallTimeout),
	}
}

// orDefault is d, or def where d is not set; negative means none.
func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return max(d, 0)
}
