package collecttest

import (
	"net"
	"testing"
	"time"

	"tokwatt/collect"
	"tokwatt/collect/script"
)

// AllFaults are the faults that a scripted HTTP server can play.
func AllFaults() []Fault {
	return []Fault{FaultRefused, FaultError, FaultCut, FaultReset, FaultStall, FaultNonsense}
}

// Scripted is a scripted server that plays p. measured tells the requests that
// are measured from probes; lead is how many pieces go out before the first
// token.
func Scripted(srv *script.Server, target collect.Target, p Plan, lead int, measured func(script.Exchange) bool) Server {
	log := func() []script.Exchange {
		var out []script.Exchange
		for _, x := range srv.Log() {
			if measured(x) {
				out = append(out, x)
			}
		}
		return out
	}
	return Server{
		Target: target, Connections: srv.Connections,
		Requests: func() int { return len(log()) },
		Sent: func() [][]time.Time {
			var out [][]time.Time
			for _, x := range log() {
				out = append(out, tokensOf(x, lead, p.Tokens))
			}
			return out
		},
	}
}

// tokensOf are the instants at which n tokens went out behind lead pieces, or
// as many of them as did.
func tokensOf(x script.Exchange, lead, n int) []time.Time {
	var at []time.Time
	for _, d := range x.Sent[min(lead, len(x.Sent)):min(lead+n, len(x.Sent))] {
		at = append(at, x.HeadAt.Add(d))
	}
	return at
}

// Listen starts a scripted server on a free port until the test ends.
func Listen(t testing.TB, s script.Script) *script.Server {
	t.Helper()
	srv, err := script.Listen("127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv
}

// Deserted is an address where nothing listens.
func Deserted(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
