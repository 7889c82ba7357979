package collect

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWarmupPrompt: one short prompt per target, one at a time, of a case of
// its own, whatever the matrix is.
func TestWarmupPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		d.models = []string{"a", "b"}
		spec := Spec{Prompts: []Text{{Kind: "code", Text: "write", Limit: 3}}, Concurrency: []int64{4}, Repeat: 2, WarmupPrompt: &Text{Text: "Hello", Limit: 1}}
		got := runAll(t.Context(), d, spec)
		var warm []*Batch
		for _, b := range got.batches {
			if b.Warmup {
				warm = append(warm, b)
			} else if len(b.Requests) != 4 || got.cases[b.CaseID-1].PromptKind != "code" {
				t.Errorf("batch %+v of case %+v", b, got.cases[b.CaseID-1])
			}
		}
		if len(warm) != 2 || len(got.cases) != 4 {
			t.Fatalf("%d warm-ups, %d cases", len(warm), len(got.cases))
		}
		for _, b := range warm {
			c := got.cases[b.CaseID-1]
			if len(b.Requests) != 1 || c.TG != 1 || c.TGWanted || c.PromptKind != "warm-up" || c.PromptHash != promptHash("Hello") || c.Concurrency != 1 {
				t.Errorf("warm-up %+v of case %+v", b, c)
			}
		}
		if first := d.calls[0]; first.Prompt != (Prompt{User: "Hello"}) || first.MaxTokens != 1 || first.BanEOS || first.Streams != 1 {
			t.Errorf("the first call is %+v", first)
		}
	})
}

func TestLimitsOfTexts(t *testing.T) {
	for _, s := range []Spec{
		{Prompts: []Text{{Text: "x", Limit: 1}}},
		{Prompts: []Text{{Text: "x", Limit: -5}}},
		{Prompts: []Text{{Text: "x"}}, WarmupPrompt: &Text{Text: "Hello", Limit: -1}},
	} {
		if s.Validate() == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	if err := (Spec{Prompts: []Text{{Text: "x", Limit: 2}}, WarmupPrompt: &Text{Text: "Hello", Limit: 1}}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestPrefixCacheWarnings(t *testing.T) {
	const approximate, order = "approximate", "not in ascending order"
	for name, c := range map[string]struct {
		spec Spec
		want []string
	}{
		"cold":       {Spec{PP: []int64{5, 1}}, nil},
		"server":     {Spec{PP: []int64{5, 1}, Cache: CacheServer}, nil},
		"ascending":  {Spec{PP: []int64{1, 5, 5}, Cache: CachePrefix}, []string{approximate}},
		"descending": {Spec{PP: []int64{5, 1}, Cache: CachePrefix}, []string{approximate, order}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.spec.TG, c.spec.Repeat, c.spec.AllCombinations = []int64{2}, 1, true
				d := newFake()
				d.models = []string{"a", "b"}
				r := fakeRunner()
				var got []string
				r.Notify = func(p Progress) {
					if p.Warning != "" {
						got = append(got, p.Warning)
					}
				}
				job := Job{Driver: d, Spec: c.spec}
				for range r.Run(t.Context(), job, job) {
				}
				if len(got) != len(c.want) {
					t.Fatalf("warnings %q", got)
				}
				for i, w := range c.want {
					if !strings.Contains(got[i], w) {
						t.Errorf("warning %q, want one with %q", got[i], w)
					}
				}
			})
		})
	}
}

func TestStreamingPolicies(t *testing.T) {
	for policy, want := range map[Streaming]string{StreamAll: "true true", StreamSingle: "true false", StreamNone: "false false"} {
		synctest.Test(t, func(t *testing.T) {
			d := newFake()
			got := runAll(t.Context(), d, Spec{PP: []int64{1}, TG: []int64{2}, Concurrency: []int64{1, 3}, Repeat: 1, Warmup: ptr(0), Streaming: policy})
			if s := fmt.Sprint(d.calls[0].Stream, d.calls[1].Stream); s != want || len(d.calls) != 4 {
				t.Errorf("%q: %s, want %s", policy, s, want)
			}
			for i, c := range got.cases {
				if c.Streaming != d.calls[i].Stream {
					t.Errorf("%q: case %+v", policy, c)
				}
			}
			if n := len(got.batches[1].Requests); n != 3 {
				t.Errorf("%q: a batch of %d", policy, n)
			}
		})
	}
}

// countingPrompter has a tokenizer: one token a letter.
type countingPrompter struct {
	fakePrompter
	counted func(text string)
}

func (p *countingPrompter) CountText(s string) int64 { p.counted(s); return int64(len(s)) }

