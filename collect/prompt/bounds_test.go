package prompt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/prompt/tokenizer"
)

// TestOpenHostile: files that would take all memory or never end are models
// that can't be counted here.
func TestOpenHostile(t *testing.T) {
	const plain = "{% for m in messages %}{{ m.content }}{% endfor %}"
	folders := map[string]string{
		"template":              byteLevel(t, "{{ 'a' * 10000000000 }}"+plain),
		"macro":                 byteLevel(t, "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"+plain),
		"template, long prompt": byteLevel(t, "{% if messages[0].content|length > 8 %}{{ 'a' * 10000000000 }}{% endif %}"+plain),
		"pattern":               byteLevel(t, plain),
	}
	pattern := filepath.Join(folders["pattern"], "tokenizer.json")
	raw, err := os.ReadFile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	evil := `{"type":"Split","behavior":"Isolated","pattern":{"Regex":"` + strings.Repeat("(", 100_000) + "a" + strings.Repeat(")", 100_000) + `"}}`
	raw = []byte(strings.Replace(string(raw), `"pre_tokenizer":{`, `"pre_tokenizer":`+evil+`,"x":{`, 1))
	if err := os.WriteFile(pattern, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, folder := range folders {
		m, err := Open(t.Context(), folder, time.Now())
		var i *InexactError
		if name == "template, long prompt" {
			if err != nil {
				t.Fatal(err)
			}
			if _, err = m.Exact(ExactOptions{}); err == nil || !strings.Contains(err.Error(), "64 MiB") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if m != nil || !errors.As(err, &i) || len(err.Error()) > 400 {
			t.Errorf("%s: %v, %.500v", name, m, err)
		}
	}
}

// TestOpenEnds: Open does not wait for a reading that hangs, and one that
// panics ends no run.
func TestOpenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hang := func() (*Model, error) { <-release; return nil, errors.New("late") }
		var i *InexactError
		begin := time.Now()
		if _, err := within(t.Context(), "x", hang); !errors.As(err, &i) || time.Since(begin) != openTime {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		if _, err := within(ctx, "x", hang); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if _, err := within(t.Context(), "x", func() (*Model, error) { panic("boom") }); !errors.As(err, &i) || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%v", err)
		}
		close(release)
	})
}

// sluggish counts a token a byte, a second for each text or not at all.
type sluggish struct{ panics bool }

func (s sluggish) Count(text string) int { return len(s.Encode(text)) }

func (s sluggish) Encode(text string) []int32 {
	if s.panics {
		panic(&tokenizer.SlowError{Bytes: len(text)})
	}
	time.Sleep(time.Second)
	return []int32(([]rune)(text))
}

// TestSlowCounts: counts that take too long each, or together, are an error,
// and one that is cancelled ends at the next count.
func TestSlowCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if _, err := NewExact(sluggish{}, chatLike{}, ExactOptions{}); !errors.Is(err, errSlow) || time.Since(begin) > countTime(0)+2*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		var slow *tokenizer.SlowError
		if _, err := NewExact(sluggish{panics: true}, chatLike{}, ExactOptions{}); !errors.As(err, &slow) {
			t.Errorf("%v", err)
		}
		e := exact(t, &wordLike{}, chatLike{}, ExactOptions{})
		e.tokenizer, e.slope, e.steady = sluggish{}, 1e-6, true
		if err := e.Size(t.Context(), 1000); err == nil || !strings.Contains(err.Error(), "--tokenizer") && !strings.Contains(err.Error(), "--atom") {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		e.slope = 1
		begin = time.Now()
		if err := e.Size(ctx, 1000); !errors.Is(err, context.Canceled) || time.Since(begin) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		e.tokenizer = sluggish{panics: true}
		if n := e.CountText("x"); n != -1 {
			t.Errorf("%d tokens", n)
		}
	})
}

// cut is a server that cuts prompts to a context window.
func cut(s *server, window int64) CountFunc {
	return func(ctx context.Context, p collect.Prompt) (collect.Counted, error) {
		c, err := s.count(ctx, p)
		c.PromptTokens = min(c.PromptTokens, window)
		return c, err
	}
}

// TestCutPrompts: where the server cuts prompts it is told of the window, not
// of the atom; lengths within it can be had.
func TestCutPrompts(t *testing.T) {
	for _, window := range []int64{20, 50, 500} {
		for _, atom := range []string{" a", " " + strings.Repeat("x", 10_000)} {
			z := New(cut(&server{}, window), Options{Atom: atom})
			err := z.Size(t.Context(), window+100)
			if err == nil || !strings.Contains(err.Error(), "context window may be that small") || len(err.Error()) > 300 {
				t.Errorf("window %d: %.400v", window, err)
			}
			if err := z.Size(t.Context(), window-8); window > 40 && err != nil {
				t.Errorf("window %d: %.400v", window, err)
			}
		}
	}
}

// TestLongAtom: a message does not repeat an atom of any length, and a guess of
// a length makes no prompt that does not fit into memory.
func TestLongAtom(t *testing.T) {
	atom := strings.Repeat("x", 100_000)
	z := New((&server{perAtom: 3}).count, Options{Atom: " " + atom})
	for _, pp := range []int64{1, 101} {
		if err := z.Size(t.Context(), pp); err == nil || len(err.Error()) > 300 {
			t.Errorf("pp %d: %.400v", pp, err)
		}
	}
	if p, n := z.Build(1 << 40); n != nil || len(p.User) > longest+len(atom) {
		t.Errorf("%d bytes, %v", len(p.User), n)
	}
	e := exact(t, &wordLike{}, chatLike{}, ExactOptions{Atom: " " + atom[:1000]})
	if err := e.Size(t.Context(), 1); err == nil || len(err.Error()) > 300 {
		t.Errorf("%.400v", err)
	}
	if p, _ := e.Build(1 << 40); len(p.User) > longest+len(atom) {
		t.Errorf("%d bytes", len(p.User))
	}
}
