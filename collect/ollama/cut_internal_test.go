package ollama

import (
	"math/rand/v2"
	"strings"
	"testing"

	"tokwatt/collect"
)

// TestCutsAreCuts: of prompts in any order none is taken for cut that was not,
// whatever a token holds, and one is found by the time two that are much longer
// than the limit were counted.
func TestCutsAreCuts(t *testing.T) {
	for range 2000 {
		bytesPerToken := 1 + rand.IntN(128)
		limit := int64(1) << 40
		if rand.IntN(2) == 0 {
			limit = rand.Int64N(5000) + 1
		}
		var c cuts
		found, over := false, 0
		for range 20 {
			size := rand.IntN(100_000)
			whole := int64(size/bytesPerToken) + 9
			cut := c.note(collect.Prompt{User: strings.Repeat("x", size)}, min(whole, limit))
			if cut && whole < limit {
				t.Fatalf("%d bytes, %d a token, limit %d: not cut", size, bytesPerToken, limit)
			}
			found = found || cut
			if whole >= limit {
				over++
			}
		}
		if over == 20 && !found {
			t.Errorf("%d a token, limit %d: 20 cuts, none found", bytesPerToken, limit)
		}
	}
}
