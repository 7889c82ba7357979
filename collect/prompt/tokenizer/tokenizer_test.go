package tokenizer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/unicode/norm"
)

type golden struct {
	Tokenizer string
	sample
}

// goldens are texts with the ids that the reference library gives them with
// the small tokenizers in testdata. scripts/oracle/goldens.py made both.
func goldens(t testing.TB) []golden { return readGoldens(t, "testdata/ids.jsonl") }

func readGoldens(t testing.TB, path string) (all []golden) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
		var g golden
		if err := d.Decode(&g); err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	if len(all) < 500 {
		t.Fatalf("only %d goldens", len(all))
	}
	return all
}

func data(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func load(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Parse(data(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestGoldens(t *testing.T) {
	loaded := make(map[string]*Tokenizer)
	for _, g := range goldens(t) {
		tok := loaded[g.Tokenizer]
		if tok == nil {
			tok = load(t, g.Tokenizer)
			loaded[g.Tokenizer] = tok
		}
		if got := tok.Encode(g.Text); !slices.Equal(got, g.IDs) {
			t.Errorf("%s: %.60q: %v, want %v", g.Tokenizer, g.Text, got, g.IDs)
		}
		if n := tok.Count(g.Text); n != len(g.IDs) {
			t.Errorf("%s: %.60q: %d tokens, want %d", g.Tokenizer, g.Text, n, len(g.IDs))
		}
	}
}

// TestGGUF holds that a vocabulary as GGUF has it counts as its tokenizer.json.
func TestGGUF(t *testing.T) {
	pres := map[string]string{
		"llama": "llama-bpe", "gptoss": "gpt-4o", "deepseek": "deepseek-v3", "smollm": "smollm", "qwen": "qwen2",
	}
	loaded := make(map[string]*Tokenizer)
	for _, g := range goldens(t) {
		pre, ok := pres[g.Tokenizer]
		if !ok || pre == "qwen2" && !norm.NFC.IsNormalString(g.Text) {
			continue
		}
		tok := loaded[g.Tokenizer]
		if tok == nil {
			var err error
			if tok, err = FromVocabulary(vocabularyOf(t, data(t, g.Tokenizer), pre)); err != nil {
				t.Fatal(err)
			}
			loaded[g.Tokenizer] = tok
		}
		if got := tok.Encode(g.Text); !slices.Equal(got, g.IDs) {
			t.Errorf("%s: %.60q: %v, want %v", g.Tokenizer, g.Text, got, g.IDs)
		}
	}
	if len(loaded) != len(pres) {
		t.Errorf("%d of %d tried", len(loaded), len(pres))
	}
}

// decode turns ids of a byte-level tokenizer into text.
func decode(v Vocabulary, ids []int32) string {
	stands := make(map[rune]byte)
	for b, letter := range letters() {
		stands[letter] = byte(b)
	}
	var out []byte
	for _, id := range ids {
		if v.Types[id] == typeControl {
			out = append(out, v.Tokens[id]...)
			continue
		}
		for _, letter := range v.Tokens[id] {
			out = append(out, stands[letter])
		}
	}
	return string(out)
}

// randomText is what a tokenizer may meet: words, spaces, any characters,
// special tokens whole and broken.
func randomText(rng *rand.Rand, special string) string {
	pools := []string{" ", "\n", "  \t", "the ", "don't", "'LL", "123", "中文", "e\u0301", "🔥", special, special[:len(special)-1], "-=", "\u00a0"}
	var out strings.Builder
	for range rng.IntN(40) {
		if rng.IntN(8) == 0 {
			out.WriteRune(rune(rng.IntN(0x3fff)))
		} else {
			out.WriteString(pools[rng.IntN(len(pools))])
		}
	}
	return strings.ToValidUTF8(out.String(), "?")
}

// TestDecodes: what byte-level ids stand for is the text.
func TestDecodes(t *testing.T) {
	tok, v := load(t, "llama"), vocabularyOf(t, data(t, "llama"), "llama-bpe")
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		text := randomText(rng, "<|eot_id|>")
		if got := decode(v, tok.Encode(text)); got != text {
			t.Fatalf("seed %d: %q became %q", seed, text, got)
		}
	}
}

// TestAdditive: an added token stands between texts that know nothing of each
// other, so counts add up.
func TestAdditive(t *testing.T) {
	for _, c := range []struct{ name, special string }{{"llama", "<|eot_id|>"}, {"gemma", "<end_of_turn>"}, {"qwen", "<|im_end|>"}} {
		tok := load(t, c.name)
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		for range 500 {
			a, b := randomText(rng, c.special), randomText(rng, c.special)
			if strings.HasSuffix(a, "<") || strings.HasSuffix(a, c.special[:len(c.special)-1]) {
				continue // its end may be the beginning of another added token
			}
			got, want := tok.Count(a+c.special+b), tok.Count(a)+1+tok.Count(b)
			if got != want {
				t.Fatalf("%s, seed %d: %q and %q: %d tokens, want %d", c.name, seed, a, b, got, want)
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	tok := load(t, "qwen")
	all := slices.DeleteFunc(goldens(t), func(g golden) bool { return g.Tokenizer != "qwen" })
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for i := range all {
				g := all[(i+k*7)%len(all)]
				if got := tok.Encode(g.Text); !slices.Equal(got, g.IDs) {
					t.Errorf("%.60q: %v, want %v", g.Text, got, g.IDs)
				}
			}
		})
	}
	wg.Wait()
}

// TestManyWords fills the memory of words: what is kept and what is not must
// count alike.
func TestManyWords(t *testing.T) {
	tok := load(t, "llama")
	var text strings.Builder
	for i := range 3 * mostKept {
		fmt.Fprintf(&text, " w%cx%d", 'a'+i%26, i)
	}
	first := tok.Encode(text.String())
	if again := tok.Encode(text.String()); !slices.Equal(first, again) {
		t.Error("a second time gives other ids")
	}
	if v := vocabularyOf(t, data(t, "llama"), "llama-bpe"); decode(v, first) != text.String() {
		t.Error("the ids stand for another text")
	}
}

func TestInvalidUTF8(t *testing.T) {
	for _, name := range []string{"llama", "gemma", "qwen"} {
		tok := load(t, name)
		got, want := tok.Encode("a\xff\xe4\xb8z"), tok.Encode("a\ufffd\ufffd\ufffdz")
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestNFC holds what the reference's tables of Unicode 9 make of characters
// that norm.NFC composes or orders differently.
func TestNFC(t *testing.T) {
	for in, want := range map[string]string{
		"e\u0301":                          "\u00e9",
		"q\u0307\u0323":                    "q\u0323\u0307",
		"\u1112\u1161\u11ab":               "\ud55c",
		"\u0958":                           "\u0915\u093c",
		"\U00010041\u0301":                 "\U00010041\u0301",
		"\U00011099\U000110ba":             "\U0001109a",
		"\U00011935\U00011930":             "\U00011935\U00011930", // Unicode 13
		"q\u0c3c\u0334":                    "q\u0c3c\u0334",        // Unicode 14
		"a" + strings.Repeat("\u0300", 40): "\u00e0" + strings.Repeat("\u0300", 39),
		"\u0301a\u0301":                    "\u0301\u00e1",
	} {
		if got := nfc(in); got != want {
			t.Errorf("%+q: %+q, want %+q", in, got, want)
		}
	}
}
