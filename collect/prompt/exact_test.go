package prompt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tokwatt/collect"
)

// chatLike is a chat template of <bos> <system> … <user> … <assistant>.
type chatLike struct {
	refuseSystem, dropSystem, systemLast, dropUser bool
}

func (c chatLike) Render(system, user string) (string, error) {
	if system != "" && c.refuseSystem {
		return "", errors.New("no system message, please")
	}
	if system != "" && !c.dropSystem {
		system = "<system> " + system + " "
	} else {
		system = ""
	}
	if c.dropUser {
		user = ""
	}
	if c.systemLast {
		return "<bos> <user> " + user + " " + system + "<assistant>", nil
	}
	return "<bos> " + system + "<user> " + user + " <assistant>", nil
}

// dot is the atom of a wordLike tokenizer: other words are one token each, and
// so many dots are what their cost says.
const dot = " ·"

type wordLike struct {
	cost   func(dots int) int
	odd    map[string]bool // words of two tokens
	counts int
}

func (w *wordLike) Count(text string) int { w.counts++; return len(w.Encode(text)) }

func (w *wordLike) Encode(text string) []int32 {
	var ids []int32
	dots := strings.Count(text, dot)
	for _, f := range strings.Fields(strings.ReplaceAll(text, dot, "")) {
		id := int32(0)
		for _, r := range f {
			id = id*31 + r
		}
		ids = append(ids, id)
		if w.odd[f] {
			ids = append(ids, -1)
		}
	}
	cost := dots
	if w.cost != nil {
		cost = w.cost(dots)
	}
	return append(ids, make([]int32, cost)...)
}

