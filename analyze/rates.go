package analyze

import "tokwatt/collect"

// minSpanS is the shortest span that a rate is made of: under it the clock's
// and the network's grain are most of the figure.
const minSpanS = 0.01

// rates fills the columns of rates.
func (d *derivation) rates() {
	row := d.row
	row.GenerationTPSServer = d.serverGeneration()
	row.GenerationTPSClient = d.clientGeneration()
	row.DecodeTPS = d.decode()
	row.TokPerSec = d.tokPerSec()
	row.PromptTPS, row.PromptTPSSource = d.prompt()
	row.GenerationTPS, row.GenerationTPSSource = d.generation()
	d.stateRates()
}

// prompt is the server's prefill rate if it reports a plausible one, else
// (prompt_tokens − cached_tokens) / TTFT on our clock: with a partial hit the
// rate of the part that was computed. After an exact hit next to nothing was,
// so there is no client's figure.
func (d *derivation) prompt() (*float64, Source) {
	if x := d.serverPrompt(); x != nil && *x <= maxPromptTPS && !d.bad.promptEval {
		return x, d.told()
	}
	n, ttft := d.uncached(), positive(d.row.TTFTClientMS)
	if d.row.PrefixCacheHit == HitExact || n == nil || ttft == nil {
		return nil, ""
	}
	if x := ratio(*n, *ttft/1e3); x != nil {
		return x, SourceClient
	}
	return nil, ""
}

// uncached is how many prompt tokens had to be computed, nil where that is not
// known or none. Where the server admits a hit and does not say of how many
// tokens, it is not known; where it says nothing of its cache, all of them.
func (d *derivation) uncached() *float64 {
	prompt, cached := d.row.PromptTokens, d.row.CachedTokens
	if prompt == nil || cached == nil && !d.nothingCached() {
		return nil
	}
	n := float64(*prompt)
	if cached != nil {
		n -= float64(*cached)
	}
	return positive(&n)
}

// serverPrompt is the prefill rate that the server states. Ollama states a
// count and a duration instead; the count includes what was cached, the
// duration does not.
func (d *derivation) serverPrompt() *float64 {
	rep := &d.r.Report
	if x := positive(rep.PromptTPS); x != nil || !d.c.ollama() {
		return x
	}
	ns, n := positive(rep.PromptEvalNS), d.uncached()
	if ns == nil || n == nil {
		return nil
	}
	return ratio(*n, *ns/1e9)
}

// nothingCached reports whether the server claims no cached tokens.
func (d *derivation) nothingCached() bool {
	return d.row.PrefixCacheHit == HitNone || d.row.PrefixCacheHit == HitUnknown
}

// generation is the server's rate where it is plausible and its formula is
// (n − 1) / span, the same as ours; else the client's.
func (d *derivation) generation() (*float64, Source) {
	row := d.row
	if x := row.GenerationTPSServer; x != nil && d.r.Report.GenerationRule == collect.RateIntervals &&
		*x <= maxGenerationTPS && !d.bad.eval {
		return x, d.told()
	}
	if row.GenerationTPSClient != nil {
		return row.GenerationTPSClient, SourceClient
	}
	return nil, ""
}

// serverGeneration is the generation rate that the server states, verbatim; a
// 0.0 is no rate. Ollama states a count and a duration instead.
func (d *derivation) serverGeneration() *float64 {
	rep := &d.r.Report
	if x := positive(rep.GenerationTPS); x != nil || !d.c.ollama() {
		return x
	}
	ns, n := positive(rep.EvalNS), d.counted()
	if ns == nil || n == nil || *n == 0 {
		return nil
	}
	return ratio(float64(*n), *ns/1e9)
}

// clientGeneration is (n − 1) / (last output − first output): n tokens have
// n − 1 intervals. NULL with fewer than two tokens or a span under 0.01 s.
func (d *derivation) clientGeneration() *float64 {
	return d.overSpan(1)
}

// decode is (n − k) / (last output − first output), k = the tokens that came
// with the first output. It is free of the bias that (n − 1) has where the
// first chunk carries several tokens; NULL where k is not known, or the chunks' counts
// do not add up to n.
func (d *derivation) decode() *float64 {
	if d.out.firstTok == nil {
		return nil
	}
	return d.overSpan(*d.out.firstTok)
}

// overSpan is (n − k) / span, nil unless n > k and the span is long enough.
func (d *derivation) overSpan(k int64) *float64 {
	n, span := d.counted(), d.spanS()
	if n == nil || *n <= k || span == nil || *span < minSpanS {
		return nil
	}
	return ratio(float64(*n-k), *span)
}

// tokPerSec is asiai's M1: n / (total − TTFT), for Ollama n / eval_duration;
// 0.0, for "not measurable", where that time is under 0.01 s. NULL where there
// is no such time. It alone of the rates takes an estimated n, as its rule says.
func (d *derivation) tokPerSec() *float64 {
	n := d.row.TokensGenerated
	if n == nil {
		return nil
	}
	var seconds float64
	switch row := d.row; {
	case d.c.ollama():
		if row.GenerationDurationMS == nil {
			return nil
		}
		seconds = *row.GenerationDurationMS / 1e3
	case row.TTFTMS == nil || row.TotalDurationMS == nil:
		return nil
	default:
		seconds = (*row.TotalDurationMS - *row.TTFTMS) / 1e3
	}
	if seconds < minSpanS {
		return ptr(0.0)
	}
	return ratio(float64(*n), seconds)
}
