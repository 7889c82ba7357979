package tokenizer

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestDecode holds that ids are the text that the reference library makes of
// them: parts of texts cut anywhere, and ids at random.
func TestDecode(t *testing.T) {
	loaded := map[string]*Tokenizer{}
	for _, g := range readGoldens(t, "testdata/decoded.jsonl") {
		tok := loaded[g.Tokenizer]
		if tok == nil {
			tok = load(t, g.Tokenizer)
			loaded[g.Tokenizer] = tok
		}
		if got := tok.Decode(g.IDs); got != g.Text {
			t.Errorf("%s: %v: %q, want %q", g.Tokenizer, g.IDs, got, g.Text)
		}
	}
}

// TestDecodeBits holds what an answer is made of while it comes: no part of a
// character, and no character later than its last byte.
func TestDecodeBits(t *testing.T) {
	for _, c := range []struct {
		name string
		ids  []int32
		want []string // of each token, and of the end
	}{
		{"qwen", []int32{byteID(t, "qwen", 0xe4), byteID(t, "qwen", 0xb8), byteID(t, "qwen", 0xad), byteID(t, "qwen", '!')}, []string{"", "", "中", "!", ""}},
		{"qwen", []int32{byteID(t, "qwen", 0xe4), byteID(t, "qwen", 0xb8), byteID(t, "qwen", 'x')}, []string{"", "", "\ufffdx", ""}},
		{"qwen", []int32{byteID(t, "qwen", 0xe4), byteID(t, "qwen", 0xb8)}, []string{"", "", "\ufffd"}},
		{"qwen", []int32{byteID(t, "qwen", 0xff), 1 << 30, -1}, []string{"\ufffd", "", "", ""}},
		{"gemma", []int32{byteID(t, "gemma", 0xc3), byteID(t, "gemma", 0xa9), byteID(t, "gemma", 0xc3), byteID(t, "gemma", 'x')}, []string{"", "é", "", "\ufffdx", ""}},
		{"gemma", []int32{byteID(t, "gemma", 0xf0), byteID(t, "gemma", 0x9f)}, []string{"", "", "\ufffd\ufffd"}},
	} {
		d := load(t, c.name).Decoder()
		var got []string
		for _, id := range c.ids {
			got = append(got, d.Next(id))
		}
		if got = append(got, d.End()); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s %v: %q, want %q", c.name, c.ids, got, c.want)
		}
	}
}

// byteID is the token of a byte.
func byteID(t *testing.T, name string, b byte) int32 { return load(t, name).model.bytes[b] }

// TestDecodesWhatItEncodes: of any text the tokens, as they come, are the text
// again, and each part is whole characters.
func TestDecodesWhatItEncodes(t *testing.T) {
	tok := load(t, "llama")
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		text := randomText(rng, "<|eot_id|>")
		d := tok.Decoder()
		var got strings.Builder
		for _, id := range tok.Encode(text) {
			part := d.Next(id)
			if !utf8.ValidString(part) {
				t.Fatalf("seed %d: %q", seed, part)
			}
			got.WriteString(part)
		}
		if got.WriteString(d.End()); got.String() != text {
			t.Fatalf("seed %d: %q became %q", seed, text, got.String())
		}
	}
}

// TestOracleDecode is TestDecode over the families' own vocabularies.
func TestOracleDecode(t *testing.T) {
	folders := filepath.SplitList(os.Getenv(oracleFolders))
	if len(folders) == 0 {
		t.Skip(oracleFolders + " is not set: run make oracle")
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(folder, "tokenizer.json"))
			if err != nil {
				t.Fatal(err)
			}
			tok, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			samples := readSamples(t, filepath.Join(folder, "decoded.jsonl"))
			wrong, ids := 0, 0
			for _, s := range samples {
				ids += len(s.IDs)
				if got := tok.Decode(s.IDs); got != s.Text {
					if wrong++; wrong <= 5 {
						t.Errorf("%v: %q, want %q", s.IDs, got, s.Text)
					}
				}
			}
			if len(samples) < 4000 {
				t.Errorf("only %d lists of ids", len(samples))
			}
			t.Logf("%d lists, %d ids: %d texts differ", len(samples), ids, wrong)
		})
	}
}

// BenchmarkDecode is the cost of a token.
func BenchmarkDecode(b *testing.B) {
	for _, name := range []string{"qwen", "gemma"} {
		b.Run(name, func(b *testing.B) {
			tok := load(b, name)
			ids := tok.Encode(strings.Repeat("The quick brown fox 中文 🔥. ", 100))
			for b.Loop() {
				tok.Decode(ids)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/token")
		})
	}
}
