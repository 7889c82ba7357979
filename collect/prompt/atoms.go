package prompt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tokwatt/collect"
)

// Atoms are what sized prompts are made of where nothing else is asked for, in
// the order in which they are tried: DefaultAtom first, then those of exo-bench,
// then single characters, of which every tokenizer of bytes makes a token each.
func Atoms() []string { return []string{DefaultAtom, "a ", "\n", "0 ", "a", "0"} }

// Tries is a collect.Prompter over several, each of an atom of its own: a
// length that one atom leaps over is made of the next that does not.
type Tries struct {
	make   func(atom string) (collect.Prompter, error)
	atoms  []string
	fixed  bool // only the first may be used; the others are asked for advice
	made   map[string]collect.Prompter
	sizes  map[int64]collect.Prompter
	newest collect.Prompter // of the newest length that was made
}

var _ collect.Prompter = (*Tries)(nil)

// NewTries makes a Tries of the prompters that newOne makes. The first atom is
// tried before those of Atoms, empty: there is none before them; with fixed it
// is the only one, and the others only serve to say which of them would do.
// The error is newOne's for the first of the atoms.
func NewTries(first string, fixed bool, newOne func(atom string) (collect.Prompter, error)) (*Tries, error) {
	t := &Tries{make: newOne, atoms: Atoms(), fixed: fixed && first != "", made: map[string]collect.Prompter{}, sizes: map[int64]collect.Prompter{}}
	if first != "" {
		t.atoms = append([]string{first}, slices.DeleteFunc(t.atoms, func(a string) bool { return a == first })...)
	}
	var err error
	t.newest, err = t.of(t.atoms[0])
	return t, err
}

// of is the prompter of an atom, made when it is first wanted.
func (t *Tries) of(atom string) (collect.Prompter, error) {
	if p := t.made[atom]; p != nil {
		return p, nil
	}
	p, err := t.make(atom)
	if err == nil {
		t.made[atom] = p
	}
	return p, err
}

// first is the prompter of the first atom.
func (t *Tries) first() collect.Prompter { return t.made[t.atoms[0]] }

// Size prepares a prompt of pp tokens with the first atom that makes one. What
// is no atom's fault, such as a server that fails, ends the search.
func (t *Tries) Size(ctx context.Context, pp int64) error {
	first := t.first().Size(ctx, pp)
	var atomic *atomError
	if !errors.As(first, &atomic) {
		if t.sizes[pp] = t.first(); first == nil {
			t.newest = t.first()
		}
		return first
	}
	for _, atom := range t.atoms[1:] {
		p, err := t.of(atom)
		if err == nil {
			err = p.Size(ctx, pp)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err == nil && t.fixed:
			return fmt.Errorf("%s: take %s--atom %q, which makes it", atomic.fault, atomic.orLength(), atom)
		case err == nil:
			t.sizes[pp], t.newest = p, p
			return nil
		}
	}
	return t.none(atomic)
}

// none says that no atom makes a length, and which one the first makes.
func (t *Tries) none(e *atomError) error {
	var others []string
	for _, a := range t.atoms[1:] {
		others = append(others, fmt.Sprintf("%q", a))
	}
	advice := "take another --atom or --prompt with a text of your own"
	if e.next > 0 {
		advice = fmt.Sprintf("take --pp %d", e.next)
	}
	return fmt.Errorf("%s, and none of %s makes it: %s", e.fault, strings.Join(others, ", "), advice)
}

// Build returns a prompt of pp tokens, see collect.Prompter.
func (t *Tries) Build(pp int64) (collect.Prompt, *int64) {
	if p := t.sizes[pp]; p != nil {
		return p.Build(pp)
	}
	return t.first().Build(pp)
}

// Head is that of the newest length: the chat template's part does not hang on
// what follows it.
func (t *Tries) Head() *int64 { return t.newest.Head() }

// Source says how the lengths are known.
func (t *Tries) Source() collect.PromptSource { return t.first().Source() }

// atomError is a length that an atom can't make and another one might.
type atomError struct {
	atom  string
	fault string
	next  int64 // the next longer length that it makes; 0: not known
}

func (e *atomError) Error() string {
	if e.next > 0 {
		return fmt.Sprintf("%s: take --pp %d, or another --atom, such as %s", e.fault, e.next, others(e.atom))
	}
	return fmt.Sprintf("%s: take another --atom, such as %s", e.fault, others(e.atom))
}

// orLength is the advice to take the length that the atom makes.
func (e *atomError) orLength() string {
	if e.next == 0 {
		return ""
	}
	return fmt.Sprintf("--pp %d, or ", e.next)
}