// TestRecount: the text is counted when the batch is over and before anybody
// sees it, whoever made the prompt; where some of it is not there, it is not.
func TestRecount(t *testing.T) {
	for name, c := range map[string]struct {
		spec   Spec
		answer fakeAnswer
		want   *Recount
	}{
		"sized":   {Spec{PP: []int64{5}, TG: []int64{3}}, fakeAnswer{}, &Recount{12, 4}},
		"own":     {Spec{Prompts: []Text{{Text: "x", Limit: 3}}}, fakeAnswer{}, &Recount{12, 4}},
		"failed":  {Spec{PP: []int64{5}, TG: []int64{3}}, fakeAnswer{tokens: 2, err: Failf(ErrReset, "reset")}, &Recount{8, 4}},
		"rest":    {Spec{PP: []int64{5}, TG: []int64{3}}, fakeAnswer{rest: "\uFFFD"}, &Recount{15, 4}},
		"hidden":  {Spec{PP: []int64{5}, TG: []int64{3}}, fakeAnswer{hidden: 1}, nil},
		"nothing": {Spec{PP: []int64{5}, TG: []int64{3}}, fakeAnswer{silent: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake()
				d.answer = func(int64, Call) fakeAnswer { return c.answer }
				c.spec.Concurrency, c.spec.Repeat, c.spec.Warmup = []int64{2}, 2, ptr(0)
				r := fakeRunner()
				r.Prompts = func(TargetInfo, Engine, bool) (Prompter, string) {
					return &countingPrompter{counted: func(string) {
						if d.flying.Load() != 0 {
							t.Error("counted while an answer is on its way")
						}
						time.Sleep(time.Second) // it must be in no time of the batch
					}}, ""
				}
				got := runWith(t.Context(), r, d, c.spec)
				for _, b := range got.batches {
					if took := time.Duration(b.EndNS - b.StartNS); took > 80*time.Millisecond {
						t.Errorf("a batch of %v", took)
					}
					for _, q := range b.Requests {
						if fmt.Sprint(q.Recount) != fmt.Sprint(c.want) {
							t.Errorf("recount %v, want %v", q.Recount, c.want)
						}
						if rest := c.answer.rest; !strings.HasSuffix(q.Preview, rest) || rest != "" && (q.OutputChars != 13 || len(q.Chunks) != 3) {
							t.Errorf("%d chunks of %d characters: %q", len(q.Chunks), q.OutputChars, q.Preview)
						}
					}
				}
			})
		})
	}
}

// TestPrompterWarning: it is told once per target, and only where prompts are
// made to a length; own prompts need no prompter at all.
func TestPrompterWarning(t *testing.T) {
	for name, c := range map[string]struct {
		spec     Spec
		prompter Prompter
		warnings int
		batches  int
	}{
		"sized":              {Spec{PP: []int64{5, 6}, TG: []int64{3}}, &fakePrompter{}, 2, 4},
		"own":                {Spec{Prompts: []Text{{Text: "x"}}}, &fakePrompter{}, 0, 2},
		"own, no prompter":   {Spec{Prompts: []Text{{Text: "x"}}}, nil, 0, 2},
		"sized, no prompter": {Spec{PP: []int64{5, 6}, TG: []int64{3}}, nil, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake()
				d.models = []string{"a", "b"}
				r := fakeRunner()
				r.Prompts = func(info TargetInfo, _ Engine, _ bool) (Prompter, string) {
					return c.prompter, "no tokenizer for " + info.ModelID
				}
				c.spec.Repeat, c.spec.Warmup = 1, ptr(0)
				got := runWith(t.Context(), r, d, c.spec)
				if len(got.warnings) != c.warnings || len(got.batches) != c.batches {
					t.Errorf("warnings %q, %d batches, errors %v", got.warnings, len(got.batches), got.errs)
				}
				r.Prompts = nil
				if got := runWith(t.Context(), r, d, c.spec); c.prompter == nil && len(got.batches) != c.batches {
					t.Errorf("without a maker: %d batches", len(got.batches))
				}
			})
		})
	}
}

// TestHeat: the host is asked around each batch and never within, the worse
// answer is kept, and it is warned of once per target.
func TestHeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		d.models = []string{"a", "b"}
		answers := []Heat{
			{}, // before a
			{SpeedLimitPct: ptr(100.0)}, {},
			{Throttled: ptr(false)}, {SpeedLimitPct: ptr(80.0), Throttled: ptr(true)},
			{SpeedLimitPct: ptr(70.0), Throttled: ptr(true)}, {SpeedLimitPct: ptr(90.0), Throttled: ptr(false)},
			{}, // before b
			{}, {},
			{}, {Throttled: ptr(false)},
			{}, {Throttled: ptr(true)},
		}
		r := fakeRunner()
		asked := 0
		r.Heat = func() Heat {
			if d.flying.Load() != 0 {
				t.Error("asked within a batch")
			}
			time.Sleep(10 * time.Millisecond)
			asked++
			return answers[asked-1]
		}
		got := runWith(t.Context(), r, d, Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 3, Warmup: ptr(0), Pause: -1, GroupPause: -1})
		show := func(b *Batch) string {
			s := ""
			if b.SpeedLimitPct != nil {
				s = fmt.Sprint(*b.SpeedLimitPct)
			}
			if b.Throttled != nil {
				s += fmt.Sprint(" ", *b.Throttled)
			}
			return s
		}
		for i, want := range []string{"100", "80 true", "70 true", "", " false", " true"} {
			if s := show(got.batches[i]); s != want {
				t.Errorf("batch %d: %q, want %q", i, s, want)
			}
		}
		if asked != len(answers) || len(got.warnings) != 2 || !strings.Contains(got.warnings[0], "to 80 % of its speed while a is") || !strings.Contains(got.warnings[1], "while b is") {
			t.Errorf("asked %d times, warnings %q", asked, got.warnings)
		}
	})
}
