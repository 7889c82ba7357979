package prompt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tokwatt/collect"
)

// CountFunc says how many tokens the engine makes of a prompt.
type CountFunc func(ctx context.Context, p collect.Prompt) (collect.Counted, error)

// Options of a Sizer.
type Options struct {
	Atom   string               // what a prompt is made of; default DefaultAtom
	Fresh  bool                 // every prompt opens with words of its own
	Source collect.PromptSource // how Count knows; default calibrated
}

// DefaultAtom adds exactly one token each in every tokenizer we know of, so
// that every length over the template's own can be had. A trailing space, as
// in "a ", costs one more token at the end of the prompt in some.
const DefaultAtom = " a"

// Sizer is a collect.Prompter over a count function. It is not safe for
// concurrent use.
type Sizer struct {
	count CountFunc
	opts  Options
	sizes map[int64]size
	fresh *openings // what prompts open with where nobody may have seen them

	ready   bool
	silent  error   // the engine did not answer in time
	system  bool    // the nonce goes into a system message
	slope   float64 // tokens an atom
	minimum int64   // tokens of a prompt of one atom
	head    *int64  // tokens that two openings have in common, as the engine says
}

// size is a prompt length that has been prepared.
type size struct {
	atoms    int
	verified *int64
}

var _ collect.Prompter = (*Sizer)(nil)

// New makes a Sizer.
func New(count CountFunc, opts Options) *Sizer {
	if opts.Atom == "" {
		opts.Atom = DefaultAtom
	}
	if opts.Source == "" {
		opts.Source = collect.PromptCalibrated
	}
	return &Sizer{count: count, opts: opts, sizes: map[int64]size{}, fresh: newOpenings(words[:])}
}

// Source says how the lengths are known.
func (s *Sizer) Source() collect.PromptSource { return s.opts.Source }

// Head is the template's part before the prompt: what the engine had cached of
// a prompt whose opening was new. Nil where it does not say.
func (s *Sizer) Head() *int64 { return s.head }

// Build returns a prepared prompt; of a length that was not prepared, one of
// about that length.
func (s *Sizer) Build(pp int64) (collect.Prompt, *int64) {
	z, ok := s.sizes[pp]
	if !ok {
		z.atoms = about(pp, s.slope, s.opts.Atom)
	}
	return s.prompt(z.atoms), z.verified
}

// prompt is n atoms, behind an opening where one is wanted.
func (s *Sizer) prompt(n int) collect.Prompt {
	text := strings.Repeat(s.opts.Atom, n)
	switch {
	case !s.opts.Fresh:
		return collect.Prompt{User: text}
	case s.system:
		return collect.Prompt{System: s.fresh.next(), User: text}
	}
	return collect.Prompt{User: s.fresh.next() + text}
}

// The two lengths, in atoms, through which the line is drawn.
const (
	shortFit = 1
	longFit  = 33
)

// fit draws the line from two tiny prompts, once.
func (s *Sizer) fit(ctx context.Context) error {
	if s.ready {
		return nil
	}
	if s.opts.Fresh {
		takes, err := s.takesSystem(ctx)
		if err != nil {
			return err
		}
		s.system = takes
	}
	short, err := s.count(ctx, s.prompt(shortFit))
	if err != nil {
		return err
	}
	long, err := s.count(ctx, s.prompt(longFit))
	if err != nil {
		return err
	}
	s.slope = float64(long.PromptTokens-short.PromptTokens) / (longFit - shortFit)
	if s.slope == 0 {
		return &atomError{s.opts.Atom, fmt.Sprintf("the server's count stays at %d however long the prompt is, so no length can be fitted: its context window may be that small, or %q makes no tokens",
			long.PromptTokens, clip(s.opts.Atom)), 0}
	}
	if s.slope < 0 {
		return &atomError{s.opts.Atom, fmt.Sprintf("the server counts %d tokens for %d times %q and %d for %d times, so no length can be fitted",
			short.PromptTokens, shortFit, clip(s.opts.Atom), long.PromptTokens, longFit), 0}
	}
	s.minimum = short.PromptTokens
	s.ready = true
	s.noteHead(long)
	return nil
}

// takesSystem finds out whether the chat template renders a system message, by
// sending a short one and one of twice the length. Some refuse it, and some
// drop it silently.
func (s *Sizer) takesSystem(ctx context.Context) (bool, error) {
	one, err := s.count(ctx, collect.Prompt{System: s.fresh.next(), User: s.opts.Atom})
	if refused(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	two, err := s.count(ctx, collect.Prompt{System: s.fresh.next() + s.fresh.next(), User: s.opts.Atom})
	if err != nil {
		return false, err
	}
	return two.PromptTokens-one.PromptTokens >= nonceWords, nil
}

// refused reports an answer that says no, as against none.
func refused(err error) bool {
	var f *collect.Failure
	return errors.As(err, &f) && (f.Kind == collect.ErrHTTP || f.Kind == collect.ErrServer)
}

// noteHead learns the template's head from a prompt whose opening was new: the
// engine can only have had cached what stands before it. More than a whole
// short prompt is no head but a cache that our openings do not keep out.
func (s *Sizer) noteHead(c collect.Counted) {
	if !s.opts.Fresh || c.CachedTokens == nil || *c.CachedTokens > s.minimum {
		return
	}
	if s.head == nil || *c.CachedTokens > *s.head {
		s.head = c.CachedTokens
	}
}

// tries bounds the search for one length; a straight line needs one.
const tries = 8

// Size finds the number of atoms that makes exactly pp tokens and verifies it
// with the engine.
//
// An engine that does not answer in time is asked no more: each further length
// would cost as long, and fail alike.
func (s *Sizer) Size(ctx context.Context, pp int64) error {
	if s.silent != nil {
		return s.silent
	}
	err := s.find(ctx, pp)
	var f *collect.Failure
	if errors.As(err, &f) && (f.Kind == collect.ErrStall || f.Kind == collect.ErrTimeout) {
		s.silent = err
	}
	return err
}

func (s *Sizer) find(ctx context.Context, pp int64) error {
	if err := s.fit(ctx); err != nil {
		return err
	}
	if pp < s.minimum {
		return tooShort(fmt.Sprintf("the chat template and one %q", clip(s.opts.Atom)), s.minimum)
	}
	var top plateau
	count := func(atoms int) (int64, error) {
		if atoms > longest/len(s.opts.Atom) {
			return 0, errUnsteady
		}
		c, err := s.count(ctx, s.prompt(atoms))
		if err == nil {
			s.noteHead(c)
			top.see(atoms, c.PromptTokens)
		}
		return c.PromptTokens, err
	}
	find := search{count: count, least: point{shortFit, s.minimum}, slope: s.slope, tries: tries}
	atoms, err := shortFit, error(nil)
	if pp > s.minimum {
		atoms, err = find.find(pp)
	}
	var leap *leapError
	switch {
	case errors.As(err, &leap):
		return leapt(s.opts.Atom, leap)
	case errors.Is(err, errUnsteady) && top.reached(s.slope):
		return stays(top.tokens)
	case errors.Is(err, errUnsteady):
		return unsteady(s.opts.Atom)
	case err != nil:
		return err
	}
	s.sizes[pp] = size{atoms: atoms, verified: &pp}
	return nil
}
