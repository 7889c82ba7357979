package analyze_test

import (
	"math"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// streams releases n requests together; the k-th begins to answer 100 + 40k ms
// after the start and brings 25 chunks, 20 ms apart.
func streams(n int) (*trial, *collect.Batch) {
	t := newTrial()
	t.cs.TG, t.cs.Concurrency = 25, int64(n)
	t.req.Report.CompletionTokens = ptr(int64(25))
	b := &collect.Batch{StartNS: 1000 * ms}
	for k := range n {
		t.stream(25, int64(100+40*k), 20)
		r := t.req
		r.RequestID = int64(k + 1)
		r.StartNS = b.StartNS
		r.EndNS = r.StartNS + int64(580+40*k)*ms
		b.Requests = append(b.Requests, r)
	}
	return t, b
}

func deriveBatch(t *trial, b *collect.Batch, e *analyze.Energy) analyze.BatchRow {
	row, _ := analyze.Derive(analyze.Context{Target: &t.target, Case: &t.cs}, b, e)
	return row
}

func near(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-3*want {
		t.Errorf("%s = %v, want %v", name, show(got), want)
	}
}

func isNull(t *testing.T, name string, got *float64) {
	t.Helper()
	if got != nil {
		t.Errorf("%s = %v, want NULL", name, *got)
	}
}

func TestBatchOfFourStaggeredStreams(t *testing.T) {
	tr, b := streams(4)
	row := deriveBatch(tr, b, nil)
	near(t, "batch_wall_s", row.BatchWallS, 0.7)
	near(t, "agg_gen_tps", row.AggGenTPS, 200)
	near(t, "agg_wall_tps", row.AggWallTPS, 100/0.7)
	// all four decode from 220 ms (the last one's first) to 580 ms (the first
	// one's last): 18 chunks each arrive in the half-open interval
	near(t, "agg_steady_tps", row.AggSteadyTPS, 72/0.36)
	if row.Requests != 4 || row.Failed != 0 || row.EnergyNullReason != "off" {
		t.Errorf("%+v", row)
	}
	isNull(t, "energy_j", row.EnergyJ)
}

func TestDispatchSpread(t *testing.T) {
	tr, b := streams(3)
	b.Requests[1].StartNS += 30_500
	near(t, "dispatch_spread_us", deriveBatch(tr, b, nil).DispatchSpreadUS, 30.5)
}

func TestSteadyRateWeighsChunksByTheirTokens(t *testing.T) {
	tr, b := streams(1)
	for i := range b.Requests[0].Chunks {
		if c := &b.Requests[0].Chunks[i]; c.Kind == collect.KindContent {
			c.Tokens = 1
		}
	}
	b.Requests[0].Chunks[1].Tokens = 10 // the first, at the open end
	b.Requests[0].Chunks[2].Tokens = 5
	b.Requests[0].Chunks[3].Tokens = 0 // counted with its neighbour
	b.Requests[0].Report.CompletionTokens = ptr(int64(37))
	row := deriveBatch(tr, b, nil)
	near(t, "agg_steady_tps", row.AggSteadyTPS, 27/0.48)
}

// TestTotalsThatDoNotRunUp: servers send all sorts of counts with their chunks.
// Those that do not add up to the count of the whole answer are used nowhere:
// decode_tps is NULL and every chunk weighs the same.
func TestTotalsThatDoNotRunUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		tokens func(i, n int) int32 // of chunk i of n, as they come from running totals
		total  int64
		decode any // tok/s
		steady float64
	}{
		{"one each", func(int, int) int32 { return 1 }, 25, 50.0, 50},
		{"four each", func(int, int) int32 { return 4 }, 100, 200.0, 200},
		{"the end token is counted too", func(int, int) int32 { return 1 }, 26, 25 / 0.48, 50},
		{"the final count with each", func(i, n int) int32 {
			if i == 0 {
				return 25
			}
			return 0
		}, 25, nil, 50},
		{"1 with each", func(i, n int) int32 {
			if i == 0 {
				return 1
			}
			return 0
		}, 25, nil, 50},
		{"begins anew", func(i, n int) int32 {
			if i < n/2 {
				return 1
			}
			return collect.TokensUnknown
		}, 25, nil, 50},
		{"the last is unknown", func(i, n int) int32 {
			if i == n-1 {
				return collect.TokensUnknown
			}
			return 1
		}, 25, nil, 50},
		{"half of it", func(int, int) int32 { return 1 }, 50, nil, 100},
		{"bytes", func(int, int) int32 { return 6 }, 25, nil, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, b := streams(1)
			r := &b.Requests[0]
			r.Report.CompletionTokens = &c.total
			n, i := 0, 0
			for _, ch := range r.Chunks {
				if ch.Kind == collect.KindContent {
					n++
				}
			}
			for k := range r.Chunks {
				if r.Chunks[k].Kind == collect.KindContent {
					r.Chunks[k].Tokens = c.tokens(i, n)
					i++
				}
			}
			row, rows := analyze.Derive(analyze.Context{Target: &tr.target, Case: &tr.cs}, b, nil)
			near(t, "agg_steady_tps", row.AggSteadyTPS, c.steady)
			if c.decode == nil {
				isNull(t, "decode_tps", rows[0].DecodeTPS)
			} else {
				near(t, "decode_tps", rows[0].DecodeTPS, c.decode.(float64))
			}
		})
	}
}

