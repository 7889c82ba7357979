//go:build cgo

package duck

import (
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// summarize is the reference: the words of the contract as loops.
func summarize(t *testing.T, o analyzetest.Options) []analyze.Summary {
	r := reference{cases: map[int64]*collect.Case{}, targets: map[int64]*collect.TargetInfo{}, counts: map[int64]*analyze.Summary{}, groups: map[refKey]*refGroup{}}
	for rec, err := range analyzetest.Records(o) {
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *collect.Session:
			r.session = rec
		case *collect.TargetInfo:
			r.targets[rec.TargetID] = rec
		case *collect.Case:
			r.cases[rec.CaseID] = rec
		case *collect.Batch:
			r.batch(rec)
		}
	}
	return r.summaries()
}

type reference struct {
	session *collect.Session
	targets map[int64]*collect.TargetInfo
	cases   map[int64]*collect.Case
	counts  map[int64]*analyze.Summary // by case
	groups  map[refKey]*refGroup
}

type refKey struct {
	caseID int64
	hit    string
}

// refGroup holds values by metric and batch, batches in order of time.
type refGroup struct {
	batches map[int64]bool
	values  map[string]map[int64][]float64
}

func (g *refGroup) add(metric string, batch int64, v *float64) {
	if v == nil {
		return
	}
	if g.values[metric] == nil {
		g.values[metric] = map[int64][]float64{}
	}
	g.values[metric][batch] = append(g.values[metric][batch], *v)
}

func (r *reference) batch(b *collect.Batch) {
	c := r.cases[b.CaseID]
	row, requests := analyze.Derive(analyze.Context{SessionID: r.session.ID, Target: r.targets[c.TargetID], Case: c}, b, nil)
	if row.Warmup {
		return
	}
	counted := map[string]bool{}
	for i := range requests {
		q := &requests[i]
		r.count(c, q)
		hit, enters := "", q.InColdStats
		if c.CacheMode != collect.CacheCold {
			hit, enters = string(q.PrefixCacheHit), q.InStats
		}
		if !enters {
			continue
		}
		g := r.group(c.CaseID, hit)
		g.batches[b.BatchID] = true
		isCounted := q.TokensSource != analyze.SourceEstimate
		if before, seen := counted[hit]; !seen || before {
			counted[hit] = isCounted
		}
		for _, m := range analyze.Metrics() {
			v := requestMetrics[m.Name]
			switch {
			case m.Table != "requests", m.Tokens && !isCounted, m.Name == "prompt_tps" && !q.InPrefillStats:
			case m.Name == "tok_per_sec" && q.TokPerSec != nil && *q.TokPerSec == 0:
			default:
				g.add(m.Name, b.BatchID, v(q))
			}
		}
	}
	for hit, all := range counted {
		for _, m := range analyze.Metrics() {
			if m.Table == "batches" && (all || !m.Tokens) {
				r.group(c.CaseID, hit).add(m.Name, b.BatchID, batchMetrics[m.Name](&row))
			}
		}
	}
}

func (r *reference) group(caseID int64, hit string) *refGroup {
	key := refKey{caseID, hit}
	if r.groups[key] == nil {
		r.groups[key] = &refGroup{batches: map[int64]bool{}, values: map[string]map[int64][]float64{}}
	}
	return r.groups[key]
}

func (r *reference) count(c *collect.Case, q *analyze.RequestRow) {
	s := r.counts[c.CaseID]
	if s == nil {
		target := r.targets[c.TargetID]
		s = &analyze.Summary{
			SessionID: r.session.ID, Host: r.session.Host.Name, Date: r.session.StartedAt.UTC().Format("2006-01-02"),
			Engine: target.Engine, EngineVersion: target.EngineVersion, ModelID: target.ModelID, Quantization: target.Quantization,
			TargetID: c.TargetID, CaseID: c.CaseID, PP: c.PP, TG: c.TG, Concurrency: c.Concurrency, CacheMode: string(c.CacheMode),
			PromptKind: c.PromptKind, PromptSource: string(c.PromptSource),
		}
		r.counts[c.CaseID] = s
	}
	add := func(n *int64, when bool) {
		if when {
			*n++
		}
	}
	add(&s.NOK, q.Status == analyze.StatusOK)
	add(&s.NFailed, q.Status == analyze.StatusFailed)
	add(&s.NInvalid, q.Status == analyze.StatusInvalid)
	add(&s.NEstimated, q.TokensSource == analyze.SourceEstimate)
	add(&s.NImplausible, slices.Contains(q.Flags, "implausible"))
	if c.CacheMode == collect.CacheCold {
		add(&s.NCacheHit, slices.Contains(q.Flags, "cache_hit_in_cold"))
	} else {
		add(&s.NCacheHit, q.PrefixCacheHit == analyze.HitPartial || q.PrefixCacheHit == analyze.HitExact)
	}
}

