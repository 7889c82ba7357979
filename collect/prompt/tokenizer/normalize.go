package tokenizer

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

func replace(from, to string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, from, to) }
}

func prepend(what string) func(string) string {
	return func(s string) string {
		if s == "" {
			return ""
		}
		return what + s
	}
}

// nfc is NFC by Unicode 9's tables, which the reference library has. For text
// that is not in NFC yet it composes by itself: norm.NFC knows later marks,
// which to Unicode 9 are letters like others, puts a U+034F after each thirty
// marks, and takes U+10041 for U+0041 when it looks for what a mark makes of
// it.
func nfc(s string) string {
	if norm.NFC.IsNormalString(s) {
		return s
	}
	marks := decompose(s)
	order(marks)
	return compose(marks)
}

// marked is a character with its canonical combining class, 0 for one that
// marks do not move past.
type marked struct {
	char  rune
	class uint8
}

// decompose replaces characters by their canonical decompositions.
func decompose(s string) []marked {
	out := make([]marked, 0, len(s))
	for _, r := range s {
		for _, c := range decomposition(r) {
			out = append(out, marked{c, class(c)})
		}
	}
	return out
}

// decomposition is r itself or the characters that it is made of.
func decomposition(r rune) string {
	const since13 = 0x11938 // the one composite that is later than Unicode 9
	if r == since13 {
		return string(r)
	}
	return norm.NFD.String(string(r))
}

func class(r rune) uint8 {
	if r < 0x300 || unicode.Is(marksSince9, r) {
		return 0
	}
	return norm.NFD.PropertiesString(string(r)).CCC()
}

// order sorts each run of marks by class; equals keep their order.
func order(all []marked) {
	for begin := 0; begin < len(all); {
		end := begin + 1
		if all[begin].class > 0 {
			for end < len(all) && all[end].class > 0 {
				end++
			}
			slices.SortStableFunc(all[begin:end], func(a, b marked) int { return int(a.class) - int(b.class) })
		}
		begin = end
	}
}

// compose joins each starter with the marks after it that make another
// character with it, unless one between them has the same class or a higher.
func compose(all []marked) string {
	out := make([]rune, 0, len(all))
	starter, last := -1, uint8(0)
	for _, m := range all {
		if starter >= 0 && (starter == len(out)-1 || last < m.class) {
			if whole, ok := composites()[[2]rune{out[starter], m.char}]; ok {
				out[starter] = whole
				continue
			}
		}
		if m.class == 0 {
			starter = len(out)
		}
		last = m.class
		out = append(out, m.char)
	}
	return string(out)
}

// composites holds what two characters make, of all that do in Unicode 9.
var composites = sync.OnceValue(func() map[[2]rune]rune {
	const last = 0x1ffff
	pairs := make(map[[2]rune]rune)
	for r := rune(0xc0); r <= last; r++ {
		d := []rune(decomposition(r))
		if len(d) < 2 || norm.NFC.String(string(r)) != string(r) {
			continue
		}
		first := []rune(norm.NFC.String(string(d[:len(d)-1])))
		if len(first) == 1 {
			pairs[[2]rune{first[0], d[len(d)-1]}] = r
		}
	}
	return pairs
})
