package prompt

import (
	"math/rand/v2"
	"strings"
)

// nonceWords is how many words open a prompt that nobody has seen before: 64^6
// openings, so two requests of one server's life hardly ever share one.
const nonceWords = 6

// words are so common that every vocabulary has each, with its leading space,
// as one token; and of one length, so that a byte-level tokenizer counts any
// six of them alike too.
var words = [64]string{
	"able", "also", "area", "away", "back", "base", "best", "body",
	"book", "call", "came", "case", "city", "come", "data", "days",
	"done", "door", "down", "each", "even", "ever", "face", "fact",
	"find", "fire", "five", "food", "form", "four", "free", "full",
	"game", "give", "good", "half", "hand", "head", "help", "high",
	"home", "hour", "idea", "into", "just", "keep", "kind", "land",
	"last", "life", "line", "list", "live", "long", "look", "love",
	"main", "make", "many", "mind", "more", "most", "name", "next",
}

// openings makes openings that nobody has seen before.
type openings struct {
	words []string
	turn  int
}

// newOpenings begins at any word, so that two sessions on one server differ.
func newOpenings(words []string) *openings {
	return &openings{words: words, turn: rand.IntN(len(words))}
}

// next is a fresh opening. Its first word is that of none of the 63 before it:
// a server that keeps the last few prompts, mlx_lm's keeps ten, would have the
// template and one word more in its cache of every sixth prompt otherwise.
func (o *openings) next() string {
	o.turn = (o.turn + 1) % len(o.words)
	var b strings.Builder
	b.WriteString(" " + o.words[o.turn])
	for range nonceWords - 1 {
		b.WriteString(" " + o.words[rand.IntN(len(o.words))])
	}
	return b.String()
}
