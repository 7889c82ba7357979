package tokenizer

// addedTokens finds added tokens in a text. The zero value holds none.
type addedTokens struct {
	begins [256]bool // the bytes that some token begins with: few do
	trie   trie
}

// trie holds strings by their bytes.
type trie struct {
	next map[byte]*trie
	id   int32
	leaf bool
}

// add adds a token that is not empty.
func (t *addedTokens) add(s string, id int32) {
	t.begins[s[0]] = true
	n := &t.trie
	for i := range len(s) {
		m := n.next[s[i]]
		if m == nil {
			if n.next == nil {
				n.next = make(map[byte]*trie)
			}
			m = new(trie)
			n.next[s[i]] = m
		}
		n = m
	}
	n.id, n.leaf = id, true
}

// split calls token for each added token in s, the leftmost first and of those
// that begin at one place the longest, and text for what lies between.
func (t *addedTokens) split(s string, text func(string), token func(id int32)) {
	last := 0
	for i := 0; i < len(s); {
		if !t.begins[s[i]] {
			i++
			continue
		}
		n, id := t.trie.longest(s[i:])
		if n == 0 {
			i++
			continue
		}
		if i > last {
			text(s[last:i])
		}
		token(id)
		i += n
		last = i
	}
	if last < len(s) {
		text(s[last:])
	}
}

// longest returns the length and the id of the longest added token that s
// begins with, or 0.
func (t *trie) longest(s string) (length int, id int32) {
	n := t
	for i := range len(s) {
		if n = n.next[s[i]]; n == nil {
			break
		}
		if n.leaf {
			length, id = i+1, n.id
		}
	}
	return length, id
}
