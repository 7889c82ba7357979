package tokenizer

import (
	"fmt"
	"strings"
)

// Vocabulary is the tokenizer in the metadata of a GGUF file.
type Vocabulary struct {
	Model  string   // tokenizer.ggml.model
	Pre    string   // tokenizer.ggml.pre: the name of a list of patterns
	Tokens []string // tokenizer.ggml.tokens, by id
	Merges []string // tokenizer.ggml.merges, "a b", by rank
	Types  []int32  // tokenizer.ggml.token_type, by id
}

// The token types of GGUF that are recognised where they are written in text.
const (
	typeUnknown     = 2
	typeControl     = 3
	typeUserDefined = 4
)

// FromVocabulary makes the tokenizer of a GGUF file as llama.cpp would: its
// split patterns are known by name alone, and text is not normalized, even
// where the model's tokenizer.json asks for NFC. Text in NFC, as most is,
// counts the same from both. The error is an *UnsupportedError for a model or
// a name that is not known here.
//
// Of special tokens that overlap in a text the leftmost is taken, as from a
// tokenizer.json; llama.cpp takes the longest.
func FromVocabulary(v Vocabulary) (*Tokenizer, error) {
	if v.Model != "gpt2" {
		return nil, unsupported("a GGUF vocabulary of the model %q", v.Model)
	}
	patterns, ignoreMerges := prePatterns(v.Pre)
	if patterns == nil {
		return nil, unsupported("a GGUF vocabulary with the pre-tokenizer %q", v.Pre)
	}
	if len(v.Types) != len(v.Tokens) {
		return nil, fmt.Errorf("the GGUF vocabulary has %d token types for %d tokens: take an undamaged file", len(v.Types), len(v.Tokens))
	}
	if len(v.Tokens) > maxVocabulary || len(v.Merges) > 2*maxVocabulary {
		return nil, unsupported("%d tokens and %d merges", len(v.Tokens), len(v.Merges))
	}
	m := &bpe{unknown: none, ignoreMerges: ignoreMerges, tokens: v.Tokens}
	if err := v.fill(m); err != nil {
		return nil, fmt.Errorf("the GGUF vocabulary %w: take an undamaged file", err)
	}
	m.finish(true)
	t := newTokenizer(m)
	for _, expr := range patterns {
		if err := t.addPattern(expr); err != nil {
			return nil, err
		}
	}
	for id, kind := range v.Types {
		if v.Tokens[id] != "" && (kind == typeUnknown || kind == typeControl || kind == typeUserDefined) {
			if err := t.addToken(&t.raw, v.Tokens[id], int32(id)); err != nil {
				return nil, err
			}
		}
	}
	t.decoding.add(nil, m)
	return t, nil
}

func (v *Vocabulary) fill(m *bpe) error {
	m.vocab = make(map[string]int32, len(v.Tokens))
	for id, token := range v.Tokens {
		m.vocab[token] = int32(id)
	}
	m.merges = make(map[pair]merge, len(v.Merges))
	var both []byte
	for rank, joined := range v.Merges {
		left, right, ok := strings.Cut(joined, " ")
		if !ok {
			return fmt.Errorf("has a merge of one token, number %d", rank)
		}
		both = append(append(both[:0], left...), right...)
		if err := m.addMerge(both[:len(left)], both, rank); err != nil {
			return err
		}
	}
	return nil
}

// The patterns that models' tokenizer.json files hold for the names that GGUF
// gives them.
const (
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	spaces       = `\s*[\r\n]+|\s+(?!\S)|\s+`
	cased        = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	casedUpper   = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
	symbols      = ` ?[^\s\p{L}\p{N}]+[\r\n/]*`

	qwen2    = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaces
	qwen35   = contractions + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + spaces
	llama3   = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaces
	gpt4o    = cased + contractions + `?|` + casedUpper + contractions + `?|\p{N}{1,3}|` + symbols + `|` + spaces
	tekken   = cased + `|` + casedUpper + `|\p{N}|` + symbols + `|` + spaces
	deepseek = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|" +
		`[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|` + spaces
)

// prePatterns returns the patterns that split in turn for the value of
// tokenizer.ggml.pre, and whether its words are looked up whole, or nil.
func prePatterns(pre string) (patterns []string, ignoreMerges bool) {
	switch pre {
	case "qwen2", "deepseek-r1-qwen", "megrez":
		return []string{qwen2}, false
	case "qwen35":
		return []string{qwen35}, false
	case "llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "lfm2":
		return []string{llama3}, true
	case "glm4", "chatglm-bpe":
		return []string{llama3}, false
	case "gpt-4o", "llama4":
		return []string{gpt4o}, false
	case "tekken":
		return []string{tekken}, true
	case "deepseek-v3":
		return []string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, deepseek}, false
	case "smollm", "starcoder", "refact", "command-r", "codeshell":
		return []string{`\p{N}`, gpt2}, false
	case "gpt-2", "olmo", "exaone4":
		return []string{gpt2}, false
	}
	return nil, false
}
