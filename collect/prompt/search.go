package prompt

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// A point is how many tokens a number of atoms makes, the chat template and all
// that stands around the atoms included.
type point struct {
	atoms  int
	tokens int64
}

// A search looks for the number of atoms that makes a number of tokens. Counts
// are dear, a request each or the encoding of a whole prompt, so it goes by the
// line through the points it has: for an atom that costs the same each time one
// count is enough, and that is only to verify.
type search struct {
	count func(atoms int) (int64, error)
	least point   // a count that is known; the answer is not below it
	slope float64 // tokens an atom, as known beforehand; over 0
	tries int     // counts at most
}

// What a search ends with, but for an error of count.
var errUnsteady = errors.New("the count of tokens does not follow the number of atoms steadily")

// leapError is a length that lies between those of two neighbouring numbers of
// atoms.
type leapError struct {
	below, above point
}

func (e *leapError) Error() string {
	return fmt.Sprintf("%d atoms make %d tokens and %d make %d", e.below.atoms, e.below.tokens, e.above.atoms, e.above.tokens)
}

// find returns the number of atoms that makes so many tokens, which must be
// more than the least point's. The error is a *leapError, errUnsteady, or
// count's.
func (s search) find(tokens int64) (int, error) {
	below, above := s.least, point{atoms: math.MaxInt}
	slope := s.slope
	for try := range s.tries {
		next := point{atoms: below.atoms + atomsFor(tokens-below.tokens, slope)}
		if above.atoms != math.MaxInt {
			if above.atoms-below.atoms == 1 {
				return 0, &leapError{below, above}
			}
			slope = float64(above.tokens-below.tokens) / float64(above.atoms-below.atoms)
			next.atoms = below.atoms + atomsFor(tokens-below.tokens, slope)
			if try%3 == 2 { // a bent line is halved now and then
				next.atoms = below.atoms + (above.atoms-below.atoms)/2
			}
			next.atoms = min(next.atoms, above.atoms-1)
		}
		var err error
		if next.tokens, err = s.count(next.atoms); err != nil {
			return 0, err
		}
		switch {
		case next.tokens == tokens:
			return next.atoms, nil
		case next.tokens < below.tokens, above.atoms != math.MaxInt && next.tokens > above.tokens:
			return next.atoms, errUnsteady
		case next.tokens < tokens:
			if above.atoms == math.MaxInt && next.tokens > below.tokens {
				slope = float64(next.tokens-below.tokens) / float64(next.atoms-below.atoms)
			}
			below = next
		default:
			above = next
		}
	}
	if above.atoms-below.atoms == 1 {
		return 0, &leapError{below, above}
	}
	return below.atoms, errUnsteady
}

// atomsFor is how many atoms make n tokens by a line, at least one.
func atomsFor(n int64, slope float64) int {
	return max(1, int(math.Round(min(float64(n)/slope, math.MaxInt32))))
}

// longest is the longest prompt that is made where its length is a guess.
const longest = 64 << 20 // bytes

// about is how many atoms make about n tokens, one each where that is not known.
func about(n int64, slope float64, atom string) int {
	if slope <= 0 {
		slope = 1
	}
	return max(1, min(atomsFor(n, slope), longest/len(atom)))
}

// A plateau is a count that stays while atoms are added.
type plateau struct {
	tokens      int64
	least, most int // atoms
	times       int
}

func (p *plateau) see(atoms int, tokens int64) {
	switch {
	case tokens > p.tokens:
		*p = plateau{tokens, atoms, atoms, 1}
	case tokens == p.tokens:
		p.least, p.most = min(p.least, atoms), max(p.most, atoms)
		p.times++
	}
}

// reached reports that the count stays for good: over many atoms, of which
// none make a token, where so many made one before.
func (p *plateau) reached(slope float64) bool {
	return p.times >= 3 && float64(p.most-p.least)*slope >= 4
}

// The sentences that a search's end is told in. The caller names the length.

func tooShort(what string, tokens int64) error {
	return fmt.Errorf("it is shorter than %s, which make %d: take --pp %d or more", what, tokens, tokens)
}

func leapt(atom string, e *leapError) error {
	return &atomError{atom, fmt.Sprintf("%q leaps over it (%v)", clip(atom), e), e.above.tokens}
}

func unsteady(atom string) error {
	return &atomError{atom, fmt.Sprintf("the count does not follow the number of %q steadily", clip(atom)), 0}
}

func stays(tokens int64) error {
	return fmt.Errorf("the server's count stays at %d however long the prompt is: its context window may be that small", tokens)
}

// clip shortens an atom for a message.
func clip(atom string) string {
	const most = 40
	if len(atom) <= most {
		return atom
	}
	return strings.ToValidUTF8(atom[:most], "") + "…"
}

// others names the atoms that are worth a try.
func others(atom string) string {
	var out []string
	for _, a := range []string{"a ", " a", "\n", "0 "} {
		if a != atom {
			out = append(out, fmt.Sprintf("%q", a))
		}
	}
	return strings.Join(out, " or ")
}