func TestBatchFiguresNeedTheirParts(t *testing.T) {
	for name, c := range map[string]struct {
		spoil                func(*trial, *collect.Batch)
		gen, wall, steady, j bool // there is a figure
	}{
		"good":       {func(*trial, *collect.Batch) {}, true, true, true, true},
		"one failed": {func(_ *trial, b *collect.Batch) { b.Requests[1].Failure = collect.Failf(collect.ErrReset, "x") }, true, true, false, true},
		"all failed": {func(_ *trial, b *collect.Batch) {
			b.Requests[0].Failure = collect.Failf(collect.ErrReset, "x")
			b.Requests[1].Failure = collect.Failf(collect.ErrReset, "x")
		}, false, false, false, false},
		"one estimated":      {func(_ *trial, b *collect.Batch) { b.Requests[1].Report.CompletionTokens = nil }, true, false, false, false},
		"one not streamed":   {func(_ *trial, b *collect.Batch) { b.Requests[1].Streamed = false }, true, true, false, true},
		"one stream missing": {func(t *trial, _ *collect.Batch) { t.cs.Concurrency = 3 }, true, true, false, true},
		"never together":     {func(_ *trial, b *collect.Batch) { b.Requests[1].StartNS += 1000 * ms; b.Requests[1].EndNS += 1000 * ms }, true, true, false, true},
		"no requests":        {func(_ *trial, b *collect.Batch) { b.Requests = nil }, false, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			tr, b := streams(2)
			c.spoil(tr, b)
			row := deriveBatch(tr, b, &analyze.Energy{J: ptr(100.0)})
			for fig, have := range map[string]struct {
				got  *float64
				want bool
			}{"agg_gen_tps": {row.AggGenTPS, c.gen}, "agg_wall_tps": {row.AggWallTPS, c.wall},
				"agg_steady_tps": {row.AggSteadyTPS, c.steady}, "j_per_output_token": {row.JPerOutputToken, c.j}} {
				if (have.got != nil) != have.want {
					t.Errorf("%s = %v", fig, show(have.got))
				}
			}
		})
	}
}

func TestImplausibleRatesDoNotLeadTheBatch(t *testing.T) {
	tr, b := streams(2)
	r := &b.Requests[0].Report
	r.GenerationTPS, r.GenerationRule = ptr(1e6), collect.RateIntervals
	near(t, "agg_gen_tps", deriveBatch(tr, b, nil).AggGenTPS, 100)
}

// A count that no machine reaches takes no part in what came out of a batch; a
// rate of our own that stands in for a server's does.
func TestImplausibleCountsDoNotCarryTheBatch(t *testing.T) {
	tr, b := streams(2)
	b.Requests[0].Report.CompletionTokens = ptr(int64(25_000))
	row := deriveBatch(tr, b, nil)
	near(t, "agg_gen_tps", row.AggGenTPS, 100)
	near(t, "agg_wall_tps", row.AggWallTPS, 25/0.62)
	isNull(t, "agg_steady_tps", row.AggSteadyTPS)

	tr, b = streams(1)
	r := &b.Requests[0].Report
	r.GenerationTPS, r.GenerationRule, r.EvalNS = ptr(1250.0), collect.RateIntervals, ptr(20e6)
	near(t, "agg_gen_tps beside a wrong duration", deriveBatch(tr, b, nil).AggGenTPS, 50)
}

