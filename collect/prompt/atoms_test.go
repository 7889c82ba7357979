package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tokwatt/collect"
)

// byteCount is a server of a token a byte, of which the template has so many;
// atoms of two bytes reach every other length.
func byteCount(template int) CountFunc {
	return func(_ context.Context, p collect.Prompt) (collect.Counted, error) {
		return collect.Counted{PromptTokens: int64(template + len(p.System) + len(p.User))}, nil
	}
}

func triesOf(t *testing.T, count CountFunc, first string, fixed, fresh bool) *Tries {
	t.Helper()
	out, err := NewTries(first, fixed, func(atom string) (collect.Prompter, error) {
		return New(count, Options{Atom: atom, Fresh: fresh}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTriesMakeEveryLength: what the first atom leaps over another makes, to
// the token, and what it makes is left to it.
func TestTriesMakeEveryLength(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		count := byteCount(3)
		z := triesOf(t, count, "", false, fresh)
		for pp := int64(64); pp < 80; pp++ {
			if err := z.Size(t.Context(), pp); err != nil {
				t.Fatal(pp, err)
			}
			p, n := z.Build(pp)
			if c, _ := count(t.Context(), p); n == nil || *n != pp || c.PromptTokens != pp {
				t.Errorf("%d: built %d, said %v", pp, c.PromptTokens, n)
			}
			if odd := strings.Contains(p.User, "\n"); odd != (pp%2 == 0) {
				t.Errorf("%d: %q", pp, p.User)
			}
		}
	}
}

// TestTriesCountExactly is the same over a tokenizer.
func TestTriesCountExactly(t *testing.T) {
	z, err := NewTries("", false, func(atom string) (collect.Prompter, error) {
		return NewExact(bytesLike{}, chatLike{}, ExactOptions{Atom: atom})
	})
	if err != nil {
		t.Fatal(err)
	}
	for pp := int64(64); pp < 80; pp++ {
		if err := z.Size(t.Context(), pp); err != nil {
			t.Fatal(pp, err)
		}
		p, n := z.Build(pp)
		text, _ := chatLike{}.Render(p.System, p.User)
		if n == nil || *n != pp || int64(len(text)) != pp {
			t.Errorf("%d: built %d, said %v", pp, len(text), n)
		}
	}
}

type bytesLike struct{}

func (bytesLike) Count(text string) int { return len(text) }

func (bytesLike) Encode(text string) []int32 {
	ids := make([]int32, len(text))
	for i := range ids {
		ids[i] = int32(text[i])
	}
	return ids
}

// TestTriesRefuse: an atom that was asked for is kept, with the advice that
// was tried; a length that none makes is refused; a failure ends the search.
func TestTriesRefuse(t *testing.T) {
	twice := func(ctx context.Context, p collect.Prompt) (collect.Counted, error) {
		c, err := byteCount(3)(ctx, p)
		return collect.Counted{PromptTokens: 2*c.PromptTokens + 1}, err
	}
	for name, c := range map[string]struct {
		count CountFunc
		first string
		fixed bool
		want  string
	}{
		"asked for": {byteCount(3), "a ", true, `take --pp 65, or --atom "\n", which makes it`},
		"none does": {twice, "", false, `and none of "a ", "\n", "0 ", "a", "0" makes it: take --pp 67`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := triesOf(t, c.count, c.first, c.fixed, false).Size(t.Context(), 64); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	asked := 0
	down := func(context.Context, collect.Prompt) (collect.Counted, error) {
		asked++
		return collect.Counted{}, collect.Failf(collect.ErrHTTP, "404")
	}
	z := triesOf(t, down, "", false, false)
	var f *collect.Failure
	if err := z.Size(t.Context(), 64); !errors.As(err, &f) || asked != 1 {
		t.Errorf("%v after %d requests", err, asked)
	}
	if p, n := z.Build(64); n != nil || p.User == "" {
		t.Errorf("no prompt to measure with: %q, %v", p.User, n)
	}
}
