package prompt

import (
	"errors"
	"fmt"
	"strings"
)

// minWords is how many words an opening must have to choose from.
const minWords = 8

// open finds out where an opening goes, which words are alike to the tokenizer,
// and what stands before them.
func (e *Exact) open() error {
	e.system = e.takesSystem()
	alike, err := e.alike()
	if err != nil {
		return err
	}
	if len(alike) < minWords && e.opts.Fresh {
		return fmt.Errorf("only %d of %d common words are of one length to the tokenizer, too few for prompts that nobody has seen", len(alike), len(words))
	}
	if len(alike) < minWords {
		alike = words[:]
	}
	e.openings = newOpenings(alike)
	return e.measureHead(" "+alike[0], " "+alike[len(alike)-1])
}

// takesSystem reports whether the chat template renders a system message, and
// before the user's. Some refuse it, and some drop it.
func (e *Exact) takesSystem() bool {
	const system, user = "able also area", "away back base"
	text, err := e.chat.Render(system, user)
	if err != nil {
		return false
	}
	at := strings.Index(text, system)
	return at >= 0 && at < strings.Index(text, user)
}

// alike are the words that cost the same as the first and as a later one of an
// opening: one token each in the vocabularies we know of. Of several such
// classes it is the largest.
func (e *Exact) alike() ([]string, error) {
	type cost struct{ first, later int64 }
	classes := map[cost][]string{}
	best := cost{}
	for _, w := range words {
		one, err := e.count(e.prompt(" "+w, 1))
		if err != nil {
			return nil, err
		}
		two, err := e.count(e.prompt(" "+w+" "+w, 1))
		if err != nil {
			return nil, err
		}
		c := cost{one, two - one}
		classes[c] = append(classes[c], w)
		if len(classes[c]) > len(classes[best]) {
			best = c
		}
	}
	return classes[best], nil
}

// measureHead counts the tokens that prompts of two openings have in common.
func (e *Exact) measureHead(openings ...string) error {
	var ids [2][]int32
	for i, opening := range openings {
		p := e.prompt(opening, 1)
		if !e.opts.Fresh {
			p.System, p.User = "", p.System+p.User
		}
		text, err := e.chat.Render(p.System, p.User)
		if err != nil {
			return err
		}
		if ids[i], err = encoded(e.tokenizer, text); err != nil {
			return err
		}
	}
	for e.head < int64(min(len(ids[0]), len(ids[1]))) && ids[0][e.head] == ids[1][e.head] {
		e.head++
	}
	if e.head == int64(len(ids[0])) {
		return errors.New("the chat template leaves out what the user says")
	}
	return nil
}
