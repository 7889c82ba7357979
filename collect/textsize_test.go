package collect

import (
	"strings"
	"testing"
	"testing/synctest"
)

// TestTextsOfAnotherSize: a text that is half as long again as it was meant to
// be, or as much shorter, is told of once.
func TestTextsOfAnotherSize(t *testing.T) {
	for _, c := range []struct {
		meant, counted int64
		told           int
	}{{100, 151, 1}, {100, 150, 0}, {100, 67, 0}, {100, 66, 1}, {0, 66, 0}} {
		synctest.Test(t, func(t *testing.T) {
			d := newFake()
			d.answer = func(int64, Call) fakeAnswer { return fakeAnswer{report: &Report{PromptTokens: &c.counted}} }
			told := 0
			r := &Runner{Notify: func(p Progress) {
				if strings.Contains(p.Warning, "by the server's count") {
					told++
				}
			}}
			spec := Spec{Prompts: []Text{{Kind: "context_fill", Text: "x", About: c.meant}}, Repeat: 3, Warmup: ptr(0)}
			for _, err := range r.Run(t.Context(), Job{Driver: d, Spec: spec}) {
				if err != nil {
					t.Error(err)
				}
			}
			if told != c.told {
				t.Errorf("%d counted where %d were meant: told %d times", c.counted, c.meant, told)
			}
		})
	}
}
