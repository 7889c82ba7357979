package prompt

import (
	"strings"
	"testing"
)

// TestOpeningsInARadixCache: a server that keeps every prefix of every prompt
// for ever has at most the first two words of a new opening, but for one
// opening in hundreds: that much package analyze allows for.
func TestOpeningsInARadixCache(t *testing.T) {
	const prompts = 2000
	o := newOpenings(words[:])
	seen := map[string]bool{}
	over := 0
	for range prompts {
		shared := 0
		prefix := ""
		for i, w := range strings.Fields(o.next()) {
			prefix += " " + w
			if seen[prefix] {
				shared = i + 1
			}
			seen[prefix] = true
		}
		if shared > 2 {
			over++
		}
	}
	if over > prompts/50 {
		t.Errorf("%d of %d openings share three words or more", over, prompts)
	}
}
