package tokenizer

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// oracleFolders are folders with a model's tokenizer.json and, in ids.jsonl,
// texts with the ids that the reference library gives them.
const oracleFolders = "TOKWATT_ORACLE"

// preNames are the names by which GGUF files know the families' patterns.
var preNames = map[string]string{
	"qwen3": "qwen2", "qwen25": "qwen2", "llama3": "llama-bpe", "deepseek3": "deepseek-v3",
	"gptoss": "gpt-4o", "gpt4o": "gpt-4o", "smollm2": "smollm", "mistral": "tekken",
}

type sample struct {
	Text string
	IDs  []int32
}

// TestOracle compares with the reference library. `make oracle` prepares it.
func TestOracle(t *testing.T) {
	folders := filepath.SplitList(os.Getenv(oracleFolders))
	if len(folders) == 0 {
		t.Skip(oracleFolders + " is not set: run make oracle")
	}
	for _, folder := range folders {
		family := filepath.Base(folder)
		data, err := os.ReadFile(filepath.Join(folder, "tokenizer.json"))
		if err != nil {
			t.Fatal(err)
		}
		samples := readSamples(t, filepath.Join(folder, "ids.jsonl"))
		if len(samples) < 2000 {
			t.Fatalf("%s: only %d texts", family, len(samples))
		}
		t.Run(family, func(t *testing.T) {
			tok, err := Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tok, samples)
		})
		pre, ok := preNames[family]
		if !ok {
			continue
		}
		t.Run(family+" as GGUF", func(t *testing.T) {
			tok, err := FromVocabulary(vocabularyOf(t, data, pre))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tok, slices.DeleteFunc(slices.Clone(samples), func(s sample) bool {
				return pre == "qwen2" && !norm.NFC.IsNormalString(s.Text)
			}))
		})
	}
}

func readSamples(t testing.TB, path string) (all []sample) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
		var s sample
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func compare(t *testing.T, tok *Tokenizer, samples []sample) {
	wrong, ids := 0, 0
	for _, s := range samples {
		got := tok.Encode(s.Text)
		ids += len(s.IDs)
		if n := tok.Count(s.Text); n != len(got) {
			t.Errorf("Count %d, but Encode %d ids", n, len(got))
		}
		if slices.Equal(got, s.IDs) {
			continue
		}
		wrong++
		if wrong <= 5 {
			at := 0
			for at < min(len(got), len(s.IDs)) && got[at] == s.IDs[at] {
				at++
			}
			t.Errorf("%.80q: %d ids, want %d, from the %d-th on %v, want %v",
				s.Text, len(got), len(s.IDs), at, got[at:min(at+6, len(got))], s.IDs[at:min(at+6, len(s.IDs))])
		}
	}
	t.Logf("%d texts, %d ids: %d texts differ", len(samples), ids, wrong)
}

// vocabularyOf turns a tokenizer.json into what a GGUF file of it holds.
func vocabularyOf(t testing.TB, data []byte, pre string) Vocabulary {
	var f struct {
		Added []addedToken `json:"added_tokens"`
		Model struct {
			Vocab  map[string]int32
			Merges []json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	v := Vocabulary{Model: "gpt2", Pre: pre}
	put := func(token string, id, kind int32) {
		for int(id) >= len(v.Tokens) {
			v.Tokens, v.Types = append(v.Tokens, ""), append(v.Types, 5)
		}
		v.Tokens[id], v.Types[id] = token, kind
	}
	for token, id := range f.Model.Vocab {
		put(token, id, 1)
	}
	for _, a := range f.Added {
		put(a.Content, a.ID, 3)
	}
	for _, raw := range f.Model.Merges {
		var joined string
		var two [2]string
		if json.Unmarshal(raw, &two) == nil {
			joined = two[0] + " " + two[1]
		} else if err := json.Unmarshal(raw, &joined); err != nil {
			t.Fatal(err)
		}
		v.Merges = append(v.Merges, joined)
	}
	return v
}
