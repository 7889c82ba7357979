//go:build cgo

package duck

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// TestSummaryAgainstGo computes every summary of a small fleet from the rows
// that analyze.Derive makes, in Go and in memory, and compares it with what
// came through Parquet and SQL.
func TestSummaryAgainstGo(t *testing.T) {
	root := t.TempDir()
	var want []analyze.Summary
	o := analyzetest.Options{Targets: 4, PP: []int64{128, 512}, Repeats: 7, Tokens: 6}
	for s := range analyzetest.Fleet(5, 2, o) {
		export(t, root, s)
		want = append(want, summarize(t, s)...)
	}
	slices.SortFunc(want, func(a, b analyze.Summary) int {
		return cmp.Or(cmp.Compare(a.SessionID, b.SessionID), cmp.Compare(a.TargetID, b.TargetID),
			cmp.Compare(a.CaseID, b.CaseID), cmp.Compare(a.PrefixCacheHit, b.PrefixCacheHit))
	})
	db := open(t, Options{Roots: []string{root}})
	got, err := db.Summaries(t.Context(), SummaryFilter{Points: true})
	if err != nil {
		t.Fatal(err)
	}
	compareSummaries(t, got, want)
	if n := slices.IndexFunc(want, func(s analyze.Summary) bool { return s.PrefixCacheHit == "partial" }); n < 0 {
		t.Error("no prefix case among the data: the test shows less than it should")
	}
	one, err := db.Summaries(t.Context(), SummaryFilter{Sessions: []string{want[0].SessionID, "no-such-id"}, Points: true})
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(want, func(s analyze.Summary) bool { return s.SessionID != want[0].SessionID })
	compareSummaries(t, one, want[:n])
}

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

func compareSummaries(t *testing.T, got, want []analyze.Summary) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d summaries, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		id := fmt.Sprintf("session %s target %d case %d hit %q", w.SessionID, w.TargetID, w.CaseID, w.PrefixCacheHit)
		for _, m := range analyze.Metrics() {
			compareStats(t, id+" "+m.Name, g.Stats[m.Name], w.Stats[m.Name])
		}
		if !near(g.CV, w.CV) {
			t.Errorf("%s: cv %s, want %s", id, show(g.CV), show(w.CV))
		}
		if !nearInt(g.PP, w.PP) {
			t.Errorf("%s: pp %v, want %v", id, g.PP, w.PP)
		}
		g.Stats, g.CV, g.PP, w.Stats, w.CV, w.PP = nil, nil, nil, nil, nil, nil
		if fmt.Sprint(g) != fmt.Sprint(w) {
			t.Errorf("%s:\n got %+v\nwant %+v", id, g, w)
		}
		if t.Failed() {
			return
		}
	}
}

func compareStats(t *testing.T, id string, got, want analyze.Stat) {
	t.Helper()
	if got.N != want.N {
		t.Errorf("%s: n %d, want %d", id, got.N, want.N)
	}
	for _, f := range []struct {
		name      string
		got, want *float64
	}{
		{"median", got.Median, want.Median}, {"lo", got.Lo, want.Lo}, {"hi", got.Hi, want.Hi}, {"coverage", got.Coverage, want.Coverage},
		{"mean", got.Mean, want.Mean}, {"sd", got.SD, want.SD}, {"p90", got.P90, want.P90}, {"p99", got.P99, want.P99},
	} {
		if !near(f.got, f.want) {
			t.Errorf("%s: %s %s, want %s", id, f.name, show(f.got), show(f.want))
		}
	}
	if !slices.EqualFunc(got.Points, want.Points, func(a, b float64) bool { return near(&a, &b) }) {
		t.Errorf("%s: points %v, want %v", id, got.Points, want.Points)
	}
}

// near allows for the order in which threads add up.
func near(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) <= 1e-9*max(1e-3, math.Abs(*b))
}

func nearInt(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

func show(x *float64) string {
	if x == nil {
		return "NULL"
	}
	return fmt.Sprint(*x)
}
