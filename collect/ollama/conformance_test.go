package ollama_test

import (
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/collecttest"
	"tokwatt/collect/ollama"
	"tokwatt/collect/script"
)

func TestConformance(t *testing.T) {
	collecttest.Run(t, collecttest.Harness{Start: start, Dead: dead, Whole: true, Faults: collecttest.AllFaults()})
}

// start plays a plan in the dialect of this driver.
func start(t *testing.T, p collecttest.Plan) collecttest.Server {
	srv := listen(t, script.Script{Answer: func(r script.Request) script.Answer { return planned(p, r) }})
	tg := target(t, ollama.Options{URL: srv.URL()}, collect.Spec{}, "demo-model")
	return collecttest.Scripted(srv, tg, p, 0, func(x script.Exchange) bool {
		return x.Path == "/api/generate" && x.MaxTokens() > 1
	})
}

func planned(p collecttest.Plan, r script.Request) script.Answer {
	plan := script.OllamaTokens{N: p.Tokens, Prefill: p.Prefill, Step: p.Step, Model: "demo-model", Prompt: int(p.PromptTokens)}
	if r.MaxTokens() == 1 { // loading or counting
		plan.N, plan.Prefill, p.Fault = 1, 0, collecttest.FaultNone
	}
	plan.NoEnd = p.Fault != collecttest.FaultNone
	a := plan.Body()
	if r.Stream() {
		a = plan.Stream()
	}
	at := p.Prefill + time.Duration(p.Tokens)*p.Step
	switch p.Fault {
	case collecttest.FaultRefused:
		return script.Answer{Status: 503, Pieces: []script.Piece{{Data: []byte(`{"error":"server busy"}`)}}}
	case collecttest.FaultNonsense:
		return script.Answer{Pieces: []script.Piece{{Data: []byte("<html><body>Welcome</body></html>")}}}
	case collecttest.FaultError:
		a.Pieces = append(a.Pieces, script.Piece{At: at, Data: []byte("{\"error\":\"out of memory\"}\n")})
	case collecttest.FaultReset:
		a.End, a.EndAt = script.EndReset, at
	case collecttest.FaultStall:
		a.End = script.EndHang
	}
	return a
}

func listen(t *testing.T, s script.Script) *script.Server { return collecttest.Listen(t, s) }

// target is the only target of a driver.
func target(t *testing.T, o ollama.Options, spec collect.Spec, models ...string) *ollama.Target {
	t.Helper()
	spec.Models = models
	for tg, err := range (ollama.Driver{Options: o}).Targets(t.Context(), spec) {
		if err != nil {
			t.Fatal(err)
		}
		return tg.(*ollama.Target)
	}
	t.Fatal("no target")
	return nil
}

func dead(t *testing.T) collect.Target {
	return target(t, ollama.Options{URL: collecttest.Deserted(t)}, collect.Spec{}, "demo-model")
}
