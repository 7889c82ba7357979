package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tokwatt/collect"
)

// server is a chat template over a word-and-space tokenizer, with a prefix
// cache that remembers the newest prompt.
type server struct {
	refuseSystem bool
	dropSystem   bool
	defaultText  string // a system message that stands where none is sent
	perAtom      int    // tokens a word of the user's text
	last         []string
	calls        int
}

func (s *server) tokens(p collect.Prompt) []string {
	t := []string{"<bos>", "<system>"}
	system := p.System
	if system == "" {
		system = s.defaultText
	}
	if !s.dropSystem {
		t = append(t, strings.Fields(system)...)
	}
	t = append(t, "<user>")
	for _, w := range strings.Fields(p.User) {
		for range max(s.perAtom, 1) {
			t = append(t, w)
		}
	}
	return append(t, "<assistant>")
}

func (s *server) count(_ context.Context, p collect.Prompt) (collect.Counted, error) {
	s.calls++
	if p.System != "" && s.refuseSystem {
		return collect.Counted{}, collect.Failf(collect.ErrHTTP, "system role not supported")
	}
	t := s.tokens(p)
	cached := int64(0)
	for int(cached) < min(len(t)-1, len(s.last)) && t[cached] == s.last[cached] {
		cached++
	}
	s.last = t
	return collect.Counted{PromptTokens: int64(len(t)), CachedTokens: &cached}, nil
}

func TestSizeIsExact(t *testing.T) {
	for name, s := range map[string]*server{
		"system":         {},
		"system default": {defaultText: "You are a helpful assistant"},
		"refuses system": {refuseSystem: true},
		"drops system":   {dropSystem: true},
	} {
		t.Run(name, func(t *testing.T) {
			z := New(s.count, Options{Fresh: true})
			for _, pp := range []int64{16, 17, 128, 129, 4096} {
				if err := z.Size(t.Context(), pp); err != nil {
					t.Fatal(err)
				}
				first, tokens := z.Build(pp)
				if tokens == nil || *tokens != pp {
					t.Fatalf("pp %d: verified %v", pp, tokens)
				}
				second, _ := z.Build(pp)
				for _, p := range []collect.Prompt{first, second} {
					if got := len(s.tokens(p)); int64(got) != pp {
						t.Errorf("pp %d: the server counts %d", pp, got)
					}
				}
				if first == second {
					t.Error("two prompts share their opening")
				}
				if (first.System == "") != (s.refuseSystem || s.dropSystem) {
					t.Errorf("opening in the wrong message: %+v", first.System)
				}
			}
			if head := z.Head(); head == nil || *head > 9 {
				t.Errorf("head %v, want what stands before the opening", head)
			}
			if s.calls > 4+5 {
				t.Errorf("%d requests for 5 lengths of a straight line", s.calls)
			}
		})
	}
}

func TestSizeWithoutOpening(t *testing.T) {
	s := &server{}
	z := New(s.count, Options{Source: collect.PromptTokenizer})
	if err := z.Size(t.Context(), 64); err != nil {
		t.Fatal(err)
	}
	p, _ := z.Build(64)
	if q, _ := z.Build(64); p != q || p.System != "" {
		t.Error("a prompt without opening differs between two builds")
	}
	if z.Head() != nil {
		t.Error("a head without an opening")
	}
	if z.Source() != collect.PromptTokenizer {
		t.Error("source")
	}
}

func TestSizeRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		s    *server
		pp   int64
		opts Options
		want string
	}{
		"too short":  {&server{}, 4, Options{}, "take --pp 5 or more"},
		"leaps over": {&server{perAtom: 2}, 65, Options{}, `take --pp`},
		"no atom":    {&server{}, 64, Options{Atom: " "}, "no length can be fitted"},
	} {
		t.Run(name, func(t *testing.T) {
			err := New(c.s.count, c.opts).Size(t.Context(), c.pp)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestSizeFailures(t *testing.T) {
	boom := collect.Failf(collect.ErrHTTP, "404: no such model")
	for name, fail := range map[string]error{"no count": collect.ErrNoCount, "failure": boom} {
		t.Run(name, func(t *testing.T) {
			z := New(func(context.Context, collect.Prompt) (collect.Counted, error) { return collect.Counted{}, fail }, Options{Fresh: true})
			if err := z.Size(t.Context(), 100); !errors.Is(err, fail) {
				t.Errorf("error %v, want %v", err, fail)
			}
			p, tokens := z.Build(100)
			if tokens != nil || strings.Count(p.User, " a") < 100 {
				t.Errorf("a prompt of about that length is still wanted, of unknown length: %d bytes, %v", len(p.User), tokens)
			}
		})
	}
}

func TestSizeFollowsAnUnsteadyCount(t *testing.T) {
	// Every 50th word costs one more: the line is not straight.
	count := func(_ context.Context, p collect.Prompt) (collect.Counted, error) {
		n := int64(len(strings.Fields(p.User)))
		return collect.Counted{PromptTokens: 7 + n + n/50}, nil
	}
	z := New(count, Options{})
	for _, pp := range []int64{100, 1000, 9999} {
		if err := z.Size(t.Context(), pp); err != nil && !strings.Contains(err.Error(), "leaps over") {
			t.Errorf("pp %d: %v", pp, err)
		}
	}
}

func TestWordsAreAlike(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range words {
		if len(w) != 4 || seen[w] {
			t.Errorf("%q: not of four letters, or twice in the list", w)
		}
		seen[w] = true
	}
}

func TestOpeningsStartWithAWordOfTheirOwn(t *testing.T) {
	o := newOpenings(words[:])
	last := map[string]int{}
	for i := range 4 * len(words) {
		w := strings.Fields(o.next())
		if len(w) != nonceWords {
			t.Fatalf("%d words in an opening: %q", len(w), w)
		}
		if at, ok := last[w[0]]; ok && i-at < len(words) {
			t.Fatalf("opening %d starts with %q as number %d did", i, w[0], at)
		}
		last[w[0]] = i
	}
}

// TestSilentEngine: an engine that did not answer in time is not asked again
// for each further length.
func TestSilentEngine(t *testing.T) {
	calls := 0
	s := New(func(context.Context, collect.Prompt) (collect.Counted, error) {
		calls++
		return collect.Counted{}, collect.Failf(collect.ErrStall, "no answer")
	}, Options{Fresh: true})
	for _, pp := range []int64{64, 128, 256} {
		var f *collect.Failure
		if err := s.Size(t.Context(), pp); !errors.As(err, &f) || f.Kind != collect.ErrStall {
			t.Errorf("%d: %v", pp, err)
		}
		if p, n := s.Build(pp); n != nil || len(strings.Fields(p.User)) < int(pp) {
			t.Errorf("%d: no prompt to measure with", pp)
		}
	}
	if calls != 1 {
		t.Errorf("asked %d times", calls)
	}
}
