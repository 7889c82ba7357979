package openai

import (
	"fmt"
	"strings"
	"testing"

	"tokwatt/collect"
)

// shownReport is what a report says of exo's statistics.
func shownReport(r *collect.Report) string {
	num := func(f *float64) string {
		if f == nil {
			return "-"
		}
		return fmt.Sprint(*f)
	}
	count := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	return strings.Join([]string{num(r.PromptTPS), num(r.GenerationTPS), string(r.GenerationRule), count(r.PromptTokens),
		count(r.CompletionTokens), count(r.PeakMemoryBytes), r.PrefixCacheHit, r.JSON}, " ")
}

// TestExoStatistics: wherever exo puts its statistics they are read, and stand
// verbatim in the report, its nulls too.
func TestExoStatistics(t *testing.T) {
	const (
		object   = `{"prompt_tps":64.5,"generation_tps":9.5,"prompt_tokens":%d,"generation_tokens":2,"peak_memory_usage":{"%s":7},"prefix_cache_hit":"none"}`
		progress = `: prefill_progress {"PrefillProgressChunk":{"model":"m","processed_tokens":0,"total_tokens":8}}` + "\n\n"
		usage    = `{"prompt_tokens":9,"completion_tokens":2}`
		last     = `data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"length"}],"usage":` + usage + "}\n\n"
		body     = `{"choices":[{"message":{"content":"ab"},"finish_reason":"length"}],"usage":null,"generation_stats":%s,"power_usage":%s}`
	)
	note := func(prompt int) string { return fmt.Sprintf(object, prompt, "in_bytes") }
	for _, c := range []struct {
		name   string
		events []string
		want   string
		report string
	}{
		{"stream", []string{": keep-alive\n\n", progress, delta(`"content":"a"`), last, ": generation_stats " + note(9) + "\n\n", endMark},
			"progress content:a content:b report", `64.5 9.5 intervals 9 2 7 none {"generation_stats":` + note(9) + `,"usage":` + usage + `}`},
		{"sequential engine", []string{delta(`"content":"a"`), last, ": generation_stats " + note(10) + "\n\n", endMark},
			"content:a content:b report", `64.5 9.5 tokens 9 2 7 none {"generation_stats":` + note(10) + `,"usage":` + usage + `}`},
		{"a comment inside an event", []string{delta(`"content":"a"`), strings.TrimSuffix(last, "\n"), ": generation_stats " + note(9) + "\n\n", endMark},
			"content:a content:b report", `64.5 9.5 intervals 9 2 7 none {"generation_stats":` + note(9) + `,"usage":` + usage + `}`},
		{"null in a comment", []string{last, ": generation_stats null\n\n", endMark}, "content:b/2 report", `- -  9 2 -  {"generation_stats":null,"usage":` + usage + `}`},
		{"a broken comment", []string{last, ": generation_stats {\"prompt\n\n", endMark}, "content:b/2 report", `- -  9 2 -  {"usage":` + usage + `}`},
		{"not finite", []string{last, `: generation_stats {"prompt_tps":Infinity,"generation_tps":NaN}` + "\n\n", endMark}, "content:b/2 report",
			`+Inf NaN intervals 9 2 -  {"generation_stats":{"prompt_tps":"Infinity","generation_tps":"NaN"},"usage":` + usage + `}`},
		{"body", []string{fmt.Sprintf(body, fmt.Sprintf(object, 9, "inBytes"), `{"nodes":[]}`)}, "content:ab",
			`64.5 9.5 intervals 9 2 7 none {"generation_stats":` + fmt.Sprintf(object, 9, "inBytes") + `,"power_usage":{"nodes":[]},"usage":null}`},
		{"nulls in a body", []string{fmt.Sprintf(body, "null", "null")}, "content:ab", `- -  - - -  {"generation_stats":null,"power_usage":null,"usage":null}`},
		{"odd types", []string{fmt.Sprintf(body, `{"prompt_tps":"x","peak_memory_usage":5,"prefix_cache_hit":["exact"]}`, "7")}, "content:ab",
			`- -  - - -  {"generation_stats":{"prompt_tps":"x","peak_memory_usage":5,"prefix_cache_hit":["exact"]},"usage":null}`},
	} {
		got, end, err := play(t, c.events...)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
		if r := shownReport(end.Report); r != c.report {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, r, c.report)
		}
	}
}

// TestEndlessProgress: comments that are arrivals are bounded as events are.
func TestEndlessProgress(t *testing.T) {
	got, _, err := play(t, strings.Repeat(": prefill_progress {}\n\n", freeEvents+200))
	if f := collect.AsFailure(err, "none"); f.Kind != collect.ErrProtocol || len(got) > 9*(freeEvents+200) {
		t.Errorf("%d arrivals, %v", len(got)/9, err)
	}
}
