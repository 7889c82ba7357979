package openai_test

import (
	"io"
	"log"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/collecttest"
	"tokwatt/collect/openai"
	"tokwatt/collect/script"
)

func TestConformance(t *testing.T) {
	collecttest.Run(t, collecttest.Harness{Start: start, Dead: dead, Whole: true, Faults: collecttest.AllFaults()})
}

// start plays a plan in the dialect of this driver.
func start(t *testing.T, p collecttest.Plan) collecttest.Server {
	srv := listen(t, script.Script{Answer: func(r script.Request) script.Answer { return planned(p, r) }})
	return collecttest.Scripted(srv, target(t, openai.Options{URL: srv.URL()}, "demo-model"), p, 0, func(x script.Exchange) bool {
		return x.Method == "POST" && x.MaxTokens() > 1
	})
}

func planned(p collecttest.Plan, r script.Request) script.Answer {
	plan := script.Tokens{N: p.Tokens, Prefill: p.Prefill, Step: p.Step, Model: "demo-model", Prompt: int(p.PromptTokens)}
	if r.MaxTokens() == 1 { // a probe
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
		return script.Answer{Status: 503, Pieces: []script.Piece{{Data: []byte(`{"error":{"message":"busy"}}`)}}}
	case collecttest.FaultNonsense:
		return script.Answer{Pieces: []script.Piece{{Data: []byte("<html><body>Welcome</body></html>")}}}
	case collecttest.FaultError:
		a.Pieces = append(a.Pieces, script.Piece{At: at, Data: []byte("data: {\"error\":{\"message\":\"out of memory\"}}\n\n")})
	case collecttest.FaultReset:
		a.End, a.EndAt = script.EndReset, at
	case collecttest.FaultStall:
		a.End = script.EndHang
	}
	return a
}

func listen(t *testing.T, s script.Script) *script.Server { return collecttest.Listen(t, s) }

// target is the only target of a driver.
func target(t *testing.T, o openai.Options, models ...string) *openai.Target {
	t.Helper()
	zero, seed := 0.0, int64(7)
	for tg, err := range (openai.Driver{Options: o}).Targets(t.Context(), collect.Spec{Models: models, Temperature: &zero, Seed: &seed}) {
		if err != nil {
			t.Fatal(err)
		}
		return tg.(*openai.Target)
	}
	t.Fatal("no target")
	return nil
}

func dead(t *testing.T) collect.Target {
	return target(t, openai.Options{URL: collecttest.Deserted(t)}, "demo-model")
}

// quiet takes what a test server would log of a handshake that is meant to fail.
var quiet = log.New(io.Discard, "", 0)
