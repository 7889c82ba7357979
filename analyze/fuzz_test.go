package analyze_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// FuzzDerive makes batches of odd values from a seed and holds what must be
// true of any row, whatever was recorded.
func FuzzDerive(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, streams uint8) {
		o := oddities{rand.New(rand.NewPCG(seed, 7))}
		c, b := o.batch(int(streams % 5))
		row, rows := analyze.Derive(c, b, o.energy())
		if len(rows) != len(b.Requests) || row.Requests != int64(len(rows)) {
			t.Fatalf("%d requests gave %d rows, the batch says %d", len(b.Requests), len(rows), row.Requests)
		}
		allFinite(t, reflect.ValueOf(row))
		for i := range rows {
			allFinite(t, reflect.ValueOf(rows[i]))
			checkRow(t, &rows[i], &b.Requests[i], c.Case)
		}
	})
}

// allFinite walks the figures of a row.
func allFinite(t *testing.T, row reflect.Value) {
	for i := range row.NumField() {
		x, ok := row.Field(i).Interface().(*float64)
		if ok && x != nil && (math.IsNaN(*x) || math.IsInf(*x, 0)) {
			t.Errorf("%s = %v", row.Type().Field(i).Name, *x)
		}
	}
}

// checkRow holds the invariants of a request's row.
func checkRow(t *testing.T, r *analyze.RequestRow, req *collect.Request, cs *collect.Case) {
	hold := func(what string, ok bool) {
		if !ok {
			t.Errorf("%s: does not hold for %+v", what, *r)
		}
	}
	ok := r.Status == analyze.StatusOK
	hold("failed exactly when there is an error kind", (r.Status == analyze.StatusFailed) == (r.ErrorKind != ""))
	hold("a failure is failed", req.Failure == nil || r.Status == analyze.StatusFailed)
	hold("in_stats needs ok", !r.InStats || ok)
	hold("in_cold_stats needs in_stats and a cold case", !r.InColdStats || r.InStats && cs.CacheMode == collect.CacheCold)
	hold("in_prefill_stats needs in_stats and no exact hit", !r.InPrefillStats || r.InStats && r.PrefixCacheHit != analyze.HitExact)
	for _, x := range []*float64{r.TTFTMS, r.TTFTClientMS, r.FirstChunkMS, r.FirstTextMS, r.TotalDurationMS, r.ResponseMS, r.ElapsedS, r.ITLP50MS} {
		hold("ok needs times that are not negative", !ok || x == nil || *x >= 0)
	}
	if ok && r.TTFTMS != nil && r.TotalDurationMS != nil {
		hold("ok needs total ≥ TTFT", *r.TotalDurationMS >= *r.TTFTMS)
	}
	for _, x := range []*float64{r.PromptTPS, r.GenerationTPS, r.GenerationTPSClient, r.GenerationTPSServer, r.DecodeTPS} {
		hold("a rate is above 0 or NULL", x == nil || *x > 0)
	}
	hold("a rate has a source", (r.PromptTPS == nil) == (r.PromptTPSSource == "") && (r.GenerationTPS == nil) == (r.GenerationTPSSource == ""))
	hold("a count has a source", (r.TokensGenerated == nil) == (r.TokensSource == ""))
	hold("prompt_tokens is above 0 or NULL", r.PromptTokens == nil || *r.PromptTokens > 0)
	hold("not streamed, no client times", req.Streamed || r.TTFTClientMS == nil && r.FirstChunkMS == nil && r.Chunks == nil && r.GenerationTPSClient == nil)
	hold("the median gap is at most the longest", r.ITLP50MS == nil || *r.ITLP50MS <= *r.ITLMaxMS)
}

// oddities draws values that real servers, or broken ones, may bring.
type oddities struct{ *rand.Rand }

func (o oddities) int() int64 {
	odd := []int64{0, 1, -1, 2, 3, 100, 1e6, 1e9, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1}
	if o.IntN(3) == 0 {
		return odd[o.IntN(len(odd))]
	}
	return o.Int64N(1 << (1 + o.IntN(40)))
}

func (o oddities) optInt() *int64 {
	if o.IntN(3) == 0 {
		return nil
	}
	return ptr(o.int())
}

