package analyze

import (
	"math"

	"tokwatt/collect"
)

// What the client itself may do before its figures are in doubt.
const (
	maxClientCPUPct = 70         // of the cores it may use
	maxWakeupP99NS  = 2_000_000  // lateness of a timer
	maxClockStepNS  = 50_000_000 // wall clock against monotonic clock
)

// exoStreams is how many requests an exo works on at a time unless its target
// says otherwise; behind its plain endpoint nobody does.
const exoStreams = 8

// admitted is how many requests the server works on at a time, nil where that
// is not known; more of them wait in its queue.
func (c *Context) admitted() *int64 {
	if n := count(c.Target.MaxStreams); n != nil || c.Target.Engine != "exo" {
		return n
	}
	return ptr(int64(exoStreams))
}

// batchFlags is what is to be said of a batch as a whole. Each of its requests
// carries these flags too.
func batchFlags(c *Context, b *collect.Batch, e *Energy) flagSet {
	var s flagSet
	s.set(flagClientSaturated, b.ClientCPUPct != nil && *b.ClientCPUPct > maxClientCPUPct ||
		b.WakeupP99NS != nil && *b.WakeupP99NS > maxWakeupP99NS)
	s.set(flagClockStep, b.ClockStepNS > maxClockStepNS || b.ClockStepNS < -maxClockStepNS)
	admitted := c.admitted()
	s.set(flagQueued, admitted != nil && c.Case.Concurrency > *admitted)
	throttled := throttling(b, e)
	s.set(flagThrottled, throttled != nil && *throttled)
	s.set(flagFewPowerSamples, e.few())
	s.set(flagComponentAbove, e != nil && e.ComponentAboveSystem)
	return s
}

// throttling reports whether heat or a power limit held the host back: by its
// own word, because it allowed less than the full speed, or by that of the
// sensors. Nil is unknown, which is not "no": a full speed limit alone says
// nothing of the GPU.
func throttling(b *collect.Batch, e *Energy) *bool {
	if limit := figure(b.SpeedLimitPct); limit != nil && *limit < 100 {
		return ptr(true)
	}
	if hot := e.hot(); b.Throttled == nil || hot != nil && *hot {
		return hot
	}
	return b.Throttled
}

func deriveBatch(c *Context, b *collect.Batch, ds []derivation, marks flagSet, e *Energy) BatchRow {
	row := BatchRow{
		SessionID:   c.SessionID,
		CaseID:      b.CaseID,
		BatchID:     b.BatchID,
		Segment:     b.Segment,
		StartNS:     b.StartNS,
		EndNS:       b.EndNS,
		RepeatIndex: b.RepeatIndex,
		Warmup:      b.Warmup,
		Requests:    int64(len(ds)),

		SpeedLimitPct: figure(b.SpeedLimitPct),
		Throttled:     throttling(b, e),
		ClientCPUPct:  figure(b.ClientCPUPct),
		Flags:         marks.list(),
		WakeupP99NS:   b.WakeupP99NS,
		ClockStepNS:   b.ClockStepNS,
		HostThrottled: b.Throttled,
	}
	for i := range ds {
		if ds[i].row.Status == StatusFailed {
			row.Failed++
		}
	}
	sum := sumTokens(ds)
	row.BatchWallS = batchWall(b, ds)
	row.AggGenTPS = aggGen(c, ds)
	row.AggWallTPS = per(sum.output, row.BatchWallS)
	row.AggSteadyTPS = aggSteady(c, ds)
	row.DispatchSpreadUS = dispatchSpread(b)
	row.energy(e, sum)
	return row
}

// batchWall is the longest elapsed_s, failed requests included. Of a file that
// has the time of a run and of none of its requests it is that of the run.
func batchWall(b *collect.Batch, ds []derivation) *float64 {
	var wall *float64
	placed := len(ds) == 0 // a request has a time of its own
	for i := range ds {
		placed = placed || ds[i].timed() || sent(ds[i].r)
		if x := ds[i].row.ElapsedS; x != nil && (wall == nil || *x > *wall) {
			wall = x
		}
	}
	if !placed && b.EndNS > b.StartNS {
		wall = ptr(since(b.EndNS, b.StartNS) / 1e9)
	}
	return figure(wall)
}

