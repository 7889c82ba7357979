package analyze

import (
	"math"
	"strings"

	"tokwatt/collect"
)

// outputs is what the arrivals of a request tell of its output.
type outputs struct {
	n         int64  // arrivals that brought output
	first     int64  // T of the first of them, if begun
	last      int64  // T of the last of them, if ended
	begun     bool   // the time of the first output is known
	ended     bool   // the time of the last output is known
	firstText *int64 // T of the first visible text
	firstTok  *int64 // tokens of the first output arrival, where known
	weighed   bool   // what the arrivals say of their own tokens may be used: addUp
	together  bool   // an arrival bears the stamp of the one before: they came in one read
	backwards bool   // an arrival is stamped before its predecessor, or before the start
}

func findOutputs(r *collect.Request) outputs {
	o := findArrivals(r.Chunks)
	o.begun, o.ended = o.n > 0, o.n > 0
	if r.Stated != nil && o.n == 0 {
		o.state(r.Stated)
	}
	return o
}

func findArrivals(chunks []collect.Chunk) outputs {
	var o outputs
	prev := int64(0)
	for i := range chunks {
		c := &chunks[i]
		if c.T < prev {
			o.backwards = true
		}
		prev = c.T
		if !c.Kind.Output() {
			continue
		}
		if o.n == 0 {
			o.first = c.T
			if c.Tokens > 0 { // beside output a count of 0 is no count
				o.firstTok = ptr(int64(c.Tokens))
			}
		} else if c.T == o.last {
			o.together = true
		}
		if o.firstText == nil && c.Kind == collect.KindContent {
			o.firstText = &c.T
		}
		o.last = c.T
		o.n++
	}
	return o
}

// shown reports whether the request brought any output.
func (d *derivation) shown() bool { return d.out.n > 0 || d.r.OutputChars > 0 }

// counts fills the token counts.
//
// tokens_generated is the server's own count. A 0 beside output counts as
// absent. Without one it is a recount by the model's tokenizer, and without
// that an estimate from the characters of the text, four a token and at least
// one; never the number of chunks, which are not tokens. Without output there
// is nothing to count.
//
// prompt_tokens is the server's own count, and there too 0 is no count.
func (d *derivation) counts() {
	rep, row := &d.r.Report, d.row
	row.PromptTokens = count(rep.PromptTokens)
	if row.PromptTokens != nil && *row.PromptTokens == 0 {
		row.PromptTokens = nil
	}
	row.CachedTokens = count(rep.CachedTokens)
	row.ReasoningTokens = count(rep.ReasoningTokens)
	row.PeakMemoryBytes = count(rep.PeakMemoryBytes)

	n := count(rep.CompletionTokens)
	switch {
	case n != nil && (*n > 0 || !d.shown()):
		row.TokensGenerated, row.TokensSource = n, d.told()
		d.flags.set(flagCountMismatch, d.recounted() && apart(*n, d.r.Recount.Tokens))
	case d.recounted():
		row.TokensGenerated, row.TokensSource = &d.r.Recount.Tokens, SourceTokenizer
	case d.shown():
		row.TokensGenerated, row.TokensSource = ptr(max(1, d.r.OutputChars/4)), SourceEstimate
	}
	d.flags.set(flagEstimatedTokens, d.estimated())
	if d.out.weighed = d.addUp(); !d.out.weighed {
		d.out.firstTok = d.firstRecounted()
	}

	d.flags.set(flagCoalescedReads, d.out.together)
	if d.r.Streamed && (d.out.n > 0 || !d.imported()) {
		row.Chunks = ptr(d.out.n)
		if n := d.counted(); n != nil && d.out.n > 0 {
			d.flags.set(flagMultiTokenChunks, float64(*n)/float64(d.out.n) > 1.05)
		}
	}
}

// recounted reports whether the output was counted with the model's tokenizer.
func (d *derivation) recounted() bool {
	return d.shown() && d.r.Recount != nil && d.r.Recount.Tokens > 0
}

// firstRecounted is the number of tokens in the first output chunk by recount.
func (d *derivation) firstRecounted() *int64 {
	if !d.recounted() || d.r.Recount.First < 1 || d.r.Recount.First > d.r.Recount.Tokens {
		return nil
	}
	return &d.r.Recount.First
}

// apart reports whether the server's count and ours differ by more than
// max(2, 2 %): the end token is often counted and never shown.
func apart(server, ours int64) bool {
	return math.Abs(since(server, ours)) > max(2, 0.02*float64(server))
}

