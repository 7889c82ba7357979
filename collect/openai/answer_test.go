package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/wire"
)

// play feeds events to an answer and returns its arrivals as text
// ("kind:text/tokens"), its report and how it ended.
func play(t *testing.T, events ...string) (string, collect.Arrival, error) {
	t.Helper()
	var out []string
	a := &answer{streamed: true}
	a.emit = func(x collect.Arrival) bool {
		s := x.Kind.String()
		if x.Text != "" {
			s += ":" + x.Text
		}
		if x.Hidden != 0 {
			s += fmt.Sprintf("+%d", x.Hidden)
		}
		if x.Tokens != collect.TokensUnknown {
			s += fmt.Sprintf("/%d", x.Tokens)
		}
		out = append(out, s)
		return true
	}
	d := &decoder{lines: collect.NewLineReader(collect.NewClock(), strings.NewReader(strings.Join(events, "")))}
	s := &stream{hurry: func(time.Duration) {}}
	ev, err := d.next()
	if err == nil && ev.bare {
		err = s.whole(d, ev, a)
	} else {
		err = s.events(d, ev, err, a)
	}
	return strings.Join(out, " "), a.last(), err
}

func delta(fields string) string { return choices(`[{"index":0,"delta":{` + fields + `}}]`) }

func choices(c string) string { return `data: {"choices":` + c + "}\n\n" }

const (
	finished = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	endMark  = "data: [DONE]\n\n"
)

