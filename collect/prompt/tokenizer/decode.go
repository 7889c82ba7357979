package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoding is how tokens become text: the decoder of a tokenizer.json.
type decoding struct {
	byteLevel    bool          // a token's characters stand for bytes
	stands       map[rune]byte // of a byteLevel one
	byteFallback bool          // <0xNN> is a byte
	replace      [][2]string   // in a token, one after the other
	leading      string        // is taken off the front of the whole, so often:
	strip        int
}

// add takes in the decoder of a tokenizer.json. Where there is none, or
// one that is not known here, the text is what the model's kind makes likely:
// only what is shown hangs on it.
func (d *decoding) add(s *stage, m *bpe) {
	d.byteLevel = m.byteLevel
	if m.byteLevel {
		d.stands = standing()
		return
	}
	if s != nil && d.known(s) {
		return
	}
	*d = decoding{byteFallback: true, replace: [][2]string{{"▁", " "}}}
}

// known takes in a decoder of characters, and reports whether it is all known.
func (d *decoding) known(s *stage) bool {
	switch s.Type {
	case "Sequence":
		for _, one := range s.Decoders {
			if !d.known(one) {
				return false
			}
		}
	case "Replace":
		if s.Pattern.String == nil || *s.Pattern.String == "" {
			return false
		}
		d.replace = append(d.replace, [2]string{*s.Pattern.String, s.Content})
	case "ByteFallback":
		d.byteFallback = true
	case "Fuse":
	case "Strip":
		d.leading, d.strip = s.Content, s.Start
		return s.Content != "" && s.Stop == 0
	default:
		return false
	}
	return true
}

// Decode is the text of tokens, special ones included. Ids of no token are left
// out. Bytes that make no character are U+FFFD.
func (t *Tokenizer) Decode(ids []int32) string {
	var b strings.Builder
	d := t.Decoder()
	for _, id := range ids {
		b.WriteString(d.Next(id))
	}
	b.WriteString(d.End())
	return b.String()
}

// A Decoder makes text of the tokens of one answer as they come. All it returns
// is together what Decode makes of all tokens, which is what the reference
// library makes of them, but where a run of <0xNN> has characters and bytes that
// make none: there the reference shows no character of it.
type Decoder struct {
	t    *Tokenizer
	held []byte // of a character that is not complete
	off  int    // how often the leading text may still be taken off
}

// Decoder begins an answer.
func (t *Tokenizer) Decoder() *Decoder { return &Decoder{t: t, off: t.decoding.strip} }

// Next is the text that a token completes: "" where it ends within a character.
func (d *Decoder) Next(id int32) string {
	if id < 0 || int(id) >= len(d.t.model.tokens) {
		return ""
	}
	token, how := d.t.model.tokens[id], &d.t.decoding
	if how.byteLevel {
		d.held = how.appendBytes(d.held, token)
		return d.complete(false)
	}
	if b, ok := byteOf(token); ok && how.byteFallback {
		d.held = append(d.held, b)
		return d.front(d.complete(false))
	}
	for _, r := range how.replace {
		token = strings.ReplaceAll(token, r[0], r[1])
	}
	return d.front(d.complete(true) + token)
}

// End is the text that was held back, for a character that was never completed.
func (d *Decoder) End() string { return d.front(d.complete(true)) }

// appendBytes appends the bytes that a token's letters stand for. One with a
// character that stands for none is what it says.
func (d *decoding) appendBytes(b []byte, token string) []byte {
	n := len(b)
	for _, letter := range token {
		one, ok := d.stands[letter]
		if !ok {
			return append(b[:n], token...)
		}
		b = append(b, one)
	}
	return b
}

// byteOf reads <0xNN>.
func byteOf(token string) (byte, bool) {
	if len(token) != 6 || !strings.HasPrefix(token, "<0x") || token[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(b), err == nil
}

// complete takes the characters that are complete out of what is held, at the
// end all of it. What can begin no character is U+FFFD: as long as it could
// have, of byte-level tokens, else each byte.
func (d *Decoder) complete(end bool) string {
	var b strings.Builder
	rest := d.held
	for len(rest) > 0 && (end || utf8.FullRune(rest)) {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 && d.t.decoding.byteLevel {
			for n < len(rest) && !utf8.FullRune(rest[:n+1]) {
				n++
			}
		}
		b.WriteRune(r)
		rest = rest[n:]
	}
	d.held = append(d.held[:0], rest...)
	return b.String()
}

// front is text without the leading text that is still to be taken off.
func (d *Decoder) front(text string) string {
	for text != "" && d.off > 0 {
		cut, ok := strings.CutPrefix(text, d.t.decoding.leading)
		if !ok {
			d.off = 0
			break
		}
		text = cut
		d.off--
	}
	return text
}
