package tokenizer

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// UnsupportedError names the part of a tokenizer because of which its tokens
// cannot be counted exactly here.
type UnsupportedError struct {
	What string // such as `model "Unigram"`
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the tokenizer has %s, with which tokens are not counted exactly here: size prompts by calibration instead", e.What)
}

func unsupported(format string, args ...any) error {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = clip(s)
		}
	}
	return &UnsupportedError{What: fmt.Sprintf(format, args...)}
}

// Tokenizer encodes text, and decodes tokens. Make one with Parse or FromVocabulary.
type Tokenizer struct {
	raw        addedTokens // as they stand in the text
	normalized addedTokens // as they stand in normalized text
	normalize  []func(string) string
	split      []splitter
	model      *bpe
	decoding   decoding
	runs       sync.Pool // of *run

	addedBytes int           // of all added tokens
	growth     float64       // how many times as long normalizers may make a text
	trial      time.Duration // that patterns may yet take to be tried
}

func newTokenizer(m *bpe) *Tokenizer {
	t := &Tokenizer{model: m, growth: 1, trial: maxTrial}
	t.runs.New = func() any {
		return &run{words: make(map[string]span)}
	}
	return t
}

// Encode returns text's token ids. Added tokens written in text are
// recognised; nothing is added around it. Each byte that is not valid UTF-8
// counts as U+FFFD, what JSON makes of it on its way to a server.
//
// It panics with a *SlowError if that takes longer than encodeTime: Parse has
// tried each pattern, so that is a text for which the pattern is exponentially
// slow, and a count that is wrong would be worse.
func (t *Tokenizer) Encode(text string) []int32 {
	ids := make([]int32, 0, len(text)/4+8)
	t.each(text, func(some []int32) { ids = append(ids, some...) })
	return ids
}

// Count is len(Encode(text)) without the memory for the ids.
func (t *Tokenizer) Count(text string) int {
	n := 0
	t.each(text, func(some []int32) { n += len(some) })
	return n
}

// each calls emit with text's ids in order, a few at a time. The slice is good
// until emit returns.
func (t *Tokenizer) each(text string, emit func([]int32)) {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	r := t.runs.Get().(*run)
	r.t, r.emit = t, emit
	r.bytes, r.end = len(text), time.Now().Add(encodeTime(len(text)))
	t.raw.split(text, r.between, r.added)
	r.emit = nil
	t.runs.Put(r)
}

// run is the working memory of one Encode or Count. It is kept for later ones
// for the sake of the words that it knows.
type run struct {
	t     *Tokenizer
	emit  func([]int32)
	bytes int       // of the text
	end   time.Time // when it must be done
	ticks int       // since the clock was read, and before
	one   [1]int32
	runes []rune
	words map[string]span // where in arena the ids of a word are
	arena []int32
	long  []int32 // the ids of a word that is not kept
	merger
}

type span struct{ begin, end int32 }

// Words that are longer, or come when so many are known, are not kept:
// together these bound a run at a few megabytes.
const (
	longestKept = 64
	mostKept    = 1 << 14
)

func (r *run) added(id int32) {
	r.one[0] = id
	r.emit(r.one[:])
}

// between encodes what lies between two added tokens in the raw text.
func (r *run) between(text string) {
	for _, f := range r.t.normalize {
		text = f(text)
	}
	r.t.normalized.split(text, r.normal, r.added)
}

// tick ends an Encode or Count that takes too long.
func (r *run) tick() {
	if r.ticks++; r.ticks%64 == 0 && time.Now().After(r.end) {
		panic(&SlowError{Bytes: r.bytes})
	}
}

// normal encodes what lies between two added tokens in the normalized text.
func (r *run) normal(text string) {
	if len(r.t.split) == 0 {
		r.word(text)
		return
	}
	r.runes = r.runes[:0]
	for _, c := range text {
		r.runes = append(r.runes, c)
	}
	r.pieces(piece{text, r.runes, r}, 0)
}

// pieces splits p by the splitters from the k-th on and encodes the words.
func (r *run) pieces(p piece, k int) {
	r.tick()
	if k == len(r.t.split) {
		r.word(p.text)
		return
	}
	r.t.split[k](p, func(q piece) { r.pieces(q, k+1) })
}

func (r *run) word(w string) {
	if w == "" {
		return
	}
	if at, ok := r.words[w]; ok {
		r.emit(r.arena[at.begin:at.end])
		return
	}
	if len(w) > longestKept || len(r.words) >= mostKept {
		r.long = r.merger.encode(r.long[:0], r.t.model, w)
		r.emit(r.long)
		return
	}
	begin := len(r.arena)
	r.arena = r.merger.encode(r.arena, r.t.model, w)
	r.words[strings.Clone(w)] = span{int32(begin), int32(len(r.arena))}
	r.emit(r.arena[begin:])
}