// aggGen is exo's aggregate: the highest rate of a good request × the streams
// asked for. It is an upper bound: it supposes that all streams ran at the
// pace of the fastest, all the time. A rate that can't be true is left out; one
// that stands in for a server's such rate is not.
func aggGen(c *Context, ds []derivation) *float64 {
	best := 0.0
	for i := range ds {
		row := ds[i].row
		if row.Status == StatusOK && row.GenerationTPS != nil && *row.GenerationTPS <= maxGenerationTPS {
			best = max(best, *row.GenerationTPS)
		}
	}
	return positive(ptr(best * float64(c.Case.Concurrency)))
}

// tooMany reports a token count that can't be true: on our own clock it makes a
// rate that no machine reaches.
func (d *derivation) tooMany() bool {
	return d.row.GenerationTPSClient != nil && *d.row.GenerationTPSClient > maxGenerationTPS
}

// tokenSums are the tokens of the good requests of a batch; a sum is nil where
// a part of it is not known or only estimated.
type tokenSums struct {
	output, prompt, uncached *float64
}

func (s tokenSums) total() *float64 {
	if s.output == nil || s.prompt == nil {
		return nil
	}
	return ptr(*s.output + *s.prompt)
}

func sumTokens(ds []derivation) tokenSums {
	s := tokenSums{output: ptr(0.0), prompt: ptr(0.0), uncached: ptr(0.0)}
	good := false
	for i := range ds {
		row := ds[i].row
		if row.Status != StatusOK || ds[i].tooMany() {
			continue
		}
		good = true
		s.output = plus(s.output, ds[i].counted())
		s.prompt = plus(s.prompt, row.PromptTokens)
		s.uncached = plus(s.uncached, row.PromptTokens)
		switch {
		case row.CachedTokens == nil && !ds[i].nothingCached():
			s.uncached = nil // a hit of so many tokens as it does not say
		case row.CachedTokens != nil && s.uncached != nil:
			*s.uncached -= float64(*row.CachedTokens)
		}
	}
	if !good {
		return tokenSums{}
	}
	return s
}

func plus(sum *float64, n *int64) *float64 {
	if sum == nil || n == nil {
		return nil
	}
	return ptr(*sum + float64(*n))
}

// aggSteady is the rate while all N streams were decoding: the tokens that
// arrived in (a, b], a = the latest first output and b = the earliest last
// output of the streams, over b − a. The interval is open at a, because a
// token that arrives at a was made before it. A chunk weighs its own tokens
// where they are known (addUp), else an equal share of its request's. NULL where the
// streams never all decoded at once, or one of them failed.
func aggSteady(c *Context, ds []derivation) *float64 {
	if int64(len(ds)) != c.Case.Concurrency {
		return nil
	}
	a, b := math.Inf(-1), math.Inf(1)
	for i := range ds {
		d := &ds[i]
		if d.row.Status != StatusOK || d.spanS() == nil || d.out.n == 0 || d.counted() == nil || d.tooMany() || !sent(d.r) {
			return nil
		}
		a = max(a, float64(d.r.StartNS)+float64(d.out.first))
		b = min(b, float64(d.r.StartNS)+float64(d.out.last))
	}
	if b <= a {
		return nil
	}
	tokens := 0.0
	for i := range ds {
		tokens += ds[i].tokensWithin(a, b)
	}
	return ratio(tokens, (b-a)/1e9)
}

// tokensWithin is how many tokens arrived in (a, b], on the segment's clock.
func (d *derivation) tokensWithin(a, b float64) float64 {
	share := float64(*d.counted()) / float64(d.out.n)
	sum := 0.0
	for i := range d.r.Chunks {
		ch := &d.r.Chunks[i]
		t := float64(d.r.StartNS) + float64(ch.T)
		switch {
		case !ch.Kind.Output() || t <= a || t > b:
		case d.out.weighed:
			sum += float64(ch.Tokens)
		default:
			sum += share
		}
	}
	return sum
}

// dispatchSpread is the last send − the first send in µs, as measured.
func dispatchSpread(b *collect.Batch) *float64 {
	if len(b.Requests) == 0 || !sent(&b.Requests[0]) {
		return nil
	}
	first, last := b.Requests[0].StartNS, b.Requests[0].StartNS
	for i := range b.Requests {
		if !sent(&b.Requests[i]) {
			return nil
		}
		first = min(first, b.Requests[i].StartNS)
		last = max(last, b.Requests[i].StartNS)
	}
	return finite(ptr(since(last, first) / 1e3))
}