func (o oddities) optFloat() *float64 {
	odd := []float64{0, math.Copysign(0, -1), -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-300, 5e4}
	switch o.IntN(4) {
	case 0:
		return nil
	case 1:
		return &odd[o.IntN(len(odd))]
	}
	return ptr(o.ExpFloat64() * math.Pow(10, float64(o.IntN(12))))
}

func (o oddities) batch(n int) (analyze.Context, *collect.Batch) {
	modes := []collect.CacheMode{collect.CacheCold, collect.CachePrefix, ""}
	drivers := []string{"openai", "ollama", "inproc", "exo"}
	c := analyze.Context{
		Target: &collect.TargetInfo{Driver: drivers[o.IntN(4)], Engine: "exo", ModelID: "m", MaxStreams: o.optInt()},
		Case: &collect.Case{TG: o.int(), TGWanted: o.IntN(2) == 0, TemplateHeadTokens: o.optInt(), Concurrency: int64(n),
			CacheMode: modes[o.IntN(3)], Streaming: o.IntN(2) == 0},
	}
	if o.IntN(10) == 0 {
		c.Case.Concurrency = o.int()
	}
	b := &collect.Batch{StartNS: o.int(), EndNS: o.int(), ClientCPUPct: o.optFloat(), WakeupP99NS: o.optInt(), ClockStepNS: o.int(), SpeedLimitPct: o.optFloat()}
	for range n {
		b.Requests = append(b.Requests, o.request(b.StartNS))
	}
	return c, b
}

func (o oddities) request(start int64) collect.Request {
	r := collect.Request{StartNS: start, PPTokens: o.optInt(), Streamed: o.IntN(4) > 0, OutputChars: o.Int64N(100), Report: o.report()}
	if o.IntN(4) == 0 {
		r.StartNS = o.int()
	}
	r.EndNS = r.StartNS + o.Int64N(1e10)
	if o.IntN(3) == 0 {
		r.Recount = &collect.Recount{Tokens: o.int(), First: o.int()}
	}
	if o.IntN(8) == 0 {
		r.EndNS, r.OutputChars = o.int(), o.int()
	}
	if o.IntN(5) == 0 {
		r.Failure = &collect.Failure{Kind: collect.ErrReset, RetryAfter: o.optFloat()}
	}
	t := int64(0)
	for range o.IntN(12) {
		t += o.Int64N(1e8)
		c := collect.Chunk{T: t, Tokens: int32(o.IntN(6) - 1), Kind: collect.ChunkKind(o.IntN(8))}
		if o.IntN(40) == 0 {
			c.T = o.int()
		}
		r.Chunks = append(r.Chunks, c)
	}
	return r
}

func (o oddities) report() collect.Report {
	hits := []string{"", "none", "partial", "exact", "perhaps"}
	rules := []collect.RateRule{collect.RateIntervals, collect.RateTokens, ""}
	r := collect.Report{PromptTokens: o.optInt(), CompletionTokens: o.optInt(), CachedTokens: o.optInt(), PrefixCacheHit: hits[o.IntN(5)]}
	r.JSON = []string{"", "{", `{"power_usage":null}`, `{"power_usage":{"elapsed_seconds":1e308,"total_energy_joules":0,"nodes":[{"avg_sys_power":1e300}]}}`,
		`{"power_usage":{"elapsed_seconds":2,"total_energy_joules":-5,"nodes":[{"samples":1,"avg_sys_power":60}]}}`}[o.IntN(5)]
	if o.IntN(2) == 0 {
		r.PromptTPS, r.GenerationTPS, r.GenerationRule = o.optFloat(), o.optFloat(), rules[o.IntN(3)]
		r.PromptEvalNS, r.EvalNS, r.LoadNS, r.TotalNS = o.optFloat(), o.optFloat(), o.optFloat(), o.optFloat()
	}
	return r
}

func (o oddities) energy() *analyze.Energy {
	if o.IntN(2) == 0 {
		return nil
	}
	return &analyze.Energy{J: o.optFloat(), LowJ: o.optFloat(), HighJ: o.optFloat(), PartialJ: o.optFloat(), PrefillJ: o.optFloat(), MeanW: o.optFloat()}
}
