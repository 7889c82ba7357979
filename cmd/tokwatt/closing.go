package main

import (
	"cmp"
	"slices"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// closing gathers what the lines at the end of a run say. It needs no
// database, so every build can print them; the view summary says more.
type closing struct {
	deriver  *analyze.Deriver
	targets  map[int64]*collect.TargetInfo
	cases    []*caseFigures
	requests int64
	failed   int64
	absent   absences // answers that enter no figure
	lost     []*collect.Lost
	chunked  int64   // requests in figures whose gen is too high
	excess   float64 // by what share at most

	joules      joules // whose figures the joules are
	calibration string // of this client, as the session has it
	late        string // what that says of the figures here; empty: nothing
	// watch sees the rows of each measured batch; may be nil.
	watch func(*analyze.Derived)
}

// caseFigures are the figures of one case's rows in statistics, and of a case
// that is not cold, of those with one kind of hit.
type caseFigures struct {
	Case
	Requests  int64 `json:"requests"`
	NFailed   int64 `json:"n_failed"`
	Cancelled int64 `json:"n_cancelled"`
	Estimated int64 `json:"n_estimated"`
	// Medians over the rows in statistics, nil without any.
	N         int64    `json:"n"`
	NBatches  int64    `json:"n_batches"`
	PromptTPS *float64 `json:"prompt_tps_median"`
	GenTPS    *float64 `json:"generation_tps_median"`
	TokPerSec *float64 `json:"tok_per_sec_median"`
	MixedTPS  *float64 `json:"mixed_tps_median"`
	WallTPS   *float64 `json:"agg_wall_tps_median"`
	TTFT      *float64 `json:"ttft_ms_median"`
	ITL       *float64 `json:"itl_p50_ms_median"`
	JPerToken *float64 `json:"j_per_output_token_median"`

	raw     *collect.Case
	warmed  bool                 // a warm-up was of this case
	samples map[string][]float64 // by metric
}

// Case names a case in the closing lines.
type Case struct {
	Model       string `json:"model_id"`
	PP          *int64 `json:"pp"`
	Depth       *int64 `json:"depth"`
	TG          int64  `json:"tg"`
	Concurrency int64  `json:"concurrency"`
	Kind        string `json:"prompt_kind"`
	Hit         string `json:"prefix_cache_hit,omitempty"` // where the case is not a cold one
}

// add takes note of a record. What it says of batches is complete after finish.
func (c *closing) add(rec collect.Record) {
	if c.deriver == nil {
		c.deriver = analyze.NewDeriver()
	}
	switch rec := rec.(type) {
	case *collect.Session:
		c.calibration = rec.Calibration
	case *collect.TargetInfo:
		if c.targets == nil {
			c.targets = map[int64]*collect.TargetInfo{}
		}
		c.targets[rec.TargetID] = rec
	case *collect.Case:
		if c.targets[rec.TargetID] != nil {
			c.cases = append(c.cases, c.figures(rec, ""))
		}
	case *collect.Lost:
		c.lost = append(c.lost, rec)
	}
	ready, _ := c.deriver.Add(rec) // a batch that belongs nowhere is no figure
	c.derived(ready)
}

func (c *closing) derived(ready []analyze.Derived) {
	for i := range ready {
		switch b := ready[i].Batch; {
		case b == nil:
		case b.Warmup:
			c.of(b.CaseID, "").warmed = true
		default:
			c.batch(&ready[i])
		}
	}
}

// finish computes the medians. A case that is a mere warm-up is dropped.
func (c *closing) finish() {
	if c.deriver != nil {
		c.derived(c.deriver.Finish())
	}
	c.cases = slices.DeleteFunc(c.cases, func(k *caseFigures) bool { return k.warmed && k.Requests == 0 })
	c.groupsOfHits()
	for _, k := range c.cases {
		k.PromptTPS, k.GenTPS = k.median("prompt_tps"), k.median("generation_tps")
		k.TokPerSec, k.MixedTPS = k.median("tok_per_sec"), k.median("mixed_tps")
		k.WallTPS, k.JPerToken = k.median("agg_wall_tps"), k.median(joulesPerToken)
		k.TTFT, k.ITL = k.median("ttft_ms"), k.median("itl_p50_ms")
	}
	if streams := c.networked(); streams > 0 {
		c.late = ownError(c.calibration, streams)
	}
}

// figures begins the figures of a case, of one kind of hit where hits count.
func (c *closing) figures(k *collect.Case, hit string) *caseFigures {
	return &caseFigures{raw: k, samples: map[string][]float64{},
		Case: Case{c.targets[k.TargetID].ModelID, k.PP, k.Depth, k.TG, k.Concurrency, k.PromptKind, hit}}
}

// of finds the figures that a row belongs to: those of its case, where the row
// is in statistics those of its kind of hit.
func (c *closing) of(caseID int64, hit string) *caseFigures {
	i := slices.IndexFunc(c.cases, func(k *caseFigures) bool { return k.raw.CaseID == caseID })
	first := c.cases[i]
	if first.raw.CacheMode == collect.CacheCold || first.Hit == hit || hit == "" {
		return first
	}
	if first.Hit == "" {
		first.Hit = hit
		return first
	}
	for _, k := range c.cases[i:] {
		if k.raw.CaseID == caseID && k.Hit == hit {
			return k
		}
	}
	k := c.figures(first.raw, hit)
	c.cases = slices.Insert(c.cases, i+1, k)
	return k
}

// groupsOfHits puts the kinds of hit of a case in the order of the view summary.
func (c *closing) groupsOfHits() {
	order := map[int64]int{} // of the cases
	for i, k := range c.cases {
		if _, ok := order[k.raw.CaseID]; !ok {
			order[k.raw.CaseID] = i
		}
	}
	slices.SortStableFunc(c.cases, func(a, b *caseFigures) int {
		return cmp.Or(cmp.Compare(order[a.raw.CaseID], order[b.raw.CaseID]), cmp.Compare(a.Hit, b.Hit))
	})
}

func (c *closing) batch(d *analyze.Derived) {
	raw := c.of(d.Batch.CaseID, "").raw
	if c.watch != nil {
		c.watch(d)
	}
	groups := map[*caseFigures]bool{} // those with a row of the batch
	for _, r := range d.Requests {
		c.requests++
		if r.Status == analyze.StatusFailed && r.ErrorKind != string(collect.ErrCancelled) {
			c.failed++
		}
		if !inSummary(r, raw) {
			c.of(d.Batch.CaseID, "").count(r)
			c.absent.add(r, raw, c.targets[raw.TargetID])
			continue
		}
		k := c.of(d.Batch.CaseID, string(r.PrefixCacheHit))
		k.count(r)
		k.row(r)
		groups[k] = true
		c.firstChunk(r)
	}
	for k := range groups {
		k.batch(&d.Row)
	}
	if len(groups) > 0 {
		c.joules.add(&d.Row)
	}
}

// firstChunk takes note of a request whose first chunk brought an unknown
// number of tokens, see firstChunks.
func (c *closing) firstChunk(r analyze.RequestRow) {
	if !slices.Contains(r.Flags, "multi_token_chunks") || r.DecodeTPS != nil || r.GenerationTPSSource != analyze.SourceClient ||
		r.Chunks == nil || *r.Chunks < 2 || r.TokensGenerated == nil {
		return
	}
	c.chunked++
	tokens, chunks := float64(*r.TokensGenerated), float64(*r.Chunks)
	c.excess = max(c.excess, (tokens-chunks)/(tokens*(chunks-1)))
}

// count counts a request.
func (k *caseFigures) count(r analyze.RequestRow) {
	k.Requests++
	switch {
	case r.ErrorKind == string(collect.ErrCancelled):
		k.Cancelled++
	case r.Status == analyze.StatusFailed:
		k.NFailed++
	}
}

// row adds the figures of a request that is in statistics.
func (k *caseFigures) row(r analyze.RequestRow) {
	k.N++
	k.keep("ttft_ms", r.TTFTMS)
	k.keep("itl_p50_ms", r.ITLP50MS)
	if r.InPrefillStats {
		k.keep("prompt_tps", r.PromptTPS)
	}
	if r.TokensSource == analyze.SourceEstimate {
		k.Estimated++
		return
	}
	k.keep("generation_tps", r.GenerationTPS)
	k.keep("mixed_tps", r.MixedTPS)
	if r.TokPerSec != nil && *r.TokPerSec > 0 { // 0: not measurable
		k.keep("tok_per_sec", r.TokPerSec)
	}
}

// batch adds the figures of a batch, by the rule of the view batch_figures: they
// count for each kind of hit that its requests have. Those that hang on an
// estimate it does not have.
func (k *caseFigures) batch(row *analyze.BatchRow) {
	k.NBatches++
	k.keep("agg_wall_tps", row.AggWallTPS)
	k.keep(joulesPerToken, row.JPerOutputToken)
}

// inSummary is the rule of the view summary for the rows of a case.
func inSummary(r analyze.RequestRow, c *collect.Case) bool {
	if c.CacheMode == collect.CacheCold {
		return r.InColdStats
	}
	return r.InStats
}

func (k *caseFigures) keep(metric string, v *float64) {
	if v != nil {
		k.samples[metric] = append(k.samples[metric], *v)
	}
}

// median is that of a metric, nil without a figure.
func (k *caseFigures) median(metric string) *float64 {
	sample, _ := analyze.NewSample(k.samples[metric])
	return sample.Median()
}

// networked is the highest concurrency of the cases that were measured over a
// network, as a calibration is; 0 without any.
func (c *closing) networked() int64 {
	var most int64
	for _, k := range c.cases {
		if c.targets[k.raw.TargetID].Driver != "inproc" {
			most = max(most, k.Concurrency)
		}
	}
	return most
}

// document is the same for --json.
func (c *closing) document(session string, end *collect.End) map[string]any {
	return map[string]any{
		"session_id": session, "status": end.Status, "not_run": end.NotRun,
		"requests": c.requests, "failed": c.failed, "cases": c.cases, "lost": append([]*collect.Lost{}, c.lost...),
	}
}
