package main

import (
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
	"tokwatt/collect"
	"tokwatt/collect/openai"
)

// absences are the answers that enter no figure, by reason.
type absences []absence

// absence is one reason, what to do about it, and how often it was met.
type absence struct {
	reason, advice string
	n              int64
}

// add takes note of a row that is in no figure. Requests that failed or were
// cancelled are no answers: they are told elsewhere.
func (a *absences) add(r analyze.RequestRow, c *collect.Case, t *collect.TargetInfo) {
	if r.Status == analyze.StatusFailed {
		return
	}
	reason, advice := whyAbsent(r, c, t)
	i := slices.IndexFunc(*a, func(x absence) bool { return x.reason == reason && x.advice == advice })
	if i < 0 {
		i, *a = len(*a), append(*a, absence{reason: reason, advice: advice})
	}
	(*a)[i].n++
}

// notes have a line a reason, of all answers of so many requests.
func (a absences) notes(requests int64) []string {
	var out []string
	for _, x := range a {
		out = append(out, fmt.Sprintf("in no figure: %d of %d answers (%s); %s", x.n, requests, x.reason, x.advice))
	}
	return out
}

// whyAbsent is the first reason that holds, in the order in which analyze
// settles what a row may enter.
func whyAbsent(r analyze.RequestRow, c *collect.Case, t *collect.TargetInfo) (reason, advice string) {
	has := func(flag string) bool { return slices.Contains(r.Flags, flag) }
	switch {
	case has("hidden_output"):
		return "tokens were counted, but none was shown", adviceHidden
	case has("bad_figure"):
		return "a figure of the server is negative or not finite", adviceServer
	case has("ttft_exceeds_total"):
		return "the first token is said to come after the last", adviceServer
	case r.Status == analyze.StatusInvalid:
		return "figures contradict each other", adviceServer
	case has("implausible"):
		return "a figure of the server can't be true", adviceServer
	case has("short_output"):
		return "shorter than --tg wants", adviceShort(c, t)
	case c.CacheMode == collect.CacheCold && r.InStats:
		return "served from a cache in a cold case", adviceCache
	case has("prompt_mismatch"):
		return mismatch(r, c), adviceLength(c)
	}
	return "by the rules of `tokwatt metrics`", "`tokwatt show` has their flags"
}

// What to do about answers that are in no figure.
const (
	adviceHidden = "let the server show its thinking, or turn thinking off there"
	adviceServer = "table requests has what it said, in server_json"
	adviceCache  = "turn the server's prefix cache off, or measure it with --use-prefix-cache"
)

// mismatch names the two lengths of a prompt.
func mismatch(r analyze.RequestRow, c *collect.Case) string {
	sized := c.PP
	if sized == nil {
		sized = r.PPTokens
	}
	if r.PromptTokens == nil || sized == nil {
		return "the server's count of the prompt is not what was sized"
	}
	return fmt.Sprintf("the server counted %d prompt tokens where %d were sized", *r.PromptTokens, *sized)
}

// adviceLength depends on who had counted the prompt.
func adviceLength(c *collect.Case) string {
	if c.PromptSource == collect.PromptTokenizer {
		return "it has another tokenizer or template: --tokenizer server fits lengths to its counts"
	}
	return "its counts change from one request to the next: `tokwatt query \"select pp_tokens, prompt_tokens from requests\"`"
}

// adviceShort depends on whether the engine can be kept from ending.
func adviceShort(c *collect.Case, t *collect.TargetInfo) string {
	without := "ask for fewer with --tg"
	if c.PP == nil {
		without = "leave --tg out, which is a wanted length: without it 128 is a limit"
	}
	switch {
	case c.EOSBan != "":
		return "the ban of the end token had no effect (" + c.EOSBan + "): " + without
	case unbannable(t):
		return t.Engine + " can't be kept from ending: " + without
	}
	return "--tokenizer DIR, the model's folder, bans its end token where the server allows it; or " + without
}

// unbannable tells engines that are known to take nothing against the end
// token.
func unbannable(t *collect.TargetInfo) bool {
	return t.Driver == "ollama" || slices.Contains(openai.Unbannable(), t.Engine)
}

// sqlWords is a list of words as SQL has it.
func sqlWords(list []string) string { return "('" + strings.Join(list, "', '") + "')" }