// addUp reports whether the token counts of the single arrivals are to be
// believed: each output arrival has one, they sum to n (but for max(1, 2 %): the
// end token is often counted and not shown), and more than half of them, where
// there are several, bring a token. Else none of them is used.
//
// They come from running totals that a server sends with its events. Some send
// the same figure with each (the final count, or 1), or begin anew, or count
// something else; of such an answer the first chunk would seem to hold all
// tokens, or the stream to be a fraction of what it was.
func (d *derivation) addUp() bool {
	n := d.counted()
	if n == nil || d.out.n == 0 {
		return false
	}
	sum, idle := int64(0), int64(0)
	for i := range d.r.Chunks {
		switch c := &d.r.Chunks[i]; {
		case !c.Kind.Output():
		case c.Tokens < 0:
			return false
		case c.Tokens == 0:
			idle++
		default:
			sum += int64(c.Tokens)
		}
	}
	if d.out.n > 1 && 2*idle >= d.out.n {
		return false
	}
	return math.Abs(since(sum, *n)) <= max(1, 0.02*float64(*n))
}

func (d *derivation) estimated() bool { return d.row.TokensSource == SourceEstimate }

// counted is n where somebody counted it. Rates are made of nothing else: a
// rate of an estimated count would be a guess with a unit.
func (d *derivation) counted() *int64 {
	if d.estimated() {
		return nil
	}
	return d.row.TokensGenerated
}

// lengths judges the lengths against what was asked.
//
// Fewer tokens than a wanted length is short_output, more than the limit
// long_output, both only where the count is not an estimate. prompt_mismatch:
// the server counts another number of prompt tokens than were sent, or a
// complete answer has no count to compare.
func (d *derivation) lengths() {
	cs := d.c.Case
	if n := d.counted(); n != nil {
		d.flags.set(flagShortOutput, cs.TGWanted && *n < cs.TG)
		d.flags.set(flagLongOutput, cs.TG > 0 && *n > cs.TG)
	}
	if pp := d.promptAsked(); pp != nil {
		got := d.row.PromptTokens
		d.flags.set(flagPromptMismatch, got == nil && d.complete() || got != nil && *got != *pp)
	}
}

// promptAsked is the length that the prompt was made to have; of a sized prompt
// whose length could not be verified before, the length of the case.
func (d *derivation) promptAsked() *int64 {
	if d.r.PPTokens != nil {
		return d.r.PPTokens
	}
	return d.c.Case.PP
}

// promptFits reports whether the prompt is near enough to the length asked
// for: apart by at most 2 tokens or 1 %. Unknown lengths fit.
func (d *derivation) promptFits() bool {
	pp, got := d.promptAsked(), d.row.PromptTokens
	if pp == nil || got == nil {
		return true
	}
	diff := since(*got, *pp)
	return max(diff, -diff) <= max(2, 0.01*float64(*pp))
}

// cache fills prefix_cache_hit: the server's own word where it has one; else
// from cached_tokens, where all but one token is an exact hit, because engines
// always compute the last one anew. Ollama says exact by leaving the prompt's
// count out, or giving 0.
//
// cache_hit_in_cold marks a hit in a cold case, unless no more is cached than
// the chat template's part before the prompt, which all requests share (see
// pastHead).
func (d *derivation) cache() {
	d.row.PrefixCacheHit = d.hit()
	if d.c.Case.CacheMode != collect.CacheCold {
		return
	}
	switch d.row.PrefixCacheHit {
	case HitExact:
		d.flags.set(flagCacheHitInCold, true)
	case HitPartial:
		d.flags.set(flagCacheHitInCold, d.row.CachedTokens == nil || d.pastHead())
	}
}

func (d *derivation) hit() CacheHit {
	switch word := CacheHit(d.r.Report.PrefixCacheHit); word {
	case HitNone, HitPartial, HitExact:
		return word
	}
	cached, prompt := d.row.CachedTokens, d.row.PromptTokens
	switch {
	case d.c.ollama() && d.complete() && prompt == nil:
		return HitExact
	case cached == nil:
		return HitUnknown
	case *cached == 0:
		return HitNone
	case prompt != nil && *cached >= *prompt-1:
		return HitExact
	}
	return HitPartial
}

// nonceChance is how many tokens of a prompt's opening may be cached by chance.
// An opening is six words, each one of 64. A server that never forgets a
// prefix knows every first word after 64 prompts, and of n prompts n / 64
// share the first; n / 4096 are expected to share the second as well, n /
// 262144 the third, and with it no run gets to.
const nonceChance = 2

// pastHead reports whether more is cached than the template's head (unknown:
// 0 tokens) and, behind it, what openings have in common by chance.
func (d *derivation) pastHead() bool {
	head := int64(0)
	if h := d.c.Case.TemplateHeadTokens; h != nil {
		head = *h
	}
	if d.c.Case.ColdMethod == "nonce" {
		head += nonceChance
	}
	return d.row.CachedTokens != nil && *d.row.CachedTokens > head
}

// model sets model_mismatch where another model answered than was asked. Names
// are compared by their last part: a path, a hub id and the base name of
// either are the same model. A server that does not say is not suspected.
func (d *derivation) model() {
	served := baseName(d.row.ServedModel)
	d.flags.set(flagModelMismatch, served != "" && served != baseName(d.c.Target.ModelID))
}

func baseName(model string) string {
	model = strings.TrimRight(model, `/\`)
	return model[strings.LastIndexAny(model, `/\`)+1:]
}