func TestEnergyPerToken(t *testing.T) {
	tr, b := streams(2)
	b.Requests[0].Report.CachedTokens = ptr(int64(14))
	row := deriveBatch(tr, b, &analyze.Energy{J: ptr(100.0), LowJ: ptr(90.0), HighJ: ptr(math.Inf(1)), PrefillJ: ptr(11.4),
		MeanW: ptr(140.0), Scope: "system", Source: "smc", Coverage: "1/1"})
	near(t, "j_per_output_token", row.JPerOutputToken, 2)
	near(t, "j_per_total_token", row.JPerTotalToken, 100.0/178)
	near(t, "prefill_j_per_prompt_token", row.PrefillJPerPromptToken, 0.1)
	near(t, "energy_low_j", row.EnergyLowJ, 90)
	isNull(t, "energy_high_j", row.EnergyHighJ)
	if row.PowerScope != "system" || row.PowerSource != "smc" || row.EnergyCoverage != "1/1" || row.EnergyNullReason != "" {
		t.Errorf("%+v", row)
	}
}

// TestBatchMarks: what the host and the server say of a whole batch is on each
// of its rows.
func TestBatchMarks(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*trial)
		flags     []string
		throttled *bool
		limit     *float64
	}{
		{"nothing known", func(*trial) {}, nil, nil, nil},
		{"told that not", func(t *trial) { t.batch.Throttled = ptr(false) }, nil, ptr(false), nil},
		{"thermal pressure", func(t *trial) { t.batch.Throttled = ptr(true) }, []string{"throttled"}, ptr(true), nil},
		{"a lower speed", func(t *trial) { t.batch.SpeedLimitPct = ptr(99.0) }, []string{"throttled"}, ptr(true), ptr(99.0)},
		{"a lower speed, whatever is said beside", func(t *trial) { t.batch.SpeedLimitPct, t.batch.Throttled = ptr(50.0), ptr(false) },
			[]string{"throttled"}, ptr(true), ptr(50.0)},
		{"full speed of the CPU tells nothing of the GPU", func(t *trial) { t.batch.SpeedLimitPct = ptr(100.0) }, nil, nil, ptr(100.0)},
		{"as many streams as the server admits", func(t *trial) { t.target.MaxStreams, t.cs.Concurrency = ptr(int64(4)), 4 }, nil, nil, nil},
		{"one more", func(t *trial) { t.target.MaxStreams, t.cs.Concurrency = ptr(int64(4)), 5 }, []string{"queued"}, nil, nil},
		{"an exo that takes one at a time", func(t *trial) { t.target.Engine, t.target.MaxStreams, t.cs.Concurrency = "exo", ptr(int64(1)), 2 },
			[]string{"queued"}, nil, nil},
		{"an exo that takes more than is known", func(t *trial) { t.target.Engine, t.target.MaxStreams, t.cs.Concurrency = "exo", ptr(int64(16)), 9 }, nil, nil, nil},
	} {
		tr := newTrial()
		c.change(tr)
		tr.batch.Requests = []collect.Request{tr.req}
		row, rows := analyze.Derive(analyze.Context{Target: &tr.target, Case: &tr.cs}, &tr.batch, nil)
		if !slices.Equal(row.Flags, c.flags) || !slices.Equal(rows[0].Flags, c.flags) {
			t.Errorf("%s: flags %q and %q, want %q", c.name, row.Flags, rows[0].Flags, c.flags)
		}
		if (row.Throttled == nil) != (c.throttled == nil) || c.throttled != nil && *row.Throttled != *c.throttled {
			t.Errorf("%s: throttled %v, want %v", c.name, row.Throttled, c.throttled)
		}
		if !same(row.SpeedLimitPct, c.limit) {
			t.Errorf("%s: speed_limit_pct %v, want %v", c.name, show(row.SpeedLimitPct), show(c.limit))
		}
	}
}
