package tokenizer

import "strings"

// stage is one normalizer or pre-tokenizer; which fields it has depends on its
// type.
type stage struct {
	Type             string
	Pattern          struct{ String, Regex *string }
	Content          string
	Prepend          string
	Behavior         string
	Invert           bool
	AddPrefixSpace   bool  `json:"add_prefix_space"`
	UseRegex         *bool `json:"use_regex"`
	IndividualDigits bool  `json:"individual_digits"`
	Normalizers      []*stage
	Pretokenizers    []*stage
	Decoders         []*stage
	Start, Stop      int
}

type addedToken struct {
	ID         int32
	Content    string
	SingleWord bool `json:"single_word"`
	Lstrip     bool
	Rstrip     bool
	Normalized bool
}

func (t *Tokenizer) addTokens(added []addedToken) error {
	for _, a := range added {
		t.model.name(a.ID, a.Content)
		switch {
		case a.SingleWord, a.Lstrip, a.Rstrip:
			return unsupported("the added token %q with single_word, lstrip or rstrip", a.Content)
		case a.Content == "":
		case len(a.Content) > longestAdded:
			return unsupported("an added token of %d bytes", len(a.Content))
		case a.Normalized:
			content := a.Content
			for _, f := range t.normalize {
				content = f(content)
			}
			if content == "" {
				continue
			}
			t.model.name(a.ID, content)
			if err := t.addToken(&t.normalized, content, a.ID); err != nil {
				return err
			}
		default:
			if err := t.addToken(&t.raw, a.Content, a.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tokenizer) addNormalizer(s *stage) error {
	if s == nil {
		return nil
	}
	switch s.Type {
	case "Sequence":
		for _, one := range s.Normalizers {
			if err := t.addNormalizer(one); err != nil {
				return err
			}
		}
	case "NFC":
		if err := t.lengthens(1, 3); err != nil {
			return err
		}
		t.normalize = append(t.normalize, nfc)
	case "Prepend":
		if err := t.lengthens(1, 1+len(s.Prepend)); err != nil {
			return err
		}
		t.normalize = append(t.normalize, prepend(s.Prepend))
	case "Replace":
		if s.Pattern.String == nil || *s.Pattern.String == "" {
			return unsupported("a Replace normalizer of something else than a string")
		}
		if err := t.lengthens(len(*s.Pattern.String), len(s.Content)); err != nil {
			return err
		}
		t.normalize = append(t.normalize, replace(*s.Pattern.String, s.Content))
	default:
		return unsupported("the normalizer %q", s.Type)
	}
	return nil
}

// flatten returns a sequence of pre-tokenizers as the list that it is.
func flatten(s *stage) []*stage {
	if s == nil {
		return nil
	}
	if s.Type != "Sequence" {
		return []*stage{s}
	}
	var all []*stage
	for _, one := range s.Pretokenizers {
		all = append(all, flatten(one)...)
	}
	return all
}

// addPreTokenizers reports whether the words are taken byte by byte.
func (t *Tokenizer) addPreTokenizers(all []*stage) (byteLevel bool, err error) {
	if len(all) > maxStages {
		return false, unsupported("%d pre-tokenizers", len(all))
	}
	for i, s := range all {
		if s.Type == "ByteLevel" && i < len(all)-1 {
			return false, unsupported("the pre-tokenizer %q after ByteLevel", all[i+1].Type)
		}
		if err := t.addPreTokenizer(s); err != nil {
			return false, err
		}
		byteLevel = s.Type == "ByteLevel"
	}
	return byteLevel, nil
}

func (t *Tokenizer) addPreTokenizer(s *stage) error {
	switch s.Type {
	case "Split":
		return t.addSplit(s)
	case "Digits":
		if s.IndividualDigits {
			return t.addPattern(`\p{N}`)
		}
		return t.addPattern(`\p{N}+`)
	case "ByteLevel":
		if s.AddPrefixSpace {
			return unsupported("ByteLevel with add_prefix_space")
		}
		if s.UseRegex == nil || *s.UseRegex {
			return t.addPattern(gpt2)
		}
		return nil
	}
	return unsupported("the pre-tokenizer %q", s.Type)
}

func (t *Tokenizer) addPattern(expr string) error {
	re, err := t.pattern(expr)
	if err == nil {
		t.split = append(t.split, isolated(regular(re)))
	}
	return err
}

func (t *Tokenizer) addSplit(s *stage) error {
	var m matcher
	switch {
	case s.Pattern.Regex != nil:
		re, err := t.pattern(*s.Pattern.Regex)
		if err != nil {
			return err
		}
		m = regular(re)
	case s.Pattern.String != nil && *s.Pattern.String != "":
		m = literal(*s.Pattern.String)
	default:
		return unsupported("a Split without a pattern")
	}
	switch {
	case s.Behavior == "Isolated":
		t.split = append(t.split, isolated(m))
	case s.Behavior == "Removed":
		t.split = append(t.split, removed(m, s.Invert))
	case s.Behavior == "MergedWithPrevious" && !s.Invert:
		t.split = append(t.split, mergedWithPrevious(m))
	default:
		return unsupported("a Split with the behavior %s (inverted: %t)", strings.TrimSpace(s.Behavior), s.Invert)
	}
	return nil
}
