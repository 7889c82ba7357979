package exchange

import (
	"math"
	"slices"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// settling holds the requests of a batch against their rows: what the rows say
// and the facts do not yet is brought into the facts.
//
// Of some facts a row has nothing but the flag that they set. Then the least
// value stands that sets it, and nothing else follows from it: an answer that
// was shown has one character, a recount that differs differs by just too much,
// a rate that can't be true is just above the limit, and a negative figure is
// −1.
type settling struct {
	context analyze.Context
	batch   *collect.Batch
	rows    []row
}

// What sets a flag at least (see measurement in package analyze).
const (
	lateTimer    = 2_000_001  // ns: client_saturated
	steppedClock = 50_000_001 // ns: clock_step
	untrueRate   = 2_000_001  // tok/s: implausible
)

// settleBatch brings in what flags of a batch alone tell.
func settleBatch(b *collect.Batch, r row) {
	if r.flag("client_saturated") && (b.ClientCPUPct == nil || *b.ClientCPUPct <= 70) {
		b.WakeupP99NS = new(int64)
		*b.WakeupP99NS = lateTimer
	}
	if r.flag("clock_step") {
		b.ClockStepNS = steppedClock
	}
	if b.SpeedLimitPct == nil || *b.SpeedLimitPct >= 100 {
		b.Throttled = r.truth("throttled")
	}
}

// run goes on until nothing is to be brought in: one fact may hide another.
func (s *settling) run() {
	const most = 8
	for range most {
		_, derived := analyze.Derive(s.context, s.batch, nil)
		changed := false
		for i := range s.rows {
			changed = s.request(s.rows[i], &s.batch.Requests[i], &derived[i]) || changed
		}
		if !changed {
			return
		}
	}
}

// request brings in what a row says and was not derived, one thing at a time.
func (s *settling) request(r row, req *collect.Request, d *analyze.RequestRow) bool {
	lacks := func(flag string) bool { return r.flag(flag) && !slices.Contains(d.Flags, flag) }
	switch {
	case slices.Contains(d.Flags, "hidden_output") && !r.flag("hidden_output"), d.ErrorKind != "" && r.text("error_kind") == "":
		if req.OutputChars > 0 {
			return false
		}
		req.OutputChars = 1
	case string(d.PrefixCacheHit) != r.text("prefix_cache_hit"):
		if req.Report.PrefixCacheHit != "" {
			return false
		}
		req.Report.PrefixCacheHit = r.text("prefix_cache_hit")
	case slices.Contains(d.Flags, "implausible") && !r.flag("implausible") && s.context.Target.Driver != "ollama" && (req.Report.PromptEvalNS != nil || req.Report.EvalNS != nil):
		req.Report.PromptEvalNS, req.Report.EvalNS = nil, nil // its statistics say more than was used
	case !same(d.GenerationTPSServer, r.number("generation_tps_server")):
		return serverRate(r, req)
	case !says(r, "prompt_tps") && told(string(d.PromptTPSSource)) && d.PromptTPS != nil && !slices.Contains(d.Stated, "prompt_tps"):
		if req.Report.PromptTPS == nil {
			return r.flag("implausible") && untrue(r, req)
		}
		req.Report.PromptTPS = nil // its statistics say more than was used
	case says(r, "prompt_tps") && !same(d.PromptTPS, r.number("prompt_tps")):
		if same(req.Report.PromptTPS, r.number("prompt_tps")) {
			return false
		}
		req.Report.PromptTPS = r.number("prompt_tps")
	case d.DecodeTPS == nil && r.number("decode_tps") != nil:
		return recountFirst(r, req, d)
	case lacks("count_mismatch"):
		return recountApart(req, d)
	case lacks("implausible"):
		return untrue(r, req)
	case lacks("bad_figure"):
		return negative(r, req)
	default:
		return false
	}
	return true
}

func same(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// serverRate takes the server's own rate of generation, where its durations
// give another one.
func serverRate(r row, req *collect.Request) bool {
	rep, rate := &req.Report, r.number("generation_tps_server")
	if rate == nil || same(rep.GenerationTPS, rate) {
		return false
	}
	rep.GenerationTPS, rep.GenerationRule = rate, ruleOf(r)
	return true
}

// recountFirst finds the tokens of the first chunk from the rate that leaves
// them out.
func recountFirst(r row, req *collect.Request, d *analyze.RequestRow) bool {
	var first, last *int64
	for i := range req.Chunks {
		if c := &req.Chunks[i]; c.Kind.Output() {
			if first == nil {
				first = &c.T
			}
			last = &c.T
		}
	}
	if first == nil || d.TokensGenerated == nil || req.Recount != nil && req.Recount.First > 0 {
		return false
	}
	n := *d.TokensGenerated
	k := float64(n) - *r.number("decode_tps")*float64(*last-*first)/1e9
	if !(k > 0.5 && k < float64(n)) {
		return false
	}
	req.Recount = &collect.Recount{Tokens: n, First: int64(math.Round(k))}
	return true
}

// recountApart makes a recount that differs from the server's count.
func recountApart(req *collect.Request, d *analyze.RequestRow) bool {
	if d.TokensGenerated == nil || req.Recount != nil && req.Recount.Tokens != *d.TokensGenerated {
		return false
	}
	if req.Recount == nil {
		req.Recount = &collect.Recount{}
	}
	n := *d.TokensGenerated
	req.Recount.Tokens = n + 1 + int64(max(2, 0.02*float64(n)))
	return true
}

// untrue makes a figure that can't be true, in a place where it is replaced by
// none that the row has.
func untrue(r row, req *collect.Request) bool {
	rep, rate := &req.Report, float64(untrueRate)
	if rep.PromptTPS == nil {
		rep.PromptTPS = &rate
		return true
	}
	if rep.TotalNS == nil && r.number("response_ms") != nil {
		ns := 21 * *r.number("response_ms") * 1e6
		rep.TotalNS = &ns
		return true
	}
	return false
}

// negative makes a negative figure in a place that the row has nothing of.
func negative(r row, req *collect.Request) bool {
	below, none := -1.0, int64(-1)
	switch rep := &req.Report; {
	case rep.LoadNS == nil:
		rep.LoadNS = &below
	case rep.TotalNS == nil:
		rep.TotalNS = &below
	case rep.PeakMemoryBytes == nil:
		rep.PeakMemoryBytes = &none
	case rep.ReasoningTokens == nil:
		rep.ReasoningTokens = &none
	default:
		return false
	}
	return true
}
