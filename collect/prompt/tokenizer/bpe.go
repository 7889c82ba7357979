package tokenizer

import (
	"fmt"
	"unicode/utf8"
)

// bpe is a vocabulary with its merges, ready to encode words.
type bpe struct {
	vocab  map[string]int32 // of a byteLevel model, by the bytes that a token stands for
	merges map[pair]merge
	tokens []string   // by id, as they are written in the vocabulary, the added ones too; "" where there is none
	bytes  [256]int32 // the token of a byte, or none: by the letter for it if byteLevel, else by <0xNN>

	byteLevel    bool // symbols are bytes, not characters
	ignoreMerges bool
	byteFallback bool // a character that is no token becomes the tokens of its bytes
	unknown      int32
	fuseUnknown  bool // unknown characters side by side are one unknown token
}

const none = -1

type pair struct{ left, right int32 }

// merge is what a pair becomes. A lower rank goes first.
type merge struct{ rank, id int32 }

// letters are the characters that stand for bytes in a byte-level vocabulary,
// GPT-2's alphabet: a byte that is a printable character of Latin-1 is itself,
// the others are the characters from U+0100 on, in order.
func letters() (l [256]rune) {
	next := rune(0x100)
	for b := range l {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			l[b] = rune(b)
			continue
		}
		l[b] = next
		next++
	}
	return l
}

// addMerge adds the merge of a pair of tokens: the left one, and the two
// joined. Merges are added in the order of their ranks.
func (m *bpe) addMerge(left, joined []byte, rank int) error {
	l, ok1 := m.vocab[string(left)]
	r, ok2 := m.vocab[string(joined[len(left):])]
	id, ok3 := m.vocab[string(joined)]
	if !ok1 || !ok2 || !ok3 {
		return fmt.Errorf("has a merge, number %d, of %q and %q that is not in its vocabulary", rank, clip(string(left)), clip(string(joined[len(left):])))
	}
	m.merges[pair{l, r}] = merge{int32(rank), id}
	return nil
}

// finish is called once, when all tokens and merges are there.
func (m *bpe) finish(byteLevel bool) {
	m.byteLevel = byteLevel
	for b, letter := range letters() {
		name := fmt.Sprintf("<0x%02X>", b)
		if byteLevel {
			name = string(letter)
		}
		id, ok := m.vocab[name]
		if !ok {
			id = none
		}
		m.bytes[b] = id
	}
	switch {
	case byteLevel && m.ignoreMerges:
		m.vocab = byBytes(m.vocab)
	case byteLevel:
		m.vocab = nil
	}
}

// name notes what a token is called. Ids that are beyond all bounds have no name.
func (m *bpe) name(id int32, token string) {
	if id < 0 || id >= 2*maxVocabulary {
		return
	}
	if n := int(id) + 1 - len(m.tokens); n > 0 {
		m.tokens = append(m.tokens, make([]string, n)...)
	}
	m.tokens[id] = token
}

// standing are the bytes that letters stand for.
func standing() map[rune]byte {
	stands := make(map[rune]byte, 256)
	for b, letter := range letters() {
		stands[letter] = byte(b)
	}
	return stands
}

// byBytes returns a byte-level vocabulary by bytes instead of letters. A token
// with a character that stands for no byte is left out: no word is equal to it.
func byBytes(vocab map[string]int32) map[string]int32 {
	stands := standing()
	out := make(map[string]int32, len(vocab))
	var word []byte
next:
	for token, id := range vocab {
		word = word[:0]
		for _, letter := range token {
			b, ok := stands[letter]
			if !ok {
				continue next
			}
			word = append(word, b)
		}
		out[string(word)] = id
	}
	return out
}

// symbol is a token of a word that is being merged. The symbols of a word are
// a list in an array; one that was merged into its left neighbour has id none.
type symbol struct{ id, prev, next int32 }

// merger is the working memory of encode.
type merger struct {
	symbols []symbol
	queue   queue
}

// encode appends the tokens of word w to ids.
func (g *merger) encode(ids []int32, m *bpe, w string) []int32 {
	if m.ignoreMerges {
		if id, ok := m.vocab[w]; ok {
			return append(ids, id)
		}
	}
	g.symbols = g.symbols[:0]
	if m.byteLevel {
		for i := range len(w) {
			if id := m.bytes[w[i]]; id != none {
				g.push(id)
			}
		}
	} else {
		g.characters(m, w)
	}
	g.merge(m)
	for i := int32(0); int(i) < len(g.symbols); i = g.symbols[i].next {
		ids = append(ids, g.symbols[i].id)
	}
	return ids
}

func (g *merger) push(id int32) {
	n := int32(len(g.symbols))
	g.symbols = append(g.symbols, symbol{id, n - 1, n + 1})
}

// characters makes symbols of w's characters. An unknown token waits until the
// next token of the vocabulary, past any bytes: that is the reference's order.
func (g *merger) characters(m *bpe, w string) {
	unknowns := 0
	flush := func() {
		for ; unknowns > 0; unknowns-- {
			g.push(m.unknown)
		}
	}
	for i, c := range w {
		char := w[i : i+utf8.RuneLen(c)]
		if id, ok := m.vocab[char]; ok {
			flush()
			g.push(id)
			continue
		}
		if m.byteFallback && g.fallback(m, char) {
			continue
		}
		if m.unknown == none {
			continue
		}
		if !m.fuseUnknown {
			flush()
		}
		unknowns = 1
	}
	flush()
}

// fallback makes symbols of a character's bytes if every one has a token.
func (g *merger) fallback(m *bpe, char string) bool {
	for i := range len(char) {
		if m.bytes[char[i]] == none {
			return false
		}
	}
	for i := range len(char) {
		g.push(m.bytes[char[i]])
	}
	return true
}

// merge merges the symbols until no pair of neighbours has a merge, in
// O(n log n) for n symbols. A candidate in the queue is stale if one of its
// two symbols has been merged since.
func (g *merger) merge(m *bpe) {
	s := g.symbols
	n := int32(len(s))
	g.queue = g.queue[:0]
	look := func(left int32) {
		right := s[left].next
		if right >= n {
			return
		}
		p := pair{s[left].id, s[right].id}
		if to, ok := m.merges[p]; ok {
			g.queue.push(candidate{to, left, p})
		}
	}
	for i := range n - 1 {
		look(i)
	}
	for len(g.queue) > 0 {
		c := g.queue.pop()
		left := &s[c.at]
		if left.id != c.pair.left || left.next >= n || s[left.next].id != c.pair.right {
			continue
		}
		gone := &s[left.next]
		left.id, left.next = c.merge.id, gone.next
		gone.id = none
		if left.next < n {
			s[left.next].prev = c.at
		}
		if left.prev >= 0 {
			look(left.prev)
		}
		look(c.at)
	}
}