func TestAnswer(t *testing.T) {
	word := delta(`"content":"a"`)
	for _, c := range []struct {
		name   string
		events []string
		want   string
		kind   collect.ErrorKind
		unsure bool // unclean end
	}{
		{"plain", []string{word, finished, endMark}, "content:a role", "", false},
		{"role first", []string{delta(`"role":"assistant","content":""`), word, finished, endMark}, "role content:a role", "", false},
		{"null content", []string{delta(`"content":null`), word, finished, endMark}, "role content:a role", "", false},
		{"two names of reasoning", []string{delta(`"reasoning":"r","reasoning_content":"r"`), finished, endMark}, "reasoning:r role", "", false},
		{"thinking", []string{delta(`"thinking":"r"`), finished, endMark}, "reasoning:r role", "", false},
		{"reasoning and text in one event", []string{delta(`"reasoning":"r","content":"a"`), finished, endMark}, "content:a+1 role", "", false},
		{"reasoning, text and a tool call in one event", []string{delta(`"reasoning":"räs","content":"a","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]`), finished, endMark}, "content:a+6 role", "", false},
		{"reasoning and a tool call in one event", []string{delta(`"reasoning":"r","tool_calls":[{"function":{"name":"f"}}]`), finished, endMark}, "reasoning:r+1 role", "", false},
		{"reasoning and text in one body", []string{`{"choices":[{"message":{"reasoning":"rr","content":"abc"}}]}`}, "content:abc+2", "", false},
		{"refusal", []string{delta(`"refusal":"no"`), finished, endMark}, "content:no role", "", false},
		{"tool name", []string{delta(`"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]`), finished, endMark}, "tool:f role", "", false},
		{"old function call", []string{delta(`"function_call":{"name":"f","arguments":"{}"}`), finished, endMark}, "tool:f{} role", "", false},
		{"content in parts", []string{delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"a"}]`), finished, endMark}, "content:a+1 role", "", false},
		{"field of an odd type", []string{`data: {"model":7,"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n", finished, endMark}, "content:a role", "", false},
		{"other choices", []string{choices(`[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]`), choices(`[{"index":1,"delta":{"content":"b"}}]`), finished, endMark}, "content:a role role", "", false},
		{"message after deltas", []string{word, choices(`[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]`), endMark}, "content:a report", "", false},
		{"message alone", []string{choices(`[{"index":0,"message":{"content":"abc"},"finish_reason":"stop"}]`), endMark}, "content:abc", "", false},
		{"completions API", []string{choices(`[{"index":0,"text":"a"}]`), choices(`[{"index":0,"text":"","finish_reason":"stop"}]`), endMark}, "content:a role", "", false},
		{"progress", []string{`data: {"choices":[],"prompt_progress":{"total":9,"processed":3}}` + "\n\n", word, finished, endMark}, "progress content:a role", "", false},
		{"running totals", []string{
			`data: {"choices":[{"delta":{"role":"assistant"}}],"usage":{"completion_tokens":0}}` + "\n\n",
			`data: {"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":2}}` + "\n\n",
			`data: {"choices":[{"delta":{"reasoning":"r","content":"b"}}],"usage":{"completion_tokens":5}}` + "\n\n", finished, endMark},
			"role content:a/2 content:b+1/3 role", "", false},
		{"totals with a gap", []string{
			`data: {"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":2}}` + "\n\n", word,
			`data: {"choices":[{"delta":{"content":"b"}}],"usage":{"completion_tokens":5}}` + "\n\n", finished, endMark},
			"content:a/2 content:a content:b role", "", false},
		{"error object", []string{word, `data: {"error":{"message":"boom"}}` + "\n\n", endMark}, "content:a", collect.ErrServer, false},
		{"error string", []string{`data: {"error":"boom"}` + "\n\n"}, "", collect.ErrServer, false},
		{"error null", []string{`data: {"error":null,"choices":[{"delta":{"content":"a"}}]}` + "\n\n", finished, endMark}, "content:a role", "", false},
		{"error event", []string{word, "event: error\ndata: boom\n\n"}, "content:a", collect.ErrServer, false},
		{"error object of its own", []string{`data: {"object":"error","message":"boom","code":400}` + "\n\n"}, "", collect.ErrServer, false},
		{"bare error after text", []string{word, `{"error":{"message":"boom"}}` + "\n"}, "content:a", collect.ErrServer, false},
		{"bare error alone", []string{`{"error":{"message":"boom"}}` + "\n"}, "", collect.ErrServer, false},
		{"pretty json error", []string{"{\n \"detail\": \"boom\"\n}\n"}, "", collect.ErrServer, false},
		{"ping", []string{"event: ping\ndata: {\"type\":\"ping\"}\n\n", word, finished, endMark}, "role content:a role", "", false},
		{"abort", []string{word, choices(`[{"delta":{},"finish_reason":"abort"}]`), endMark}, "content:a role", collect.ErrServer, false},
		{"finish empty", []string{choices(`[{"delta":{"content":"a"},"finish_reason":""}]`)}, "content:a", collect.ErrTruncated, false},
		{"no end mark", []string{word, finished}, "content:a role", "", true},
		{"only the end mark", []string{word, endMark}, "content:a", "", false},
		{"end mark without blank line", []string{word, "data: [DONE]"}, "content:a", "", false},
		{"cut event", []string{word, `data: {"choices":[{"delta":{"con`}, "content:a", collect.ErrTruncated, false},
		{"cut event after finish", []string{word, finished, `data: {"choices":[{"delta":{"con`}, "content:a role", "", true},
		{"broken event after finish", []string{word, finished, "data: {oops}\n\n", endMark}, "content:a role", "", true},
		{"text event after finish", []string{word, finished, "data: bye\n\n", endMark}, "content:a role", "", true},
		{"no number in the timings", []string{word, choices(`[],"timings":{"predicted_per_second":Infinity,"prompt_ms":-Infinity}`), finished, endMark}, "content:a role role", "", false},
		{"no number beside the text", []string{`data: {"choices":[{"delta":{"content":"NaN \"Infinity"},"logprobs":[NaN,-Infinity]}]}` + "\n\n", finished, endMark}, "content:NaN \"Infinity role", "", false},
		{"no number in a body", []string{`{"choices":[{"message":{"content":"abc"}}],"timings":{"predicted_per_second":NaN}}`}, "content:abc", "", false},
		{"broken event", []string{word, "data: {oops}\n\n", finished}, "content:a", collect.ErrProtocol, false},
		{"text event", []string{"data: hello\n\n"}, "", collect.ErrProtocol, false},
		{"nothing", []string{""}, "", collect.ErrTruncated, false},
		{"comments only", []string{": hi\n\n: hi\n\n"}, "", collect.ErrTruncated, false},
		{"html", []string{"<html><body>Sign in</body></html>"}, "", collect.ErrProtocol, false},
		{"gzip", []string{"\x1f\x8b\x08\x00data"}, "", collect.ErrProtocol, false},
		{"text page", []string{"Service is starting\n"}, "", collect.ErrProtocol, false},
		{"body without output", []string{`{"choices":[],"usage":{"completion_tokens":4}}`}, "usage", "", false},
		{"one body", []string{`{"choices":[{"message":{"content":"abc"},"finish_reason":"stop"}]}`}, "content:abc", "", false},
		{"pretty body", []string{"{\"choices\": [\n{\"message\":\n{\"content\":\"abc\"}}]}\n"}, "content:abc", "", false},
		{"cut body", []string{`{"choices":[{"message":{"content":"ab`}, "", collect.ErrTruncated, false},
		{"body without choices", []string{`{"ok":true}`}, "", collect.ErrProtocol, false},
		{"list body", []string{`[1]`}, "", collect.ErrProtocol, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, last, err := play(t, c.events...)
			if got != c.want {
				t.Errorf("arrivals %q, want %q", got, c.want)
			}
			var kind collect.ErrorKind
			if err != nil {
				kind = collect.AsFailure(err, "none").Kind
			}
			if kind != c.kind {
				t.Errorf("ended with %v, want kind %q", err, c.kind)
			}
			if last.UncleanEnd != c.unsure {
				t.Errorf("unclean end %v", last.UncleanEnd)
			}
			if c.kind == collect.ErrServer && c.name != "abort" && !strings.Contains(err.Error(), "boom") {
				t.Errorf("%q does not carry the server's words", err)
			}
		})
	}
}

