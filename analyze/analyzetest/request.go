package analyzetest

import (
	"strings"

	"tokwatt/collect"
)

const millisecond = 1e6 // ns

// newBatch releases the streams of a case once; repeat −1 is the warm-up.
func (g *generator) newBatch(t int, info *collect.TargetInfo, c *collect.Case, repeat int) *collect.Batch {
	g.batch++
	g.now += 1000 * millisecond
	b := &collect.Batch{
		CaseID: c.CaseID, BatchID: g.batch, Segment: 1, StartNS: g.now,
		RepeatIndex: int64(max(0, repeat)), Warmup: repeat < 0,
		ClientCPUPct: ptr(2 + 3*g.rnd.Float64()), WakeupP99NS: ptr(int64(60_000 + g.rnd.IntN(40_000))),
		SpeedLimitPct: ptr(100.0), Throttled: ptr(!g.o.Clean && g.batch%7 == 0),
		Requests: make([]collect.Request, c.Concurrency),
	}
	for i := range b.Requests {
		r := &b.Requests[i]
		g.request(t, info, c, b.StartNS+int64(i)*20_000, r)
		r.ConcurrentIndex = int64(i)
		if !g.o.Clean && g.rnd.IntN(15) == 0 {
			g.spoil(r)
		}
		b.EndNS = max(b.EndNS, r.EndNS)
	}
	g.now = b.EndNS
	return b
}

// request is a good one: a role chunk, then a token a chunk, then the counts.
func (g *generator) request(t int, info *collect.TargetInfo, c *collect.Case, start int64, r *collect.Request) {
	g.req++
	noise := func() float64 { return 1 + 0.04*g.rnd.NormFloat64() }
	prefill := float64(400*(t+1)) * noise()     // tok/s
	decode := 30 * float64(t+1) * noise()       // tok/s, alone
	decode /= 1 + 0.15*float64(c.Concurrency-1) // streams share the memory's bandwidth
	ttft := float64(*c.PP) / prefill * 1000     // ms
	gap := 1000 / decode                        // ms
	at := int64(ttft * millisecond)
	chunks := make([]collect.Chunk, 0, g.o.Tokens+2)
	chunks = append(chunks, collect.Chunk{T: millisecond, Bytes: 190, Tokens: collect.TokensUnknown, Kind: collect.KindRole})
	for range g.o.Tokens {
		chunks = append(chunks, collect.Chunk{T: at, Bytes: int32(180 + g.rnd.IntN(20)), Tokens: perChunk(t), Kind: collect.KindContent})
		at += int64(gap * (0.9 + 0.2*g.rnd.Float64()) * millisecond)
	}
	chunks = append(chunks, collect.Chunk{T: at, Bytes: 240, Tokens: collect.TokensUnknown, Kind: collect.KindUsage})
	*r = collect.Request{
		RequestID: g.req, StartNS: start, EndNS: start + at + millisecond/10, PPTokens: c.PP,
		HTTPStatus: ptr(int64(200)), StampSource: collect.StampUser, Streamed: true, OutputChars: int64(4 * g.o.Tokens),
		Preview: strings.Repeat("tok ", min(g.o.Tokens, 50)), Chunks: chunks, Report: g.report(t, info, c, prefill, decode),
	}
	if info.Driver == "inproc" {
		r.HTTPStatus = nil
	}
	if c.CaseID%2 == 0 { // the tokenizer is at hand
		r.Recount = &collect.Recount{Tokens: int64(g.o.Tokens), First: 1}
	}
}

// perChunk is what a chunk says of its tokens: every second server counts.
func perChunk(t int) int32 {
	if t%2 == 0 {
		return 1
	}
	return collect.TokensUnknown
}

func (g *generator) report(t int, info *collect.TargetInfo, c *collect.Case, prefill, decode float64) collect.Report {
	rep := collect.Report{
		Source: collect.ReportServer, Model: info.ServedModel, FinishReason: "length",
		PromptTokens: c.PP, CompletionTokens: ptr(int64(g.o.Tokens)), CachedTokens: ptr(int64(0)),
		JSON: `{"usage":{"completion_tokens":20}}`,
	}
	switch {
	case info.Driver == "inproc":
		rep.Source = collect.ReportEngine
		rep.PeakMemoryBytes = ptr(int64(3 << 30))
		fallthrough
	case info.Engine == "llama.cpp":
		rep.PromptTPS, rep.GenerationTPS, rep.GenerationRule = &prefill, &decode, collect.RateIntervals
	case t%4 == 3: // a server that says nothing of its cache
		rep.CachedTokens = nil
	}
	if c.CacheMode == collect.CachePrefix {
		rep.CachedTokens = ptr([]int64{0, *c.PP / 2, *c.PP - 1}[g.rnd.IntN(3)])
	}
	return rep
}

// spoil gives a good request one of the faults of real ones.
func (g *generator) spoil(r *collect.Request) {
	switch g.rnd.IntN(9) {
	case 0: // refused
		*r = collect.Request{RequestID: r.RequestID, StartNS: r.StartNS, EndNS: r.StartNS + millisecond, PPTokens: r.PPTokens,
			HTTPStatus: ptr(int64(429)), Failure: &collect.Failure{Kind: collect.ErrHTTP, Message: "slow down", HTTPStatus: ptr(int64(429)), RetryAfter: ptr(1.0)}}
	case 1: // cut off midway
		r.Chunks = r.Chunks[:len(r.Chunks)/2]
		r.Failure = collect.Failf(collect.ErrTruncated, "the body ended after %d chunks", len(r.Chunks))
		r.Report, r.Recount = collect.Report{Source: r.Report.Source, Model: r.Report.Model}, nil
	case 2: // no counts
		r.Report.PromptTokens, r.Report.CompletionTokens, r.Report.GenerationTPS, r.Report.PromptTPS = nil, nil, nil, nil
	case 3: // one body
		r.Streamed = false
		r.Chunks = []collect.Chunk{{T: r.EndNS - r.StartNS, Bytes: 900, Tokens: collect.TokensUnknown, Kind: collect.KindContent}}
	case 4: // the end token came early
		r.Report.CompletionTokens, r.Report.FinishReason = ptr(int64(g.o.Tokens/2)), "stop"
	case 5: // from the cache
		r.Report.CachedTokens = r.Report.PromptTokens
	case 6: // tokens, but nothing shown
		r.OutputChars, r.Preview, r.Recount = 0, "", nil
		r.Chunks = r.Chunks[:1]
	case 7: // wrong units
		r.Report.GenerationTPS = ptr(4e7)
	default: // another model
		r.Report.Model = "org/somebody-else"
	}
}
