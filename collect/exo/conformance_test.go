package exo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/collecttest"
	"tokwatt/collect/exo"
	"tokwatt/collect/script"
)

func TestConformance(t *testing.T) {
	collecttest.Run(t, collecttest.Harness{Start: start, Dead: dead, Whole: true, Faults: collecttest.AllFaults()})
}

// lead is what goes out before the first token: a keep-alive and the progress.
const lead = 2

// start plays a plan in exo's dialect, on an instance that is there.
func start(t *testing.T, p collecttest.Plan) collecttest.Server {
	s := script.Script{Answer: func(r script.Request) script.Answer { return planned(p, r) }}
	cluster(nil, &s)
	srv := collecttest.Listen(t, s)
	return collecttest.Scripted(srv, target(t, srv.URL()), p, lead, func(x script.Exchange) bool {
		return x.Method == "POST" && !isProbe(x.Request)
	})
}

func isProbe(r script.Request) bool {
	return strings.Contains(string(r.Field("messages")), `"tokwatt `)
}

func target(t *testing.T, url string) collect.Target {
	t.Helper()
	d := exo.Driver{Options: exo.Options{URL: url, ReuseInstance: true}}
	for tg, err := range d.Targets(t.Context(), collect.Spec{Models: []string{"demo-model"}}) {
		if err != nil {
			t.Fatal(err)
		}
		return tg
	}
	t.Fatal("no target")
	return nil
}

// dead is a target of a server that is gone.
func dead(t *testing.T) collect.Target {
	s := script.Script{}
	cluster(nil, &s)
	srv, err := script.Listen("127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	return target(t, srv.URL())
}

// planned is the answer to a request, in the form that exo gives it.
func planned(p collecttest.Plan, r script.Request) script.Answer {
	if isProbe(r) {
		p = collecttest.Plan{Tokens: 2, PromptTokens: 11}
	}
	a := script.Answer{Headers: []script.Header{{Name: "content-type", Value: "text/event-stream; charset=utf-8"}}}
	last := p.Prefill + time.Duration(max(0, p.Tokens-1))*p.Step
	if !r.Stream() {
		body := fmt.Sprintf(`{"id":"c","model":"demo-org/Demo-1B-4bit","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"length"}],"usage":null,"generation_stats":%s,"power_usage":null}`,
			strings.Repeat("w ", p.Tokens), statistics(p, "inBytes"))
		return script.Answer{Headers: []script.Header{{Name: "content-type", Value: "application/json"}}, Framing: script.FramingLength,
			Pieces: []script.Piece{{At: last, Data: []byte(body)}}}
	}
	say := func(at time.Duration, format string, args ...any) {
		a.Pieces = append(a.Pieces, script.Piece{At: at, Data: fmt.Appendf(nil, format+"\n\n", args...)})
	}
	say(0, ": keep-alive")
	say(0, `: prefill_progress {"PrefillProgressChunk":{"processed_tokens":0,"total_tokens":16}}`)
	for i := range p.Tokens {
		finish := ""
		if i == p.Tokens-1 && p.Fault == collecttest.FaultNone {
			finish = `,"finish_reason":"length"`
		}
		say(p.Prefill+time.Duration(i)*p.Step, `data: {"id":"c","object":"chat.completion","created":1,"model":"demo-org/Demo-1B-4bit","choices":[{"index":0,"delta":{"role":"assistant","content":"w%d "}%s}]}`, i, finish)
	}
	end := last + p.Step
	switch p.Fault {
	case collecttest.FaultNone:
		say(last, ": generation_stats %s", statistics(p, "in_bytes"))
		say(last, "data: [DONE]")
	case collecttest.FaultRefused:
		return script.Answer{Status: 500, Pieces: []script.Piece{{Data: []byte("Internal Server Error")}}}
	case collecttest.FaultNonsense:
		return script.Answer{Pieces: []script.Piece{{Data: []byte("<html><body>Welcome</body></html>")}}}
	case collecttest.FaultError:
		say(end, `data: {"error":{"message":"out of memory","type":"InternalServerError","code":500}}`)
		say(end, "data: [DONE]")
	case collecttest.FaultReset:
		a.End, a.EndAt = script.EndReset, end
	case collecttest.FaultStall:
		a.End = script.EndHang
	}
	return a
}

func statistics(p collecttest.Plan, spelling string) string {
	prompt := ""
	if p.PromptTokens > 0 {
		prompt = fmt.Sprintf(`"prompt_tokens":%d,`, p.PromptTokens)
	}
	return fmt.Sprintf(`{"prompt_tps":500.0,"generation_tps":100.0,%s"generation_tokens":%d,"peak_memory_usage":{"%s":7},"prefix_cache_hit":"none"}`, prompt, p.Tokens, spelling)
}
