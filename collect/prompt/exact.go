package prompt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/prompt/tokenizer"
)

// A Tokenizer encodes text as the model does, special tokens included.
type Tokenizer interface {
	Count(text string) int
	Encode(text string) []int32
}

// A Chat renders a conversation as the model is sent it, up to where the model
// begins to speak. An empty system message is none.
type Chat interface {
	Render(system, user string) (string, error)
}

// ExactOptions of an Exact.
type ExactOptions struct {
	Atom  string // what a prompt is made of; default DefaultAtom
	Fresh bool   // every prompt opens with words of its own
	// Server is the engine's own count, where it has one: the first prompt is
	// compared with it.
	Server CountFunc
	// Warn takes a sentence to tell the user; nil: nobody listens.
	Warn func(sentence string)
}

// Exact is a collect.Prompter that counts with the model's own tokenizer and
// chat template. It is not safe for concurrent use.
type Exact struct {
	tokenizer Tokenizer
	chat      Chat
	opts      ExactOptions
	sizes     map[int64]int // atoms by length
	openings  *openings     // what prompts open with where nobody may have seen them
	system    bool          // an opening goes into a system message
	tiny      int64         // tokens of one atom behind an opening
	head      int64
	until     time.Time // when the counting at hand must be done
	checked   bool      // the engine need not be asked for its count again
	told      bool      // that it counts otherwise

	overhead int64   // tokens of a prompt of no atoms
	slope    float64 // tokens an atom, over the first probe of them
	steady   bool    // more atoms never make fewer tokens, as far as was tried
}

var (
	_ collect.Prompter    = (*Exact)(nil)
	_ collect.TextCounter = (*Exact)(nil)
)

// NewExact makes an Exact. The error is the chat template's: it must take a
// user message.
func NewExact(t Tokenizer, c Chat, opts ExactOptions) (*Exact, error) {
	if opts.Atom == "" {
		opts.Atom = DefaultAtom
	}
	if opts.Warn == nil {
		opts.Warn = func(string) {}
	}
	e := &Exact{tokenizer: t, chat: c, opts: opts, sizes: map[int64]int{}, until: time.Now().Add(countTime(0))}
	if err := e.open(); err != nil {
		return nil, err
	}
	return e, e.measure()
}

// Source says how the lengths are known.
func (e *Exact) Source() collect.PromptSource { return collect.PromptTokenizer }

// Head is the template's part before the prompt: the tokens that two prompts
// which begin otherwise have in common.
func (e *Exact) Head() *int64 { return &e.head }

// CountText is the number of tokens of a text by itself, -1 for one that the
// tokenizer does not get through.
func (e *Exact) CountText(text string) int64 {
	n, err := counted(e.tokenizer, text)
	if err != nil {
		return -1
	}
	return n
}

// Build returns a prepared prompt; of a length that was not prepared, one of
// about that length.
func (e *Exact) Build(pp int64) (collect.Prompt, *int64) {
	atoms, ok := e.sizes[pp]
	if !ok {
		return e.prompt(e.opening(), about(pp, e.slope, e.opts.Atom)), nil
	}
	e.until = time.Now().Add(countTime(pp))
	for range tries {
		opening := e.opening()
		if n, err := e.count(e.prompt(opening, 1)); err == nil && n == e.tiny {
			return e.prompt(opening, atoms), &pp
		}
	}
	p := e.prompt(e.opening(), atoms)
	n, err := e.count(p)
	if err != nil {
		return p, nil
	}
	return p, &n
}

// opening is what the next prompt opens with, "" where that may be seen before.
func (e *Exact) opening() string {
	if !e.opts.Fresh {
		return ""
	}
	return e.openings.next()
}

// prompt is so many atoms behind an opening.
func (e *Exact) prompt(opening string, atoms int) collect.Prompt {
	text := strings.Repeat(e.opts.Atom, atoms)
	if e.system {
		return collect.Prompt{System: opening, User: text}
	}
	return collect.Prompt{User: opening + text}
}

func (e *Exact) count(p collect.Prompt) (int64, error) {
	if time.Now().After(e.until) {
		return 0, errSlow
	}
	text, err := e.chat.Render(p.System, p.User)
	if err != nil {
		return 0, err
	}
	return counted(e.tokenizer, text)
}

var errSlow = errors.New("the model's tokenizer and chat template take too long to count prompts")

// countTime is how long the counts for one length may take together. With the
// tokenizers we know they are done in a fiftieth of it.
func countTime(pp int64) time.Duration {
	return 20*time.Second + time.Duration(pp)*100*time.Microsecond
}

// counted and encoded are t's, with an error where t panics: at a text that it
// would take for ever for.

func counted(t Tokenizer, text string) (n int64, err error) {
	defer recovered(&err)
	return int64(t.Count(text)), nil
}

func encoded(t Tokenizer, text string) (ids []int32, err error) {
	defer recovered(&err)
	return t.Encode(text), nil
}

func recovered(err *error) {
	switch p := recover().(type) {
	case nil:
	case *tokenizer.SlowError:
		*err = p
	default:
		panic(p)
	}
}

// probe is how many atoms the cost of one is taken from.
const probe = 100

