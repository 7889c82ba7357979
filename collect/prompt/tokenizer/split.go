package tokenizer

import (
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// piece is a piece of a run's text, twice: patterns are matched with
// characters, words are looked up as strings.
type piece struct {
	text  string
	runes []rune
	of    *run
}

// splitter calls emit for each part of p, in order. Parts are not empty.
type splitter func(p piece, emit func(piece))

// matcher calls match for each match in p, in order: where it begins and ends,
// counted in characters.
type matcher func(p piece, match func(begin, end int))

// cutter cuts a piece from its beginning on.
type cutter struct{ rest piece }

// next cuts off the first n characters of the rest.
func (c *cutter) next(n int) piece {
	bytes := 0
	for _, r := range c.rest.runes[:n] {
		bytes += utf8.RuneLen(r)
	}
	first := piece{c.rest.text[:bytes], c.rest.runes[:n], c.rest.of}
	c.rest = piece{c.rest.text[bytes:], c.rest.runes[n:], c.rest.of}
	return first
}

// parts calls emit for the matches of m and for what lies between them.
func parts(m matcher, p piece, emit func(part piece, matched bool)) {
	c, done := cutter{p}, 0
	cut := func(end int, matched bool) {
		if end > done {
			emit(c.next(end-done), matched)
			done = end
		}
	}
	m(p, func(begin, end int) {
		cut(begin, false)
		cut(end, true)
	})
	cut(len(p.runes), false)
}

// isolated makes each match and each text between matches a part.
func isolated(m matcher) splitter {
	return func(p piece, emit func(piece)) {
		parts(m, p, func(part piece, _ bool) { emit(part) })
	}
}

// removed leaves out the matches or, inverted, what lies between them.
func removed(m matcher, invert bool) splitter {
	return func(p piece, emit func(piece)) {
		parts(m, p, func(part piece, matched bool) {
			if matched == invert {
				emit(part)
			}
		})
	}
}

// mergedWithPrevious ends a part after each match.
func mergedWithPrevious(m matcher) splitter {
	return func(p piece, emit func(piece)) {
		c, done := cutter{p}, 0
		m(p, func(_, end int) {
			emit(c.next(end - done))
			done = end
		})
		if done < len(p.runes) {
			emit(c.rest)
		}
	}
}

// literal matches a string that is not empty.
func literal(s string) matcher {
	return func(p piece, match func(begin, end int)) {
		length, at := utf8.RuneCountInString(s), 0
		for text := p.text; ; {
			i := strings.Index(text, s)
			if i < 0 {
				return
			}
			at += utf8.RuneCountInString(text[:i])
			match(at, at+length)
			at += length
			text = text[i+len(s):]
		}
	}
}

// regular matches a regular expression; matches of no length count for
// nothing. It panics when one match, or the whole run, takes too long.
func regular(re *regexp2.Regexp) matcher {
	return func(p piece, match func(begin, end int)) {
		err := re.FindRunesMatches(p.runes, 0, func(v regexp2.MatchView) bool {
			p.of.tick()
			if begin, length, ok := v.GroupRange(0); ok && length > 0 {
				match(begin, begin+length)
			}
			return true
		})
		if err != nil { // its message repeats the text
			panic(&SlowError{Bytes: p.of.bytes})
		}
	}
}
