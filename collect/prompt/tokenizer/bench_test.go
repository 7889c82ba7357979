package tokenizer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// search finds how many atoms make n tokens by bisection alone, the most
// counts that a search may need.
func search(b *testing.B, t *Tokenizer, atom string, n int) {
	low, high := 0, 2*n
	for low < high {
		middle := (low + high) / 2
		if t.Count(strings.Repeat(atom, middle)) < n {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if got := t.Count(strings.Repeat(atom, low)); got != n {
		b.Fatalf("%d atoms make %d tokens, want %d", low, got, n)
	}
}

// BenchmarkModels needs the models of make oracle. It loads a tokenizer.json,
// counts texts, and searches for 100,000 tokens.
func BenchmarkModels(b *testing.B) {
	folders := filepath.SplitList(os.Getenv(oracleFolders))
	if len(folders) == 0 {
		b.Skip(oracleFolders + " is not set: run make oracle")
	}
	source, err := os.ReadFile("../../../go.sum")
	if err != nil {
		b.Fatal(err)
	}
	texts := map[string]string{
		"atoms":   strings.Repeat(" a", 100_000),
		"words":   string(source),
		"chinese": strings.Repeat("这是一个测试。价格是元，时间为年月日。", 2000),
	}
	for _, folder := range folders {
		data, err := os.ReadFile(filepath.Join(folder, "tokenizer.json"))
		if err != nil {
			b.Fatal(err)
		}
		family := filepath.Base(folder)
		b.Run(family+"/parse", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Parse(data); err != nil {
					b.Fatal(err)
				}
			}
		})
		t, err := Parse(data)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(family+"/search", func(b *testing.B) {
			for b.Loop() {
				search(b, t, " a", 100_000)
			}
		})
		for name, text := range texts {
			b.Run(family+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					t.Count(text)
				}
			})
		}
	}
}
