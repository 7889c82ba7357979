package ollama_test

import (
	"net"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/collecttest"
	"tokwatt/collect/ollama"
	"tokwatt/collect/script"
)

func TestConformance(t *testing.T) {
	collecttest.Run(t, collecttest.Harness{
		Start: start, Dead: dead, Whole: true,
		Faults: []collecttest.Fault{
			collecttest.FaultRefused, collecttest.FaultError, collecttest.FaultCut,
			collecttest.FaultReset, collecttest.FaultStall, collecttest.FaultNonsense,
		},
	})
}

// start plays a plan in the dialect of this driver.
func start(t *testing.T, p collecttest.Plan) collecttest.Server {
	srv := listen(t, script.Script{Answer: func(r script.Request) script.Answer { return planned(p, r) }})
	measured := func() []script.Exchange {
		var out []script.Exchange
		for _, x := range srv.Log() {
			if x.Path == "/api/generate" && x.MaxTokens() > 1 {
				out = append(out, x)
			}
		}
		return out
	}
	return collecttest.Server{
		Target:      target(t, ollama.Options{URL: srv.URL()}, collect.Spec{}, "demo-model"),
		Requests:    func() int { return len(measured()) },
		Connections: srv.Connections,
		Sent: func() [][]time.Time {
			var out [][]time.Time
			for _, x := range measured() {
				var at []time.Time
				for _, d := range x.Sent[:min(p.Tokens, len(x.Sent))] {
					at = append(at, x.HeadAt.Add(d))
				}
				out = append(out, at)
			}
			return out
		},
	}
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

func listen(t *testing.T, s script.Script) *script.Server {
	t.Helper()
	srv, err := script.Listen("127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv
}

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
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close() // now nothing listens there
	return target(t, ollama.Options{URL: addr}, collect.Spec{}, "demo-model")
}
