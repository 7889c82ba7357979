package exchange_test

import (
	"iter"
	"math"
	"math/rand/v2"
	"strings"

	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// mutated is a session of four engines, Ollama among them, whose requests have
// every fault that a flag tells of, one or two each, and whose sensors are those
// of the targets, of other machines, or may not be read. It has two segments.
func mutated(seed uint64) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		again := collect.Segment{}
		for rec, err := range analyzetest.Records(analyzetest.Options{Seed: seed, Targets: 4, Repeats: 3, PP: []int64{128, 4096}, Power: seed%2 == 1}) {
			switch r := rec.(type) {
			case *collect.Session:
				r.Calibration, r.Note, r.Label, r.Host.OnBattery = `{"a":1}`, "n", "l", some(true)
			case *collect.Segment:
				again = *r
			case *collect.Sensors:
				r.Channels[0].Range, r.Channels[0].RefreshNS, r.Channels[0].Stamped = 40, 500_000_000, true
				r.Channels[1].Devices = 2
				for _, more := range []collect.Record{
					&collect.Sensors{Segment: 1, TargetID: 3, EveryNS: 3e9, Channels: []collect.Channel{{Node: "mac-1", Source: "exo", Scope: "system", Metric: "power", Unit: "W"}}},
					&collect.Lost{Segment: 1, Model: "gone", Message: "no \"memory\""}, &collect.Lost{Segment: 1, Message: "an engine died"},
				} {
					if !yield(more, nil) {
						return
					}
				}
			case *collect.End:
				r.NotRun = 17
			case *collect.TargetInfo:
				r.ServedModel, r.DownloadS, r.ModelBytes, r.MaxStreams = "org/m", some(1.5), some(int64(1<<30)), some(int64(2))
				switch r.TargetID {
				case 2:
					r.Driver, r.Engine = "ollama", "ollama"
				case 3:
					r.Driver, r.Engine, r.Nodes = "exo", "exo", []string{"mac-0", "mac-1"}
				case 4:
					r.Endpoint, r.Unlisted = "http://far.example:80/v1", true
				}
			case *collect.Case:
				c := *r // the generator goes on with its own
				r, rec = &c, &c
				if r.CaseID%3 == 0 {
					r.EOSBan, r.PP, r.PromptKind, r.PromptHash = "engine", nil, "own", "abc"
				}
				r.TGWanted = r.EOSBan != "" || r.CaseID%2 == 0
			case *collect.Batch:
				mutateBatch(rnd, r)
			case *collect.Idle:
				if r.TargetID == 4 { // from here on it is another process
					again.Segment = 2
					if !yield(&again, nil) {
						return
					}
				}
			}
			if again.Segment == 2 {
				onward(rec)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// onward moves a record to the second segment.
func onward(rec collect.Record) {
	switch r := rec.(type) {
	case *collect.Batch:
		r.Segment = 2
	case *collect.Idle:
		r.Segment = 2
	case *collect.Samples:
		r.Segment = 2
	}
}

func mutateBatch(rnd *rand.Rand, b *collect.Batch) {
	switch rnd.IntN(6) {
	case 0:
		b.WakeupP99NS = some(int64(3_000_000))
	case 1:
		b.ClockStepNS = -80_000_000
	case 2:
		b.ClientCPUPct = some(90.0)
	case 3:
		b.SpeedLimitPct, b.Throttled = some(60.0), nil
	}
	for i := range b.Requests {
		r := &b.Requests[i]
		for range 1 + rnd.IntN(2) {
			mutateRequest(rnd, r)
		}
	}
}

func mutateRequest(rnd *rand.Rand, r *collect.Request) {
	rep := &r.Report
	x := rnd.Float64()
	switch rnd.IntN(26) {
	case 0:
		rep.PromptTPS = some(3e6)
	case 1:
		rep.PromptTPS = some(-1.0)
	case 2:
		rep.GenerationTPS, rep.GenerationRule = some(30*x), collect.RateTokens
	case 3:
		rep.GenerationTPS, rep.GenerationRule = some(30*x), collect.RateIntervals
	case 4:
		rep.PromptEvalNS, rep.EvalNS, rep.TotalNS, rep.LoadNS = some(math.Round(4e8*x)), some(math.Round(7e8*x)), some(math.Round(12e8*x)), some(math.Round(1e7*x))
	case 5:
		rep.TotalNS = some(1.0)
	case 6:
		rep.CachedTokens = some(int64(40 * x))
	case 7:
		rep.CachedTokens, rep.PrefixCacheHit = nil, "partial"
	case 8:
		rep.CompletionTokens, rep.PromptTokens = some(int64(0)), some(int64(0))
	case 9:
		rep.CompletionTokens = some(int64(-3))
	case 10:
		r.Recount = &collect.Recount{Tokens: 1 + int64(40*x), First: 1 + int64(3*x)}
	case 11:
		rep.CompletionTokens, r.Recount = nil, nil
	case 12:
		r.Chunks, r.OutputChars, r.Preview, r.Recount = nil, 0, "", nil
		rep.CompletionTokens = nil
	case 13:
		r.UncleanEnd = true
	case 14:
		r.Streamed = false
	case 15:
		r.Failure = &collect.Failure{Kind: collect.ErrTimeout, Message: "waited", RetryAfter: some(x)}
	case 16:
		for i := range r.Chunks {
			r.Chunks[i].Tokens = collect.TokensUnknown
		}
		r.Recount = &collect.Recount{Tokens: 20, First: 2}
	case 17:
		r.StampSource = collect.StampKernel
	case 18:
		if len(r.Chunks) > 3 {
			r.Chunks[1].T, r.Chunks[2].T = r.Chunks[2].T, r.Chunks[1].T
		}
	case 19:
		for i := range r.Chunks {
			r.Chunks[i].Kind = collect.ChunkKind(i % 7)
		}
	case 20:
		r.OutputChars, r.Preview = 3000, strings.Repeat("é", 200)
	case 21:
		rep.ReasoningTokens, rep.PeakMemoryBytes, rep.Model = some(int64(3)), some(int64(-1)), "other"
	case 22:
		rep.JSON = `{"timings":{"prompt_ms":900000,"predicted_ms":1,"prompt_per_second":1000}}`
		rep.PromptEvalNS, rep.EvalNS, rep.PromptTPS = some(9e11), some(1e6), some(1000.0)
	case 23:
		rep.PromptTPS, rep.TotalNS = some(math.NaN()), some(math.NaN())
	case 24:
		r.OutputChars, r.Recount = 1<<40, &collect.Recount{Tokens: 1 << 41}
	default:
		rep.JSON = `{"power_usage":{"elapsed_seconds":1.5,"total_energy_joules":30,"nodes":[{"node_id":"mac-0","samples":3,"avg_sys_power":12,"prefill_energy_joules":2},{"node_id":"mac-1","samples":2,"avg_sys_power":8,"prefill_energy_joules":1}]}}`
	}
}

func some[T any](x T) *T { return &x }
