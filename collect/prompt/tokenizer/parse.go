package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// file is a tokenizer.json but for its vocabulary and merges.
type file struct {
	added        []addedToken
	normalizer   *stage
	preTokenizer *stage
	decoder      *stage
	model        modelOptions
}

type modelOptions struct {
	Type         string
	UnkToken     *string  `json:"unk_token"`
	Dropout      *float64 `json:"dropout"`
	Prefix       *string  `json:"continuing_subword_prefix"`
	Suffix       *string  `json:"end_of_word_suffix"`
	FuseUnk      bool     `json:"fuse_unk"`
	ByteFallback bool     `json:"byte_fallback"`
	IgnoreMerges bool     `json:"ignore_merges"`
}

// Parse reads a tokenizer.json. The error is an *UnsupportedError if the file
// asks for something with which tokens are not counted exactly here, another
// one if it is damaged. The data may be changed afterwards.
func Parse(tokenizerJSON []byte) (*Tokenizer, error) {
	if err := within(tokenizerJSON, MaxFile, "a file"); err != nil {
		return nil, err
	}
	var f file
	m := &bpe{unknown: none}
	if err := f.read(&scanner{data: tokenizerJSON}, m); err != nil {
		if _, refused := err.(*UnsupportedError); refused {
			return nil, err
		}
		return nil, fmt.Errorf("the tokenizer.json %w: fetch it again", err)
	}
	t := newTokenizer(m)
	if err := t.addNormalizer(f.normalizer); err != nil {
		return nil, err
	}
	byteLevel, err := t.addPreTokenizers(flatten(f.preTokenizer))
	if err != nil {
		return nil, err
	}
	if err := t.addTokens(f.added); err != nil {
		return nil, err
	}
	m.finish(byteLevel)
	t.decoding.add(f.decoder, m)
	return t, nil
}

// mostBytes are of the parts that are read into lists of ours, which take many
// times as much memory.
var mostBytes = map[string]int{"added_tokens": 16 << 20, "normalizer": 1 << 20, "pre_tokenizer": 1 << 20, "decoder": 1 << 20}

// read reads the whole file, the vocabulary and the merges into m.
func (f *file) read(s *scanner, m *bpe) error {
	var model []byte
	err := s.object(func(name []byte) error {
		value, err := s.value()
		if err != nil {
			return err
		}
		if most, known := mostBytes[string(name)]; known {
			if err := within(value, most, string(name)); err != nil {
				return err
			}
		}
		switch string(name) {
		case "added_tokens":
			return unmarshal(value, &f.added, "added_tokens")
		case "normalizer":
			return unmarshal(value, &f.normalizer, "normalizer")
		case "pre_tokenizer":
			return unmarshal(value, &f.preTokenizer, "pre_tokenizer")
		case "decoder":
			return unmarshal(value, &f.decoder, "decoder")
		case "model":
			model = value
		}
		return nil
	})
	if err != nil {
		return err
	}
	if model == nil {
		return fmt.Errorf("has no model")
	}
	return f.readModel(&scanner{data: model}, m)
}

func unmarshal(value []byte, into any, what string) error {
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("has a damaged %s (%s)", what, clip(err.Error()))
	}
	return nil
}

// readModel reads the model. Its options decide first whether the vocabulary
// is of a form that can be read at all.
func (f *file) readModel(s *scanner, m *bpe) error {
	options := []byte{'{'}
	var vocab, merges []byte
	err := s.object(func(name []byte) error {
		value, err := s.value()
		switch string(name) {
		case "vocab":
			vocab = value
		case "merges":
			merges = value
		default:
			if err := within(value, maxPattern, "a model with "+clip(string(name))); err != nil {
				return err
			}
			options = fmt.Appendf(options, "%q:%s,", name, value)
		}
		return err
	})
	if err != nil {
		return err
	}
	options = append(bytes.TrimSuffix(options, []byte{','}), '}')
	if err := unmarshal(options, &f.model, "model"); err != nil {
		return err
	}
	if err := f.model.check(); err != nil {
		return err
	}
	if err := readVocab(&scanner{data: vocab}, m); err != nil {
		return err
	}
	if err := readMerges(&scanner{data: merges}, m); err != nil {
		return err
	}
	return f.model.apply(m)
}

func (o *modelOptions) check() error {
	switch {
	case o.Type != "BPE":
		return unsupported("a model of the type %q", o.Type)
	case o.Dropout != nil && *o.Dropout != 0:
		return unsupported("dropout, which makes counts random")
	case o.Prefix != nil && *o.Prefix != "":
		return unsupported("a continuing_subword_prefix, %q", *o.Prefix)
	case o.Suffix != nil && *o.Suffix != "":
		return unsupported("an end_of_word_suffix, %q", *o.Suffix)
	}
	return nil
}

func (o *modelOptions) apply(m *bpe) error {
	m.ignoreMerges, m.byteFallback, m.fuseUnknown = o.IgnoreMerges, o.ByteFallback, o.FuseUnk
	if o.UnkToken != nil {
		id, ok := m.vocab[*o.UnkToken]
		if !ok {
			return fmt.Errorf("has an unk_token, %q, that is not in its vocabulary", clip(*o.UnkToken))
		}
		m.unknown = id
	}
	return nil
}

func readVocab(s *scanner, m *bpe) error {
	m.vocab = make(map[string]int32, min(bytes.Count(s.data, []byte{':'}), maxVocabulary))
	return s.object(func(name []byte) error {
		if len(m.vocab) == maxVocabulary {
			return unsupported("more than %d tokens", maxVocabulary)
		}
		token := string(name)
		id, err := s.id()
		m.vocab[token] = id
		m.name(id, token)
		return err
	})
}

// readMerges reads merges in either form, "a b" or ["a", "b"].
func readMerges(s *scanner, m *bpe) error {
	m.merges = make(map[pair]merge, min(bytes.Count(s.data, []byte{','})/2, maxVocabulary))
	var both []byte
	rank := 0
	return s.array(func() error {
		var ok bool
		var left []byte
		var err error
		if s.peek() == '[' {
			left, both, err = s.twoTexts(both)
			ok = true
		} else {
			var joined []byte
			joined, err = s.text()
			var right []byte
			left, right, ok = bytes.Cut(joined, []byte{' '})
			both = append(append(both[:0], left...), right...)
		}
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("has a merge of one token, number %d", rank)
		}
		if rank == 2*maxVocabulary {
			return unsupported("more than %d merges", 2*maxVocabulary)
		}
		err = m.addMerge(left, both, rank)
		rank++
		return err
	})
}

// twoTexts reads an array of two strings. It returns the first and, in the
// memory of both, the two joined.
func (s *scanner) twoTexts(both []byte) (left, joined []byte, err error) {
	both = both[:0]
	n := 0
	err = s.array(func() error {
		one, err := s.text()
		if n == 0 {
			left = one
		}
		n++
		both = append(both, one...)
		return err
	})
	if err == nil && n != 2 {
		err = fmt.Errorf("has a merge of %d tokens", n)
	}
	return left, both, err
}