func (r *reference) summaries() []analyze.Summary {
	var out []analyze.Summary
	for caseID, counts := range r.counts {
		some := false
		for key, g := range r.groups {
			if key.caseID == caseID {
				some = true
				out = append(out, g.summary(*counts, key.hit))
			}
		}
		if !some {
			out = append(out, (&refGroup{}).summary(*counts, ""))
		}
	}
	return out
}

func (g *refGroup) summary(s analyze.Summary, hit string) analyze.Summary {
	s.PrefixCacheHit, s.NBatches, s.Stats = hit, int64(len(g.batches)), map[string]analyze.Stat{}
	for _, m := range analyze.Metrics() {
		s.Stats[m.Name] = refStat(g.values[m.Name])
	}
	medians, _ := analyze.NewSample(s.Stats["generation_tps"].Points)
	s.CV = medians.CV()
	s.Stability = analyze.Stability(s.CV)
	return s
}

func refStat(byBatch map[int64][]float64) analyze.Stat {
	var all, medians []float64
	var order []int64
	for id := range byBatch {
		order = append(order, id)
	}
	slices.Sort(order)
	for _, id := range order {
		all = append(all, byBatch[id]...)
		sample, _ := analyze.NewSample(byBatch[id])
		medians = append(medians, *sample.Median())
	}
	sample, _ := analyze.NewSample(all)
	stat := analyze.Stat{N: int64(len(all)), Median: sample.Median(), Mean: sample.Mean(), SD: sample.SD(),
		P90: sample.Percentile(90), P99: sample.Percentile(99), Points: medians}
	ofBatches, _ := analyze.NewSample(medians)
	if i := ofBatches.MedianInterval(); i != nil {
		stat.Lo, stat.Hi, stat.Coverage = &i.Lo, &i.Hi, &i.Coverage
	}
	return stat
}

var requestMetrics = map[string]func(*analyze.RequestRow) *float64{
	"prompt_tps":             func(r *analyze.RequestRow) *float64 { return r.PromptTPS },
	"generation_tps":         func(r *analyze.RequestRow) *float64 { return r.GenerationTPS },
	"generation_tps_client":  func(r *analyze.RequestRow) *float64 { return r.GenerationTPSClient },
	"generation_tps_server":  func(r *analyze.RequestRow) *float64 { return r.GenerationTPSServer },
	"decode_tps":             func(r *analyze.RequestRow) *float64 { return r.DecodeTPS },
	"tok_per_sec":            func(r *analyze.RequestRow) *float64 { return r.TokPerSec },
	"mixed_tps":              func(r *analyze.RequestRow) *float64 { return r.MixedTPS },
	"ttft_ms":                func(r *analyze.RequestRow) *float64 { return r.TTFTMS },
	"ttft_client_ms":         func(r *analyze.RequestRow) *float64 { return r.TTFTClientMS },
	"first_chunk_ms":         func(r *analyze.RequestRow) *float64 { return r.FirstChunkMS },
	"first_text_ms":          func(r *analyze.RequestRow) *float64 { return r.FirstTextMS },
	"total_duration_ms":      func(r *analyze.RequestRow) *float64 { return r.TotalDurationMS },
	"response_ms":            func(r *analyze.RequestRow) *float64 { return r.ResponseMS },
	"generation_duration_ms": func(r *analyze.RequestRow) *float64 { return r.GenerationDurationMS },
	"load_duration_ms":       func(r *analyze.RequestRow) *float64 { return r.LoadDurationMS },
	"itl_p50_ms":             func(r *analyze.RequestRow) *float64 { return r.ITLP50MS },
	"itl_p99_ms":             func(r *analyze.RequestRow) *float64 { return r.ITLP99MS },
	"itl_max_ms":             func(r *analyze.RequestRow) *float64 { return r.ITLMaxMS },
	"elapsed_s":              func(r *analyze.RequestRow) *float64 { return r.ElapsedS },
}

var batchMetrics = map[string]func(*analyze.BatchRow) *float64{
	"batch_wall_s":               func(b *analyze.BatchRow) *float64 { return b.BatchWallS },
	"agg_gen_tps":                func(b *analyze.BatchRow) *float64 { return b.AggGenTPS },
	"agg_wall_tps":               func(b *analyze.BatchRow) *float64 { return b.AggWallTPS },
	"agg_steady_tps":             func(b *analyze.BatchRow) *float64 { return b.AggSteadyTPS },
	"dispatch_spread_us":         func(b *analyze.BatchRow) *float64 { return b.DispatchSpreadUS },
	"energy_j":                   func(b *analyze.BatchRow) *float64 { return b.EnergyJ },
	"avg_power_w":                func(b *analyze.BatchRow) *float64 { return b.AvgPowerW },
	"j_per_output_token":         func(b *analyze.BatchRow) *float64 { return b.JPerOutputToken },
	"j_per_total_token":          func(b *analyze.BatchRow) *float64 { return b.JPerTotalToken },
	"prefill_j_per_prompt_token": func(b *analyze.BatchRow) *float64 { return b.PrefillJPerPromptToken },
}
