package analyze

// Rates above these have not been seen on any machine; they come of wrong
// units or of a proxy that held the tokens back.
const (
	maxGenerationTPS = 20_000
	maxPromptTPS     = 2_000_000
)

// A server's duration that differs from ours by more than this factor is in
// another unit, provided that ours is long enough to tell.
const (
	maxDurationFactor = 20
	minComparableMS   = 20
)

// badDurations says which of the server's durations can't be true.
type badDurations struct {
	total, promptEval, eval bool
}

// plausibleDurations compares what the server states with our own clock. With
// several streams the two measure different things (a request waits for its
// turn on our clock alone), so it is done for one stream only.
//
// The time to load a model is part of the response and of our TTFT, but may be
// missing in the server's other durations: it is taken off both sides.
func (d *derivation) plausibleDurations() {
	if d.c.Case.Concurrency != 1 || !d.complete() {
		return
	}
	rep, row := &d.r.Report, d.row
	load := 0.0
	if row.LoadDurationMS != nil {
		load = *row.LoadDurationMS
	}
	d.bad.total = contradicts(less(msOf(rep.TotalNS), load), less(row.ResponseMS, load))
	if span := d.spanS(); span != nil {
		d.bad.eval = contradicts(msOf(rep.EvalNS), ptr(*span*1e3))
	}
	if d.nothingCached() {
		d.bad.promptEval = contradicts(msOf(rep.PromptEvalNS), less(row.TTFTClientMS, load))
	}
	d.flags.set(flagImplausible, d.bad != badDurations{})
}

func less(x *float64, by float64) *float64 {
	if x == nil {
		return nil
	}
	return finite(ptr(*x - by))
}

// contradicts compares a stated duration with ours, both in ms. A stated 0 is
// a duration too short to be measured, not a wrong one.
func contradicts(stated, ours *float64) bool {
	if stated == nil || ours == nil || *stated <= 0 || *ours < minComparableMS {
		return false
	}
	return *stated > *ours*maxDurationFactor || *ours > *stated*maxDurationFactor
}

// plausibleRates flags a rate that is too high to be true, whoever states it.
// A server's rate of this kind has been replaced by the client's already.
func (d *derivation) plausibleRates() {
	row := d.row
	over := func(x *float64, limit float64) bool { return x != nil && *x > limit }
	d.flags.set(flagImplausible, over(row.GenerationTPSServer, maxGenerationTPS) ||
		over(row.GenerationTPSClient, maxGenerationTPS) ||
		over(row.PromptTPS, maxPromptTPS) || over(d.serverPrompt(), maxPromptTPS))
}