func TestReport(t *testing.T) {
	chunk := func(rest string) string { return `data: {"choices":[],` + rest + "}\n\n" }
	n := func(x *int64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprint(*x)
	}
	for _, c := range []struct{ name, in, want, json string }{
		{"plain", chunk(`"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}`),
			"9 4 3 2", `{"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}`},
		{"null", chunk(`"usage":null`), "- - - -", ""},
		{"details null", chunk(`"usage":{"prompt_tokens":9,"prompt_tokens_details":null}`), "9 - - -", `{"usage":{"prompt_tokens":9,"prompt_tokens_details":null}}`},
		{"last word stands", chunk(`"usage":{"prompt_tokens":9,"completion_tokens":4}`) + chunk(`"usage":{"completion_tokens":5}`), "9 5 - -", `{"usage":{"completion_tokens":5}}`},
		{"zero at the end", chunk(`"usage":{"prompt_tokens":9,"completion_tokens":4}`) + chunk(`"usage":{"prompt_tokens":0,"completion_tokens":0}`), "9 4 - -", `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`},
		{"zero alone", chunk(`"usage":{"prompt_tokens":0,"completion_tokens":0}`), "0 0 - -", `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`},
		{"floats", chunk(`"usage":{"prompt_tokens":9.0,"completion_tokens":4e0}`), "9 4 - -", `{"usage":{"prompt_tokens":9.0,"completion_tokens":4e0}}`},
		{"negative", chunk(`"usage":{"completion_tokens":-4}`), "- -4 - -", `{"usage":{"completion_tokens":-4}}`},
		{"empty at the end", chunk(`"usage":{"prompt_tokens":9,"completion_tokens":4}`) + chunk(`"usage":{}`) + chunk(`"usage":{"prompt_tokens_details":null}`), "9 4 - -", `{"usage":{"prompt_tokens":9,"completion_tokens":4}}`},
		{"null at the end", chunk(`"usage":{"prompt_tokens":9,"completion_tokens":4}`) + chunk(`"usage":{"prompt_tokens":null,"completion_tokens":5}`), "9 5 - -", `{"usage":{"prompt_tokens":null,"completion_tokens":5}}`},
		{"fields apart", chunk(`"usage":{"prompt_tokens":9}`) + chunk(`"usage":{"completion_tokens":4}`) + chunk(`"usage":{"prompt_tokens_details":{"cached_tokens":3}}`), "9 4 3 -", `{"usage":{"prompt_tokens_details":{"cached_tokens":3}}}`},
		{"empty timings at the end", chunk(`"timings":{"cache_n":3,"prompt_n":6,"predicted_n":4}`) + chunk(`"timings":{}`) + chunk(`"timings":null`), "9 4 3 -", `{"timings":{"cache_n":3,"prompt_n":6,"predicted_n":4}}`},
		{"timings' fields apart", chunk(`"timings":{"cache_n":3,"prompt_n":6}`) + chunk(`"timings":{"predicted_n":4,"prompt_n":null}`), "9 4 3 -", `{"timings":{"predicted_n":4,"prompt_n":null}}`},
		{"odd types", chunk(`"usage":{"prompt_tokens":"9","completion_tokens":[4],"prompt_tokens_details":7}`), "- - - -", ""},
		{"out of range", chunk(`"usage":{"prompt_tokens":1e999,"completion_tokens":1e300}`), "- - - -", `{"usage":{"prompt_tokens":1e999,"completion_tokens":1e300}}`},
		{"not a number", chunk(`"usage":{"prompt_tokens":NaN,"completion_tokens":4}`), "- 4 - -", `{"usage":{"prompt_tokens":"NaN","completion_tokens":4}}`},
		{"in the choice", "data: " + `{"choices":[{"index":0,"delta":{},"usage":{"prompt_tokens":9,"completion_tokens":4}}]}` + "\n\n", "9 4 - -", `{"usage":{"prompt_tokens":9,"completion_tokens":4}}`},
		{"timings alone", chunk(`"timings":{"cache_n":3,"prompt_n":6,"predicted_n":4,"predicted_ms":100,"predicted_per_second":30}`), "9 4 3 -",
			`{"timings":{"cache_n":3,"prompt_n":6,"predicted_n":4,"predicted_ms":100,"predicted_per_second":30}}`},
		{"timings that hide the cache", chunk(`"timings":{"prompt_n":6,"predicted_n":4}`), "- 4 - -", `{"timings":{"prompt_n":6,"predicted_n":4}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, last, err := play(t, c.in, endMark)
			r := last.Report
			got := strings.Join([]string{n(r.PromptTokens), n(r.CompletionTokens), n(r.CachedTokens), n(r.ReasoningTokens)}, " ")
			if got != c.want || r.JSON != c.json || err != nil {
				t.Errorf("%s %s %v, want %s %s", got, r.JSON, err, c.want, c.json)
			}
		})
	}
}

// TestFiguresThatAreNone: a rate or a duration that is no number is told as
// what it is, so that its row is invalid; the answer is not lost.
func TestFiguresThatAreNone(t *testing.T) {
	for _, word := range []string{"NaN", "Infinity", "-Infinity", `"NaN"`, "1e400", "-1e400"} {
		_, last, err := play(t, delta(`"content":"a"`), choices(`[],"timings":{"predicted_n":4,"predicted_ms":`+word+`,"predicted_per_second":`+word+`}`), finished, endMark)
		r := last.Report
		if err != nil || r.GenerationTPS == nil || r.EvalNS == nil || *r.CompletionTokens != 4 {
			t.Fatalf("%s: %+v, %v", word, r, err)
		}
		for _, x := range []float64{*r.GenerationTPS, *r.EvalNS} {
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				t.Errorf("%s became %v", word, x)
			}
		}
		if !json.Valid([]byte(r.JSON)) {
			t.Errorf("%s is stored as %s", word, r.JSON)
		}
	}
}

// TestWhichModelAnswered: one chunk of another model is enough, wherever it
// stands; the asked one under another spelling is none.
func TestWhichModelAnswered(t *testing.T) {
	for _, c := range []struct{ asked, said, want string }{
		{"a", "a a a", "a"}, {"a", "a b a", "b"}, {"a", "b a a", "b"}, {"a", "a b c", "b"}, {"a", "b c", "b"},
		{"/srv/a", "a b", "b"}, {"org/a", "a org/a b", "b"}, {"a", "", ""},
	} {
		a := &answer{streamed: true, tokens: 9, stats: stats{asked: c.asked}, emit: func(collect.Arrival) bool { return true }}
		for _, m := range strings.Fields(c.said) {
			if err := a.event(event{data: []byte(`{"model":"` + m + `","choices":[{"delta":{"content":"x"}}]}`)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.last().Report.Model; got != c.want {
			t.Errorf("asked for %s, said %s: %s, want %s", c.asked, c.said, got, c.want)
		}
	}
}

// TestRateRule: the rule is read from the figures. The first two are
// llama-server's own, recorded; the third is what it said before it counted
// intervals.
func TestRateRule(t *testing.T) {
	for _, c := range []struct {
		n, ms, rate float64
		want        collect.RateRule
	}{
		{12, 229.291, 47.973971939587685, collect.RateIntervals},
		{20, 474.089, 40.07686320501003, collect.RateIntervals},
		{12, 229.291, 52.33524211591384, collect.RateTokens},
		{1, 0, 0, collect.RateTokens},
	} {
		if got := (&timings{PredictedN: wire.Number{V: &c.n}, PredictedMS: wire.Number{V: &c.ms}, PredictedPerSecond: wire.Number{V: &c.rate}}).rule(); got != c.want {
			t.Errorf("%v tokens in %v ms at %v: %s, want %s", c.n, c.ms, c.rate, got, c.want)
		}
	}
}

// FuzzAnswer: whatever a server writes, there is one report, no arrival
// after the end, and no nonsense in the figures.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(delta(`"content":"a"`) + finished + endMark))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"abc"}]}}],"usage":{"prompt_tokens":"9"}}`))
	f.Add([]byte(`data: {"error":[{"loc":["a",1],"msg":"b"}]}` + "\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, last, err := play(t, string(in))
		if last.Report == nil {
			t.Fatal("no report")
		}
		if err == nil {
			return
		}
		if f := collect.AsFailure(err, "none"); f.Kind == "none" || strings.ContainsAny(f.Message, "\n\r") || len(f.Message) > 2000 || f.Message == "" {
			t.Fatalf("%q is no sentence of a failure", err)
		}
	})
}
