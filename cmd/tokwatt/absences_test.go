package main

import (
	"strings"
	"testing"

	"tokwatt/analyze/duck"
	"tokwatt/collect"
)

// TestAbsences: what is in no figure says why, and what to do, under the
// closing table and in the summary.
func TestAbsences(t *testing.T) {
	few, other := int64(3), int64(21)
	sized := func(c *collect.Case) {
		pp := int64(64)
		c.PP, c.PromptKind, c.PromptSource, c.CacheMode = &pp, "sized", collect.PromptTokenizer, collect.CacheCold
	}
	for _, c := range []struct {
		name, closing, summary string
		engine                 string
		set                    func(*collect.Case)
		change                 func(*collect.Request)
	}{
		{"short", "in no figure: 1 of 1 answers (shorter than --tg wants); --tokenizer DIR", "--tokenizer DIR bans", "llama.cpp",
			func(c *collect.Case) { c.TGWanted = true }, func(r *collect.Request) { r.Report.CompletionTokens = &few }},
		{"short, no ban", "omlx can't be kept from ending: leave --tg out, which is a wanted length", "can't be kept from it", "omlx",
			func(c *collect.Case) { c.TGWanted = true }, func(r *collect.Request) { r.Report.CompletionTokens = &few }},
		{"short, sized", "omlx can't be kept from ending: ask for fewer with --tg", "can't be kept from it", "omlx",
			func(c *collect.Case) { sized(c); c.TGWanted = true }, func(r *collect.Request) { r.Report.CompletionTokens = &few }},
		{"short in spite", "had no effect (ignore_eos_unverified)", "ban in spite", "e",
			func(c *collect.Case) { c.TGWanted, c.EOSBan = true, "ignore_eos_unverified" }, func(r *collect.Request) { r.Report.CompletionTokens = &few }},
		{"another length", "(the server counted 21 prompt tokens where 64 were sized)", "--tokenizer server fits", "e",
			sized, func(r *collect.Request) { r.Report.PromptTokens = &other }},
		{"cached", "(served from a cache in a cold case)", "1 request hit a cache in a cold case: in no figure; turn", "e",
			sized, func(r *collect.Request) { r.Report.PrefixCacheHit = "exact" }},
		{"hidden", "(tokens were counted, but none was shown); let the server show", "but none shown", "e",
			func(*collect.Case) {}, func(r *collect.Request) { r.Chunks, r.OutputChars, r.Preview = nil, 0, "" }},
		{"implausible", "(a figure of the server can't be true); table requests", "can't be true: in none; table requests", "e",
			func(*collect.Case) {}, func(r *collect.Request) { x := 1e9; r.Report.PromptTPS = &x }},
		{"negative", "(a figure of the server is negative or not finite)", "contradict each other", "e",
			func(*collect.Case) {}, func(r *collect.Request) { x := -1.0; r.Report.EvalNS = &x }},
	} {
		recs := kindsOf(collect.TargetInfo{Engine: c.engine, Driver: "openai", ModelID: "m"}, c.change, []float64{10})
		for _, rec := range recs {
			if k, ok := rec.(*collect.Case); ok {
				c.set(k)
			}
		}
		db := storeOf(t, recs...)
		show := tokwatt(t, "", "show", "--db", db)
		if got := flat(show.out); strings.Count(got, c.closing) != 1 || !strings.Contains(got, "in no figure: 1 of 1 answers (") {
			t.Errorf("%s: want %q once:\n%s%s", c.name, c.closing, show.out, show.err)
		}
		if !duck.Available {
			continue
		}
		summary := tokwatt(t, "", "summary", "--db", db)
		if got := flat(summary.out); strings.Count(got, c.summary) != 1 {
			t.Errorf("%s: want %q once:\n%s%s", c.name, c.summary, summary.out, summary.err)
		}
		for _, line := range strings.Split(show.out+summary.out, "\n") {
			if len([]rune(line)) > screenColumns && !strings.HasPrefix(line, "options") {
				t.Errorf("%s: a line of over 80 columns: %s", c.name, line)
			}
		}
	}
}
