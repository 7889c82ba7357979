package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostileFiles are tokenizers that would take all memory, minutes, or more
// stack than there is, by what they put in the place of a part of whole.
func hostileFiles() map[string]string {
	const pattern = `\\p{L}+`
	put := func(old, now string) string { return strings.Replace(whole, old, now, 1) }
	normalizers := func(list ...string) string { return put(`{"type":"NFC"}`, strings.Join(list, ",")) }
	repeat := func(n int, s string) []string {
		return strings.Split(strings.TrimSuffix(strings.Repeat(s+"\x00", n), "\x00"), "\x00")
	}
	var alternatives, added bytes.Buffer
	for i := range 300_000 {
		fmt.Fprintf(&alternatives, "|abc%d", i)
	}
	for i := range 20_000 {
		fmt.Fprintf(&added, `{"id":%d,"content":"%0200d"},`, i, i)
	}
	bomb := `{"type":"Replace","pattern":{"String":"a"},"content":"` + strings.Repeat("a", 1000) + `"}`
	split := `{"type":"Split","pattern":{"Regex":"(?:a|b)+c"},"behavior":"Isolated","invert":false}`
	return map[string]string{
		"groups in groups":       put(pattern, strings.Repeat("(", 100_000)+"a"+strings.Repeat(")", 100_000)),
		"groups, under the size": put(pattern, strings.Repeat("(", 1000)+"a"+strings.Repeat(")", 1000)),
		"groups repeated":        put(pattern, strings.Repeat("(?:", 1000)+"a"+strings.Repeat("){2}", 1000)),
		"alternatives":           put(pattern, alternatives.String()[1:]),
		"repetition":             put(pattern, "(?:ab){1000000000}"),
		"repetition, spaced":     put(pattern, "a{1,1000000000}"),
		"evil":                   put(pattern, "(a+)+b"),
		"evil, a match each":     put(pattern, "(?:a|aa){20}b|a"),
		"bomb":                   normalizers(repeat(6, bomb)...),
		"bomb, small":            normalizers(repeat(7, `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`)...),
		"prefix":                 normalizers(`{"type":"Prepend","prepend":"` + strings.Repeat("a", 10_000) + `"}`),
		"many normalizers":       normalizers(repeat(20, `{"type":"Replace","pattern":{"String":"a"},"content":"a"}`)...),
		"empty normalizers":      normalizers(repeat(500_000, `{}`)...),
		"many splits":            put(`{"type":"Split"`, strings.Join(repeat(40, split), ",")+`,{"type":"Split"`),
		"nested sequences":       put(`{"type":"NFC"}`, strings.Repeat(`{"type":"Sequence","normalizers":[`, 100_000)+strings.Repeat(`]}`, 100_000)),
		"long added token":       put(`"<s>"`, `"`+strings.Repeat("a", 1_000_000)+`"`),
		"long added tokens":      put(`"added_tokens":[`, `"added_tokens":[`+added.String()),
		"colons":                 put(`"a":0`, `"a`+strings.Repeat(":", 100<<20)+`":0`),
		"deep":                   strings.Repeat("[", 5_000_000),
		"deep objects":           strings.Repeat(`{"a":`, 2_000_000) + "1" + strings.Repeat("}", 2_000_000),
		"deep option":            put(`"dropout":null`, `"dropout":`+strings.Repeat("[", 1_000_000)+strings.Repeat("]", 1_000_000)),
		"long option":            put(`"unk_token":null`, `"unk_token":"`+strings.Repeat("a", 1_000_000)+`"`),
		"long":                   whole + strings.Repeat(" ", MaxFile),
	}
}

// TestHostile: such a file is refused with a sentence, or read, soon, and
// without taking much memory.
func TestHostile(t *testing.T) {
	for name, file := range hostileFiles() {
		t.Run(name, func(t *testing.T) {
			raw := []byte(file)
			if strings.HasPrefix(file, "{") && len(file) < 1<<20 && !json.Valid(raw) && !strings.Contains(name, "deep") && name != "nested sequences" {
				t.Fatal("the file is no JSON")
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			_, err := Parse(raw)
			runtime.ReadMemStats(&after)
			if harmless := name == "colons" || name == "deep objects"; err == nil && !harmless || err != nil && len(err.Error()) > 400 {
				t.Errorf("error %.500v", err)
			}
			if took := time.Since(begin); took > 10*maxTrial {
				t.Errorf("took %v", took)
			}
			if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 1024 {
				t.Errorf("made %d MiB", made)
			}
		})
	}
}

// TestSlowText: a pattern that is fast on what Parse tries and slow on a text
// ends the count, whether one match is slow or all together are.
func TestSlowText(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as a text may")
	}
	for name, c := range map[string]struct{ pattern, text string }{
		"one match": {`(?:x|xx)+y|\\p{L}`, strings.Repeat("x", 100) + "z"},
		"many":      {`(?:x|xx){14}y|x`, strings.Repeat("x", 100_000)},
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := Parse([]byte(strings.Replace(whole, `\\p{L}+`, c.pattern, 1)))
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			defer func() {
				var slow *SlowError
				if err, ok := recover().(error); !ok || !errors.As(err, &slow) || slow.Bytes != len(c.text) {
					t.Errorf("no SlowError but %v", err)
				}
				if took := time.Since(begin); took > 10*encodeTime(len(c.text)) {
					t.Errorf("took %v", took)
				}
			}()
			tok.Count(c.text)
		})
	}
}

func TestLargeVocabulary(t *testing.T) {
	for _, v := range []Vocabulary{
		{Model: "gpt2", Pre: "qwen2", Tokens: make([]string, maxVocabulary+1), Types: make([]int32, maxVocabulary+1)},
		{Model: "gpt2", Pre: "qwen2", Merges: make([]string, 2*maxVocabulary+1)},
		{Model: "gpt2", Pre: "qwen2", Tokens: []string{strings.Repeat("a", 1000)}, Types: []int32{typeControl}},
	} {
		var refused *UnsupportedError
		if _, err := FromVocabulary(v); !errors.As(err, &refused) {
			t.Errorf("%d tokens, %d merges: %v", len(v.Tokens), len(v.Merges), err)
		}
	}
}
