package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

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
	short    int64 // answers that ended before the wanted length

	joules      joules // whose figures the joules are
	calibration string // of this client, as the session has it
	late        string // what that says of the figures here; empty: nothing
	// watch sees the rows of each measured batch; may be nil.
	watch func(*analyze.Derived)
}

// caseFigures are the figures of one case's rows in statistics.
type caseFigures struct {
	Case
	Requests  int64 `json:"requests"`
	NFailed   int64 `json:"n_failed"`
	Cancelled int64 `json:"n_cancelled"`
	Estimated int64 `json:"n_estimated"`
	// Medians over the rows in statistics, nil without any.
	N         int64    `json:"n"`
	PromptTPS *float64 `json:"prompt_tps_median"`
	GenTPS    *float64 `json:"generation_tps_median"`
	WallTPS   *float64 `json:"agg_wall_tps_median"`
	TTFT      *float64 `json:"ttft_ms_median"`
	JPerToken *float64 `json:"j_per_output_token_median"`

	raw     *collect.Case
	warmed  bool // a warm-up was of this case
	samples struct{ prompt, gen, wall, ttft, joules []float64 }
}

// Case names a case in the closing lines.
type Case struct {
	Model       string `json:"model_id"`
	PP          *int64 `json:"pp"`
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
	for _, k := range c.cases {
		k.PromptTPS, k.GenTPS = median(k.samples.prompt), median(k.samples.gen)
		k.WallTPS, k.TTFT = median(k.samples.wall), median(k.samples.ttft)
		k.JPerToken = median(k.samples.joules)
	}
	if streams := c.networked(); streams > 0 {
		c.late = ownError(c.calibration, streams)
	}
}

// figures begins the figures of a case, of one kind of hit where hits count.
func (c *closing) figures(k *collect.Case, hit string) *caseFigures {
	return &caseFigures{raw: k, Case: Case{c.targets[k.TargetID].ModelID, k.PP, k.TG, k.Concurrency, k.PromptKind, hit}}
}

// of finds the figures that a row belongs to.
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

func (c *closing) batch(d *analyze.Derived) {
	b, row, requests := d.Batch, &d.Row, d.Requests
	k := c.of(b.CaseID, "")
	if c.watch != nil {
		c.watch(d)
	}
	counts := false // the batch has a row in the figures
	for _, r := range requests {
		c.requests++
		if r.Status == analyze.StatusFailed && r.ErrorKind != string(collect.ErrCancelled) {
			c.failed++
		}
		if slices.Contains(r.Flags, "short_output") {
			c.short++
		}
		c.of(b.CaseID, string(r.PrefixCacheHit)).row(r)
		counts = counts || inSummary(r, k.raw)
	}
	if counts {
		keep(&k.samples.wall, row.AggWallTPS)
		keep(&k.samples.joules, row.JPerOutputToken)
		c.joules.add(row)
	}
}

// row adds a request.
func (k *caseFigures) row(r analyze.RequestRow) {
	k.Requests++
	switch {
	case r.ErrorKind == string(collect.ErrCancelled):
		k.Cancelled++
	case r.Status == analyze.StatusFailed:
		k.NFailed++
	}
	if !inSummary(r, k.raw) {
		return
	}
	k.N++
	keep(&k.samples.ttft, r.TTFTMS)
	if r.TokensSource == analyze.SourceEstimate {
		k.Estimated++
		return
	}
	keep(&k.samples.gen, r.GenerationTPS)
	if r.InPrefillStats {
		keep(&k.samples.prompt, r.PromptTPS)
	}
}

// inSummary is the rule of the view summary for the rows of a case.
func inSummary(r analyze.RequestRow, c *collect.Case) bool {
	if c.CacheMode == collect.CacheCold {
		return r.InColdStats
	}
	return r.InStats
}

func keep(list *[]float64, v *float64) {
	if v != nil {
		*list = append(*list, *v)
	}
}

func median(list []float64) *float64 {
	sample, _ := analyze.NewSample(list)
	return sample.Median()
}

// write prints a line a case, under each model: the medians over its rows in
// statistics.
func (c *closing) write(w io.Writer) {
	if len(c.cases) == 0 {
		return
	}
	for i := 0; i < len(c.cases); {
		j := i
		for j < len(c.cases) && c.cases[j].raw.TargetID == c.cases[i].raw.TargetID {
			j++
		}
		fmt.Fprintln(w, c.cases[i].Model)
		writeCases(w, c.cases[i:j])
		i = j
	}
	fmt.Fprintln(w, "medians; prefill and gen per stream, all: tokens of the batch over its wall time")
	for _, note := range c.notes() {
		fmt.Fprintln(w, note)
	}
}

// notes say why rows are missing from the figures.
func (c *closing) notes() []string {
	var out []string
	if c.short > 0 {
		out = append(out, fmt.Sprintf("%d of %s ended before the wanted length and are in no figure:", c.short, plural(c.requests, "answer")),
			"  --tokenizer DIR, the model's folder, bans its end token where the server allows it")
	}
	var estimated, cancelled int64
	for _, k := range c.cases {
		estimated += k.Estimated
		cancelled += k.Cancelled
	}
	if estimated > 0 {
		out = append(out, plural(estimated, "answer")+" had no token count: in the times, not in the rates")
	}
	if cancelled > 0 {
		out = append(out, plural(cancelled, "request")+" cancelled by you")
	}
	if note := c.joules.note(); note != "" {
		out = append(out, note)
	}
	if c.late != "" {
		out = append(out, c.late)
	}
	return out
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

func writeCases(w io.Writer, cases []*caseFigures) {
	hits := slices.ContainsFunc(cases, func(k *caseFigures) bool { return k.Hit != "" })
	energy := slices.ContainsFunc(cases, func(k *caseFigures) bool { return k.JPerToken != nil })
	header := []any{"pp", "tg", "conc", "prefill\ntok/s", "gen\ntok/s", "all\ntok/s", "TTFT\nms", "n", "failed"}
	if energy {
		header = slices.Insert(header, 7, any("J/tok"))
	}
	right := len(header)
	if hits {
		header = append(header, "hit")
	}
	t := newTable(w, header...)
	rightAligned(t, upTo(right)...)
	for _, k := range cases {
		row := []any{promptLength(k.PP, k.raw.CaseID, cases), k.TG, k.Concurrency, figure(k.PromptTPS), figure(k.GenTPS), figure(k.WallTPS), figure(k.TTFT), k.N, count(k.NFailed)}
		if energy {
			row = slices.Insert(row, 7, any(figure(k.JPerToken)))
		}
		if hits {
			row = append(row, k.Hit)
		}
		t.AppendRow(row)
	}
	t.Render()
}

// upTo are the numbers from 1 to n.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

// promptLength is the column pp: the length, or which prompt it was.
func promptLength(pp *int64, caseID int64, cases []*caseFigures) string {
	own := 0
	for _, k := range cases {
		if k.raw.CaseID == caseID && k.raw.PromptKind != "own" && pp == nil {
			return k.raw.PromptKind
		}
		if k.PP == nil {
			own++
		}
	}
	if pp != nil {
		return strconv.FormatInt(*pp, 10)
	}
	if own < 2 {
		return "own"
	}
	return fmt.Sprintf("own #%d", caseID)
}

// document is the same for --json.
func (c *closing) document(session string, end *collect.End) map[string]any {
	return map[string]any{
		"session_id": session, "status": end.Status, "not_run": end.NotRun,
		"requests": c.requests, "failed": c.failed, "cases": c.cases,
	}
}

// clip shortens s to n characters.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