// searches bounds the counts that one length may cost. A straight line needs
// one; a crooked one some twenty.
const searches = 40

// measure learns the template's overhead and what atoms cost.
func (e *Exact) measure() error {
	opening := e.opening()
	e.steady = true
	last := int64(0)
	for _, atoms := range append(upTo(32), probe) {
		n, err := e.count(e.prompt(opening, atoms))
		if err != nil {
			return err
		}
		switch atoms {
		case 0:
			e.overhead = n
		case 1:
			e.tiny = n
		}
		e.steady = e.steady && n >= last
		last = n
	}
	e.slope = float64(last-e.overhead) / probe
	return nil
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Size finds the number of atoms that makes exactly pp tokens. The first time
// it asks the engine for its own count of such a prompt, if it has one.
func (e *Exact) Size(ctx context.Context, pp int64) error {
	e.until = time.Now().Add(countTime(pp))
	atoms, err := e.find(ctx, pp)
	if errors.Is(err, errSlow) {
		err = fmt.Errorf("%w: take --tokenizer server", err)
	}
	if err != nil {
		return err
	}
	e.sizes[pp] = atoms
	e.check(ctx, atoms)
	return ctx.Err()
}

func (e *Exact) find(ctx context.Context, pp int64) (int, error) {
	switch {
	case pp < e.overhead && e.opts.Fresh:
		return 0, tooShort("the chat template's own tokens and the prompt's opening words", e.overhead)
	case pp < e.overhead:
		return 0, tooShort("the chat template's own tokens", e.overhead)
	case pp == e.overhead:
		return 0, nil
	case e.slope <= 0:
		return 0, &atomError{e.opts.Atom, fmt.Sprintf("%d times %q make %+d tokens, so no length can be made of it",
			probe, clip(e.opts.Atom), int64(e.slope*probe)), 0}
	}
	count := e.frugal(ctx, pp)
	find := search{count: count, least: point{0, e.overhead}, slope: e.slope, tries: searches}
	atoms, err := find.find(pp)
	var leap *leapError
	leaps := errors.As(err, &leap)
	switch {
	case leaps && e.steady:
		return 0, leapt(e.opts.Atom, leap)
	case leaps:
		atoms = leap.below.atoms
	case !errors.Is(err, errUnsteady):
		return atoms, err
	}
	return e.scan(pp, atoms, count)
}

// frugal is the count of so many atoms, behind one opening, until as much text
// is encoded as one length is worth: about a second's. Of atoms of which many
// make one token that is little.
func (e *Exact) frugal(ctx context.Context, pp int64) func(atoms int) (int64, error) {
	opening := e.opening()
	left := 8<<20 + 8*pp
	return func(atoms int) (int64, error) {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if left -= int64(atoms * len(e.opts.Atom)); left < 0 {
			return 0, errUnsteady
		}
		return e.count(e.prompt(opening, atoms))
	}
}

// window is how far a scan goes either way.
const window = 256

// scan tries every number of atoms around one that makes about pp tokens.
func (e *Exact) scan(pp int64, around int, count func(int) (int64, error)) (int, error) {
	for d := range window {
		for _, atoms := range []int{around - d, around + d} {
			if atoms < 0 {
				continue
			}
			n, err := count(atoms)
			if errors.Is(err, errUnsteady) {
				return 0, unsteady(e.opts.Atom)
			}
			if err != nil || n == pp {
				return atoms, err
			}
		}
	}
	return 0, unsteady(e.opts.Atom)
}

// check compares with the engine's own count: once where that is the same, else
// for each length. The prompt it asks about is none of those that are measured:
// an engine that keeps prompts would have it.
func (e *Exact) check(ctx context.Context, atoms int) {
	if e.checked || e.opts.Server == nil {
		return
	}
	p := e.prompt(e.openings.next(), atoms)
	ours, err := e.count(p)
	if err != nil {
		return
	}
	theirs, err := e.opts.Server(ctx, p)
	e.checked = err != nil || theirs.PromptTokens == ours
	switch {
	case ctx.Err() != nil, errors.Is(err, collect.ErrNoCount):
	case err != nil:
		e.opts.Warn(fmt.Sprintf("the engine's own count of a prompt could not be had (%v), so lengths are by the model's tokenizer alone", err))
	case !e.checked:
		e.differ(theirs.PromptTokens, ours)
	}
}

// differ tells that the engine counts otherwise: once where its rows are good
// all the same, else for each length.
func (e *Exact) differ(theirs, ours int64) {
	says := fmt.Sprintf("the engine counts %d tokens in a prompt that is %d by the model's tokenizer and chat template: it has others, or adds to the prompt", theirs, ours)
	switch {
	case apart(theirs, ours):
		e.opts.Warn(says + "; no row of that length will enter a figure, because they are more than 2 tokens and 1 % apart: take --tokenizer server, which fits the length to the server's count")
	case !e.told:
		e.opts.Warn(says + "; lengths are by the tokenizer")
	}
	e.told = true
}

// apart is the bound by which rows are judged later: those whose prompt the
// engine counts farther off enter no statistics.
func apart(theirs, ours int64) bool {
	return math.Abs(float64(theirs-ours)) > max(2, 0.01*float64(ours))
}
