package tokenizer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// whole is a tokenizer.json of one added token and two tokens with one merge;
// tests put faults into it.
const whole = `{"added_tokens":[{"id":3,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"}]},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\p{L}+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]},
"post_processor":null,
"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]}}`

func TestRefusals(t *testing.T) {
	if _, err := Parse([]byte(whole)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, what string }{
		{`"BPE"`, `"WordPiece"`, `WordPiece`},
		{`"BPE"`, `"Unigram"`, `Unigram`},
		{`"dropout":null`, `"dropout":0.1`, `dropout`},
		{`"continuing_subword_prefix":""`, `"continuing_subword_prefix":"##"`, `continuing_subword_prefix`},
		{`"unk_token":null`, `"unk_token":null,"end_of_word_suffix":"</w>"`, `end_of_word_suffix`},
		{`"NFC"`, `"NFKC"`, `normalizer "NFKC"`},
		{`"NFC"`, `"Lowercase"`, `normalizer "Lowercase"`},
		{`{"type":"NFC"}`, `{"type":"Replace","pattern":{"Regex":"a"},"content":"b"}`, `Replace`},
		{`"lstrip":false`, `"lstrip":true`, `"<s>"`},
		{`"rstrip":false`, `"rstrip":true`, `"<s>"`},
		{`"single_word":false`, `"single_word":true`, `"<s>"`},
		{`"add_prefix_space":false`, `"add_prefix_space":true`, `add_prefix_space`},
		{`{"type":"ByteLevel"`, `{"type":"Metaspace"`, `Metaspace`},
		{`"use_regex":false}`, `"use_regex":false},{"type":"Split","pattern":{"String":"a"},"behavior":"Isolated"}`, `after ByteLevel`},
		{`"Isolated"`, `"MergedWithNext"`, `MergedWithNext`},
		{`"Isolated"`, `"Contiguous"`, `Contiguous`},
		{`{"Regex":"\\p{L}+"}`, `{"String":""}`, `without a pattern`},
		{`\\p{L}+`, `\\p{Han}+`, `another category`},
		{`\\p{L}+`, `\\P{L}+`, `\P`},
		{`\\p{L}+`, `\\w+`, `\w`},
		{`\\p{L}+`, `\\p{L}++`, `possessive`},
		{`\\p{L}+`, `\\p{L}+?`, `lazy`},
		{`\\p{L}+`, `(?<=a)b`, `special group`},
		{`\\p{L}+`, `(?i:ß)`, `(?i:ß)`},
		{`\\p{L}+`, `(?i:st)`, `(?i:st)`},
		{`\\p{L}+`, `[a&&b]`, `intersection`},
		{`\\p{L}+`, `[[:alpha:]]`, `class within a class`},
		{`\\p{L}+`, `[]a]`, `empty class`},
		{`\\p{L}+`, `a.`, `"."`},
		{`\\p{L}+`, `a$`, `"$"`},
		{`\\p{L}+`, `(a`, `does not compile`},
		{`\\p{L}+`, `(?:a|aa)+\\p{N}`, `slow`},
		{`\\p{L}+`, `\\`, `at its end`},
	} {
		_, err := Parse([]byte(strings.Replace(whole, c.from, c.to, 1)))
		var refused *UnsupportedError
		if !errors.As(err, &refused) || !strings.Contains(refused.What, c.what) {
			t.Errorf("%s for %s: %v, want a refusal of %s", c.to, c.from, err, c.what)
		}
	}
}

func TestDamaged(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{`"ab":2`, `"ac":2`},
		{`["a","b"]`, `["a","x"]`},
		{`["a","b"]`, `["a"]`},
		{`["a","b"]`, `["a","b","c"]`},
		{`["a","b"]`, `"ab"`},
		{`["a","b"]`, `7`},
		{`"ab":2`, `"ab":-2`},
		{`"ab":2`, `"ab":3000000000`},
		{`"ab":2`, `"ab":"2"`},
		{`"unk_token":null`, `"unk_token":"<unk>"`},
		{`"merges"`, `"mergers"`},
		{`"model"`, `"modal"`},
		{`"dropout":null`, `"dropout":nil`},
		{`"added_tokens":[`, `"added_tokens":[7,`},
		{`"a":0`, `"\x":0`},
	} {
		_, err := Parse([]byte(strings.Replace(whole, c.from, c.to, 1)))
		var refused *UnsupportedError
		if err == nil || errors.As(err, &refused) {
			t.Errorf("%s for %s: %v, want an error that says that the file is damaged", c.to, c.from, err)
		}
	}
	for n := range len(whole) - 1 {
		if _, err := Parse([]byte(whole[:n])); err == nil {
			t.Errorf("no error with the first %d bytes of %d", n, len(whole))
		}
	}
}

func TestVocabularyRefusals(t *testing.T) {
	good := Vocabulary{Model: "gpt2", Pre: "qwen2", Tokens: []string{"a", "b", "ab"}, Merges: []string{"a b"}, Types: []int32{1, 1, 1}}
	if tok, err := FromVocabulary(good); err != nil || tok.Count("ab") != 1 {
		t.Fatal(err)
	}
	for _, model := range []string{"llama", "bert", "t5", ""} {
		v := good
		v.Model = model
		var refused *UnsupportedError
		if _, err := FromVocabulary(v); !errors.As(err, &refused) {
			t.Errorf("model %q: %v", model, err)
		}
	}
	for _, pre := range []string{"", "default", "kimi-k2", "bloom"} {
		v := good
		v.Pre = pre
		var refused *UnsupportedError
		if _, err := FromVocabulary(v); !errors.As(err, &refused) {
			t.Errorf("pre-tokenizer %q: %v", pre, err)
		}
	}
	for _, damage := range []func(*Vocabulary){
		func(v *Vocabulary) { v.Types = v.Types[:2] },
		func(v *Vocabulary) { v.Merges = []string{"ab"} },
		func(v *Vocabulary) { v.Merges = []string{"a c"} },
	} {
		v := good
		damage(&v)
		var refused *UnsupportedError
		if _, err := FromVocabulary(v); err == nil || errors.As(err, &refused) {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

// FuzzParse: whatever the file, Parse returns, and what it accepts encodes.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	for _, name := range []string{"qwen", "gemma", "deepseek"} {
		b, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for name, file := range hostileFiles() {
		if len(file) < 1<<14 && !strings.HasPrefix(name, "evil") {
			f.Add([]byte(file))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tok, err := Parse(b)
		if err == nil {
			tok.Encode("a ab\n中 12 <s>")
		} else if tok != nil {
			t.Error("both a tokenizer and an error")
		}
	})
}

// FuzzEncode: byte-level ids stand for the text, and Count agrees.
func FuzzEncode(f *testing.F) {
	tok, v := load(f, "llama"), vocabularyOf(f, data(f, "llama"), "llama-bpe")
	others := []*Tokenizer{load(f, "qwen"), load(f, "gemma"), load(f, "deepseek"), load(f, "gptoss")}
	for _, s := range []string{"", "don't  \n\n x", "<|eot_id|>12345", "e\u0301中\xff", "   \t "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		valid := strings.ToValidUTF8(text, "")
		if got := decode(v, tok.Encode(valid)); got != valid {
			t.Errorf("%q became %q", valid, got)
		}
		for i, tok := range append(others, tok) {
			if got, want := tok.Count(text), len(tok.Encode(text)); got != want {
				t.Error(fmt.Sprint("tokenizer ", i, ": ", got, " tokens, but ", want, " ids"))
			}
		}
	})
}
