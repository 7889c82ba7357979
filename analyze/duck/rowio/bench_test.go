package rowio

import (
	"io"
	"testing"
)

// BenchmarkWrite writes a row of six columns at a time.
func BenchmarkWrite(b *testing.B) {
	for name, f := range map[string]writer{"csv": WriteCSV, "jsonl": WriteJSONL} {
		b.Run(name, func(b *testing.B) {
			rows := func(yield func([]any, error) bool) {
				row := []any{int64(12345), 104.25, "llama.cpp", nil, []any{"throttled"}, true}
				for range b.N {
					if !yield(row, nil) {
						return
					}
				}
			}
			b.ReportAllocs()
			if err := f(io.Discard, names, rows); err != nil {
				b.Fatal(err)
			}
		})
	}
}
