// Package collecttest is the suite that every driver passes. A driver's test
// hands a [Harness] to [Run]: a way to make its server (or worker) carry out
// an abstract [Plan] in its own dialect. The suite then holds the promises of
// collect's interfaces:
//
//   - arrivals.go: order, stamps, counts, one report and it is last, nothing
//     is sent before the first pull, N streams at once
//   - ending.go: Close at any time, a consumer that stops, a cancelled
//     context; nothing is left behind
//   - scripted.go: a scripted HTTP server as a Server of the suite
//   - faults.go: every way in which an answer can fail, and the error kind
//     that it must get
package collecttest

import (
	"context"
	"testing"
	"time"

	"tokwatt/collect"
)

// Plan is what the server does with each request.
type Plan struct {
	Tokens       int           // output tokens, one in each chunk
	Prefill      time.Duration // from the request to the first token
	Step         time.Duration // between tokens
	PromptTokens int64         // as the server counts; 0: it does not say
	Fault        Fault         // after Tokens tokens, or instead of an answer
}

// Fault is a way to fail.
type Fault string

// The faults, and the kind of failure that each must become.
const (
	FaultNone     Fault = ""
	FaultRefused  Fault = "refused"  // an error instead of an answer: http over HTTP, else server_error
	FaultError    Fault = "error"    // an error inside the answer: server_error
	FaultCut      Fault = "cut"      // the answer ends cleanly, but early: truncated
	FaultReset    Fault = "reset"    // the connection breaks: reset, or truncated
	FaultStall    Fault = "stall"    // silence: only the context ends it
	FaultNonsense Fault = "nonsense" // bytes that are no answer at all: protocol
)

// Harness makes a driver's server play plans.
type Harness struct {
	// Start plays p for all requests until the test ends.
	Start func(t *testing.T, p Plan) Server
	// Dead is a target that nothing listens for; nil where there is no such
	// thing.
	Dead func(t *testing.T) collect.Target
	// Faults are those that can be played.
	Faults []Fault
	// Whole: an answer can be asked for without streaming.
	Whole bool
}

// Server is a running server and the target that reaches it.
type Server struct {
	Target collect.Target
	// Sent are the instants at which each measured request's output tokens
	// went out, in the order of the requests' arrival. Requests that were
	// not for measuring (probes) are not among them. May be nil where the
	// instants are not known; then only their order is tested.
	Sent func() [][]time.Time
	// Requests is the number of measured requests that have arrived.
	Requests func() int
	// Connections is the number of connections that the server holds open;
	// nil where there are none.
	Connections func() int
}

// Run holds a driver to the promises of the interfaces.
func Run(t *testing.T, h Harness) {
	t.Run("arrivals", func(t *testing.T) { testArrivals(t, h) })
	t.Run("first pull writes", func(t *testing.T) { testFirstPull(t, h) })
	t.Run("streams at once", func(t *testing.T) { testConcurrent(t, h) })
	t.Run("describe", func(t *testing.T) { testDescribe(t, h) })
	t.Run("count", func(t *testing.T) { testCount(t, h) })
	if h.Whole {
		t.Run("not streamed", func(t *testing.T) { testWhole(t, h) })
	}
	t.Run("close", func(t *testing.T) { testClose(t, h) })
	t.Run("stop", func(t *testing.T) { testStop(t, h) })
	t.Run("cancel", func(t *testing.T) { testCancel(t, h) })
	for _, f := range h.Faults {
		t.Run("fault "+string(f), func(t *testing.T) { testFault(t, h, f) })
	}
	if h.Dead != nil {
		t.Run("dead", func(t *testing.T) { testDead(t, h) })
	}
}

// open describes and opens a target, and closes it when the test ends.
func open(t *testing.T, target collect.Target, clock *collect.Clock) collect.Engine {
	t.Helper()
	if _, err := target.Describe(t.Context()); err != nil {
		t.Fatalf("describe: %v", err)
	}
	e, err := target.Open(t.Context(), clock)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := target.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func call(p Plan) collect.Call {
	return collect.Call{Prompt: collect.Prompt{User: "Count to ten."}, MaxTokens: int64(max(2, p.Tokens)), Stream: true, Streams: 1}
}

// seen is what a stream yielded.
type seen struct {
	arrivals []collect.Arrival // without the report
	report   *collect.Arrival
	err      error
	fault    string // a broken promise of the sequence
}

// drain pulls a stream to its end, as the recorder does.
func drain(s collect.Stream) seen {
	var out seen
	for a, err := range s.Arrivals() {
		switch {
		case out.err != nil:
			out.fault = "something came after the error"
		case err != nil:
			out.err = err
		case out.report != nil && a.Report != nil:
			out.fault = "two reports came"
		case out.report != nil:
			out.fault = "something came after the report"
		case a.Report != nil:
			out.report = &a
		default:
			out.arrivals = append(out.arrivals, a)
		}
	}
	if out.report == nil && out.fault == "" {
		out.fault = "no report came"
	}
	return out
}

// outputs are the arrivals that brought output.
func (s seen) outputs() []collect.Arrival {
	var out []collect.Arrival
	for _, a := range s.arrivals {
		if a.Kind.Output() {
			out = append(out, a)
		}
	}
	return out
}

// stream opens one stream and closes it when the test ends.
func stream(t *testing.T, ctx context.Context, e collect.Engine, c collect.Call) collect.Stream {
	t.Helper()
	s, err := e.Open(ctx, c)
	if err != nil {
		t.Fatalf("open a stream: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// eventually waits for something that other goroutines bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so after 5 s: %s", what)
		}
	}
}

// thrice tries something that a loaded machine may spoil; it is wrong only
// when it is wrong three times.
func thrice(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 3 {
		if err = try(); err == nil {
			return
		}
	}
	t.Error(err)
}
