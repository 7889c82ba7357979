package analyze

import "tokwatt/collect"

// status settles what became of the request.
//
// A request that failed is failed, whatever else is wrong with it. A complete
// answer is invalid where its figures contradict each other: total < TTFT
// (ttft_exceeds_total), a negative time, a figure of the server that is
// negative or not finite (bad_figure), or tokens counted but no output shown
// (hidden_output). The figures stay on the row; no statistic takes them.
func (d *derivation) status() {
	row := d.row
	tokens := row.TokensGenerated != nil && *row.TokensGenerated > 0
	silent := !d.shown() && !d.imported() // a file need not have the text
	d.flags.set(flagHiddenOutput, d.complete() && tokens && silent)
	d.flags.set(flagBadFigure, d.badFigure())
	d.flags.set(flagTTFTExceedsTotal, row.TTFTMS != nil && row.TotalDurationMS != nil && *row.TTFTMS > *row.TotalDurationMS)
	switch {
	case !d.complete():
		row.Status = StatusFailed
	case !tokens && silent:
		row.Status = StatusFailed
		row.ErrorKind = string(collect.ErrEmpty)
		row.Error = "the answer was complete, without any output and without a token count"
	case d.flags.has(flagHiddenOutput), d.flags.has(flagBadFigure), d.flags.has(flagTTFTExceedsTotal):
		row.Status = StatusInvalid
	default:
		row.Status = StatusOK
	}
}

// badFigure reports whether a figure of the server is negative or not finite,
// or a time on our own clock runs backwards.
func (d *derivation) badFigure() bool {
	rep := &d.r.Report
	for _, x := range []*float64{rep.PromptTPS, rep.GenerationTPS, rep.PromptEvalNS, rep.EvalNS, rep.LoadNS, rep.TotalNS} {
		if x != nil && figure(x) == nil {
			return true
		}
	}
	for _, n := range []*int64{rep.PromptTokens, rep.CompletionTokens, rep.ReasoningTokens, rep.CachedTokens, rep.PeakMemoryBytes} {
		if n != nil && *n < 0 {
			return true
		}
	}
	return d.out.backwards || d.r.EndNS < d.r.StartNS || d.r.StartNS < d.b.StartNS
}

// selections decides which statistics the row may enter; SQL filters on these
// three columns and on nothing else.
//
//   - in_stats: ok, not a warm-up, not implausible, not short, and the prompt
//     of the length asked for (see promptFits)
//   - in_cold_stats: in_stats, of a cold case, no exact hit, and no more cached
//     than the template's head (see pastHead)
//   - in_prefill_stats: in_stats and no exact hit
func (d *derivation) selections() {
	row := d.row
	row.InStats = row.Status == StatusOK && !d.b.Warmup && !d.flags.has(flagImplausible) &&
		!d.flags.has(flagShortOutput) && d.promptFits()
	fresh := row.InStats && row.PrefixCacheHit != HitExact
	row.InPrefillStats = fresh
	row.InColdStats = fresh && d.c.Case.CacheMode == collect.CacheCold && !d.pastHead()
}