func exact(t testing.TB, w *wordLike, c Chat, opts ExactOptions) *Exact {
	t.Helper()
	opts.Atom = dot
	e, err := NewExact(w, c, opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExact(t *testing.T) {
	for name, chat := range map[string]chatLike{
		"system":         {},
		"refuses system": {refuseSystem: true},
		"drops system":   {dropSystem: true},
		"system last":    {systemLast: true},
	} {
		for _, fresh := range []bool{false, true} {
			t.Run(fmt.Sprint(name, fresh), func(t *testing.T) {
				w := &wordLike{odd: map[string]bool{"able": true, "next": true}}
				e := exact(t, w, chat, ExactOptions{Fresh: fresh})
				for _, pp := range []int64{10, 11, 128, 4096, 100_000} {
					if err := e.Size(t.Context(), pp); err != nil {
						t.Fatal(err)
					}
					first := ""
					for i := range 2 {
						p, n := e.Build(pp)
						text, _ := chat.Render(p.System, p.User)
						if n == nil || *n != pp || int64(w.Count(text)) != pp {
							t.Fatalf("pp %d: %d tokens, said to be %v", pp, w.Count(text), n)
						}
						if i > 0 && (p.System+p.User == first) == fresh {
							t.Errorf("pp %d: two prompts, fresh %t: %.40q", pp, fresh, p)
						}
						if (p.System != "") != (fresh && chat == chatLike{}) {
							t.Errorf("opening in the wrong message: %.40q", p)
						}
						first = p.System + p.User
					}
				}
				want := int64(2) // <bos> <user>, or <bos> <system>
				if head := e.Head(); head == nil || *head != want {
					t.Errorf("head %v, want %d", *head, want)
				}
				if e.Source() != collect.PromptTokenizer || e.CountText("one two three") != 3 {
					t.Error("source or text")
				}
			})
		}
	}
}

func TestExactRefusals(t *testing.T) {
	pairs := func(n int) int { return 2 * n }
	for name, c := range map[string]struct {
		cost  func(int) int
		pp    int64
		fresh bool
		want  string
	}{
		"under the overhead":   {nil, 2, false, "shorter than the chat template's own tokens, which make 3: take --pp 3 or more"},
		"under the opening":    {nil, 9, true, "the prompt's opening words, which make 10: take --pp 10"},
		"overshot":             {pairs, 64, false, `" ·" leaps over it (30 atoms make 63 tokens and 31 make 65): take --pp 65, or another --atom, such as "a " or " a" or "\n" or "0 "`},
		"adds nothing":         {func(int) int { return 0 }, 64, false, "make +0 tokens"},
		"shrinks":              {func(n int) int { return min(n, 1) * (200 - n) }, 500, false, "not follow"},
		"jumps back and leaps": {func(n int) int { return 3*n - n%2*4 }, 502, false, "not follow"},
	} {
		t.Run(name, func(t *testing.T) {
			cost := c.cost
			if cost != nil {
				inner := cost
				cost = func(n int) int { return max(0, inner(n)) }
			}
			e := exact(t, &wordLike{cost: cost}, chatLike{}, ExactOptions{Fresh: c.fresh})
			err := e.Size(t.Context(), c.pp)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestOthersLeaveOutTheOne(t *testing.T) {
	for atom, want := range map[string]string{
		"a ": `" a" or "\n" or "0 "`,
		" a": `"a " or "\n" or "0 "`,
		"\n": `"a " or " a" or "0 "`,
		"0 ": `"a " or " a" or "\n"`,
	} {
		if got := others(atom); got != want {
			t.Errorf("%q: %s, want %s", atom, got, want)
		}
	}
}

// TestExactOverhead: the template alone is a length too, as in the seed.
func TestExactOverhead(t *testing.T) {
	e := exact(t, &wordLike{}, chatLike{}, ExactOptions{})
	if err := e.Size(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if p, n := e.Build(3); p.User != "" || *n != 3 {
		t.Errorf("%q, %d", p.User, *n)
	}
}

// TestFirstAtomCostsTwo is "a " in several tokenizers: one length is out of
// reach, all others are not.
func TestFirstAtomCostsTwo(t *testing.T) {
	e := exact(t, &wordLike{cost: func(n int) int { return n + min(n, 1) }}, chatLike{}, ExactOptions{})
	for pp := int64(3); pp < 200; pp++ {
		err := e.Size(t.Context(), pp)
		if (err != nil) != (pp == 4) || err != nil && !strings.Contains(err.Error(), "leaps over it (0 atoms make 3 tokens and 1 make 5)") {
			t.Errorf("%d: %v", pp, err)
		}
	}
}

// TestAnyGrowth: whatever the cost of atoms, if it only grows, a length is found
// exactly when some number of atoms makes it, and named a leap otherwise.
func TestAnyGrowth(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for range 60 {
		most := 1 + r.IntN(5)
		bent := r.IntN(2) == 0
		steps := make([]int, 5000)
		for i := 1; i < len(steps); i++ {
			step := r.IntN(most + 1)
			if bent && i > 700 {
				step += most // another slope further out
			}
			steps[i] = steps[i-1] + step
		}
		steps[100] = max(steps[100], 1)
		reached := map[int64]bool{}
		for _, n := range steps {
			reached[int64(3+n)] = true
		}
		w := &wordLike{cost: func(n int) int { return steps[min(n, len(steps)-1)] + max(0, n-len(steps)+1) }}
		e, err := NewExact(w, chatLike{}, ExactOptions{Atom: dot})
		if err != nil {
			t.Fatal(err)
		}
		if e.slope <= 0 || !e.steady {
			continue
		}
		for range 20 {
			pp := 3 + r.Int64N(int64(steps[len(steps)-1])+1)
			before := w.counts
			err := e.Size(t.Context(), pp)
			if (err == nil) != reached[pp] || err != nil && !strings.Contains(err.Error(), "leaps over it") {
				t.Errorf("seed %d: %d tokens (reached: %t): %v", seed, pp, reached[pp], err)
			}
			if n := w.counts - before; n > searches {
				t.Errorf("seed %d: %d counts", seed, n)
			}
			if err == nil {
				p, _ := e.Build(pp)
				text, _ := chatLike{}.Render(p.System, p.User)
				if got := int64(w.Count(text)); got != pp {
					t.Errorf("seed %d: built %d tokens for %d", seed, got, pp)
				}
			}
		}
	}
}

// TestSaw: an atom whose counts go up and down is searched around the guess,
// and what is found is exact.
func TestSaw(t *testing.T) {
	saw := func(n int) int { return n/16 + n%16/4 }
	e := exact(t, &wordLike{cost: saw}, chatLike{}, ExactOptions{})
	if e.steady {
		t.Fatal("taken for steady")
	}
	for pp := int64(3); pp < 600; pp++ {
		if err := e.Size(t.Context(), pp); err != nil {
			t.Errorf("%d: %v", pp, err)
			continue
		}
		p, n := e.Build(pp)
		if got := 3 + saw(strings.Count(p.User, dot)); int64(got) != pp || *n != pp {
			t.Errorf("%d: built %d", pp, got)
		}
	}
}

func TestExactIsFrugal(t *testing.T) {
	w := &wordLike{}
	e := exact(t, w, chatLike{}, ExactOptions{Fresh: true})
	before := w.counts
	if err := e.Size(t.Context(), 100_000); err != nil {
		t.Fatal(err)
	}
	if n := w.counts - before; n != 1 {
		t.Errorf("%d counts for a straight line", n)
	}
}

func TestServersOwnCount(t *testing.T) {
	boom := collect.Failf(collect.ErrHTTP, "404: no such model")
	for name, c := range map[string]struct {
		more int64
		err  error
		want string
	}{
		"the same":  {0, nil, ""},
		"one more":  {1, nil, "engine counts"},
		"no count":  {0, collect.ErrNoCount, ""},
		"no answer": {0, boom, "no such model"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wordLike{}
			var warned []string
			var asked []collect.Prompt
			e := exact(t, w, chatLike{}, ExactOptions{
				Warn: func(s string) { warned = append(warned, s) },
				Server: func(_ context.Context, p collect.Prompt) (collect.Counted, error) {
					asked = append(asked, p)
					text, _ := chatLike{}.Render(p.System, p.User)
					return collect.Counted{PromptTokens: int64(w.Count(text)) + c.more}, c.err
				},
			})
			for _, pp := range []int64{100, 200} {
				if err := e.Size(t.Context(), pp); err != nil {
					t.Fatal(err)
				}
			}
			if len(asked) != map[bool]int{false: 1, true: 2}[c.more > 0] || strings.Contains(strings.Join(warned, "; "), c.want) == (c.want == "" && len(warned) > 0) || (c.want == "") != (len(warned) == 0) {
				t.Errorf("asked %d times, warned %q", len(asked), warned)
			}
			if name == "one more" && !(strings.Contains(warned[0], "counts 108 tokens") && strings.Contains(warned[0], "is 107 by")) {
				t.Errorf("warned %q, want both numbers", warned)
			}
			if p, _ := e.Build(100); p == asked[0] {
				t.Error("the prompt that was asked about is measured")
			}
		})
	}
}

// TestLengthsOfAnotherCount: where the engine counts otherwise it is asked for
// each length, and each whose rows will be in no figure is told, with a way out.
func TestLengthsOfAnotherCount(t *testing.T) {
	for name, c := range map[string]struct {
		more    func(int) int
		lengths []int64
		asked   int
		far     int // lengths whose rows are in no figure
		near    int
	}{
		"the same":         {func(n int) int { return n }, []int64{100, 1000}, 1, 0, 0},
		"2 more":           {func(n int) int { return n + 2 }, []int64{50, 100}, 2, 0, 1},
		"3 more":           {func(n int) int { return n + 3 }, []int64{50, 100, 500}, 3, 2, 0},
		"3 fewer":          {func(n int) int { return n - 3 }, []int64{50, 100, 500}, 3, 2, 0},
		"20 more, at last": {func(n int) int { return n + 20 }, []int64{4000, 100}, 2, 1, 1},
		"a tenth more":     {func(n int) int { return n * 11 / 10 }, []int64{100, 1000, 10_000}, 3, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wordLike{}
			var warned []string
			asked := 0
			e := exact(t, w, chatLike{}, ExactOptions{
				Fresh: true,
				Warn:  func(s string) { warned = append(warned, s) },
				Server: func(_ context.Context, p collect.Prompt) (collect.Counted, error) {
					asked++
					text, _ := chatLike{}.Render(p.System, p.User)
					return collect.Counted{PromptTokens: int64(c.more(w.Count(text)))}, nil
				},
			})
			for _, pp := range c.lengths {
				if err := e.Size(t.Context(), pp); err != nil {
					t.Fatal(err)
				}
			}
			far := 0
			for _, s := range warned {
				if strings.Contains(s, "no row of that length will enter a figure") && strings.Contains(s, "--tokenizer server") {
					far++
				}
			}
			if asked != c.asked || far != c.far || len(warned)-far != c.near {
				t.Errorf("asked %d times, want %d; warned %q, want %d and %d", asked, c.asked, warned, c.far, c.near)
			}
		})
	}
}

func TestNewExactRefusals(t *testing.T) {
	odd := map[string]bool{}
	for _, w := range words[:60] {
		odd[w] = true
	}
	for name, c := range map[string]struct {
		chat Chat
		fail bool
	}{
		"drops what the user says": {chatLike{dropUser: true, dropSystem: true}, true},
		"fails":                    {failing{}, true},
		"most words of two tokens": {chatLike{}, false},
	} {
		e, err := NewExact(&wordLike{odd: odd}, c.chat, ExactOptions{Fresh: true})
		if (err != nil) != c.fail {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
}

type failing struct{}

func (failing) Render(string, string) (string, error) { return "", errors.New("no") }

// TestUnequalOpenings: where an opening costs more than others, what is said of
// its prompt is what it counts.
func TestUnequalOpenings(t *testing.T) {
	w := &wordLike{}
	e := exact(t, w, chatLike{}, ExactOptions{Fresh: true})
	if err := e.Size(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	w.odd = map[string]bool{}
	for _, word := range words {
		w.odd[word] = true
	}
	if p, n := e.Build(100); n == nil || *n != 106 {
		t.Errorf("%v for %.60q", n, p)
	}
}
