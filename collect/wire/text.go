package wire

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text is a JSON string as it came. encoding/json replaces what is no whole
// character, and a server that cuts its text by tokens may cut one: in the
// middle of its UTF-8, or of the pair of surrogates by which JSON escapes it.
// So invalid bytes are kept, and half of a pair is kept as the three bytes
// that UTF-8 would make of it (WTF-8); a Joiner puts the halves together.
type Text struct {
	S   string
	Odd []byte // what stood there instead of a string, but for null
}

// UnmarshalJSON reads a string. It is never an error: another type is kept as
// it came, for who can read it.
func (t *Text) UnmarshalJSON(raw []byte) error {
	switch {
	case raw[0] == '"':
		t.S = unquoted(raw[1 : len(raw)-1])
	case raw[0] != 'n':
		t.Odd = bytes.Clone(raw)
	}
	return nil
}

// escapes are what stands for the characters behind a backslash.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquoted is the inside of a well-formed JSON string.
func unquoted(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] != '\\':
			out = append(out, raw[i])
		case raw[i+1] == 'u':
			r, _ := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16) // four digits: well-formed
			out = appendUnit(out, rune(r))
			i += 5
		default:
			out = append(out, escapes[raw[i+1]])
			i++
		}
	}
	return string(out)
}

// appendUnit appends a UTF-16 code unit, a surrogate as WTF-8.
func appendUnit(out []byte, r rune) []byte {
	if r >= 0xd800 && r < 0xe000 {
		return append(out, byte(0xe0|r>>12), byte(0x80|r>>6&0x3f), byte(0x80|r&0x3f))
	}
	return utf8.AppendRune(out, r)
}

// surrogate is the half of a pair that s begins with, in WTF-8.
func surrogate(s string) (r rune, ok bool) {
	if len(s) < 3 || s[0] != 0xed || s[1] < 0xa0 || s[1] > 0xbf || s[2] < 0x80 || s[2] > 0xbf {
		return 0, false
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}

func high(r rune) bool { return r < 0xdc00 }

// Joiner puts the pieces of one text together: what may be the beginning of a
// character waits for the next piece.
type Joiner struct{ held string }

// Add takes a piece, and returns the whole characters there are by now.
func (j *Joiner) Add(s string) string {
	if j.held == "" && utf8.ValidString(s) {
		return s
	}
	s = j.held + s
	n := len(s) - unfinished(s)
	j.held = s[n:]
	return mended(s[:n])
}

// Rest is how many code points stand for what will never be whole.
func (j *Joiner) Rest() int64 { return int64(utf8.RuneCountInString(mended(j.held))) }

// unfinished is the length of the tail of s that may be the beginning of a
// character.
func unfinished(s string) int {
	if n := len(s) - 3; n >= 0 {
		if r, ok := surrogate(s[n:]); ok && high(r) {
			return 3
		}
	}
	for n := 1; n <= min(3, len(s)); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

// mended is s as UTF-8: pairs of surrogates joined, and U+FFFD for each half
// without its other and each byte that is none of a character.
func mended(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if one, ok := surrogate(s); ok {
			r, size = utf8.RuneError, 3
			if two, ok := surrogate(s[3:]); ok && high(one) && !high(two) {
				r, size = 0x10000+(one-0xd800)<<10+(two-0xdc00), 6
			}
		}
		b.WriteRune(r)
		s = s[size:]
	}
	return b.String()
}
