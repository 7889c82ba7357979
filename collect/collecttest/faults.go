package collecttest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tokwatt/collect"
)

// kinds that a fault may become.
var kinds = map[Fault][]collect.ErrorKind{
	FaultRefused:  {collect.ErrHTTP, collect.ErrServer},
	FaultError:    {collect.ErrServer},
	FaultCut:      {collect.ErrTruncated},
	FaultReset:    {collect.ErrReset, collect.ErrTruncated},
	FaultNonsense: {collect.ErrProtocol},
}

// testFault: what came before the fault is yielded, then the report, then a
// failure of the right kind with a message.
func testFault(t *testing.T, h Harness, f Fault) {
	p := Plan{Tokens: 3, Prefill: 5 * time.Millisecond, Step: 5 * time.Millisecond, Fault: f}
	srv := h.Start(t, p)
	e := open(t, srv.Target, collect.NewClock())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if f == FaultStall {
		defer time.AfterFunc(150*time.Millisecond, cancel).Stop()
	}
	s := stream(t, ctx, e, call(p))
	defer s.Close()
	got := drain(s)
	if got.fault != "" {
		t.Fatalf("%s (error %v)", got.fault, got.err)
	}
	want := p.Tokens
	if f == FaultRefused || f == FaultNonsense {
		want = 0
	}
	if n := len(got.outputs()); n != want {
		t.Errorf("%d outputs before the fault, want %d", n, want)
	}
	if f == FaultStall {
		if !errors.Is(got.err, context.Canceled) {
			t.Errorf("ended with %v, want the context's error", got.err)
		}
		return
	}
	checkFailure(t, got.err, kinds[f])
}

func checkFailure(t *testing.T, err error, want []collect.ErrorKind) {
	t.Helper()
	var failure *collect.Failure
	if !errors.As(err, &failure) {
		t.Fatalf("ended with %v, want a failure", err)
	}
	if !slices.Contains(want, failure.Kind) {
		t.Errorf("kind %s (%s), want one of %v", failure.Kind, failure.Message, want)
	}
	if failure.Message == "" {
		t.Error("the failure has no message")
	}
	if failure.Kind == collect.ErrHTTP && (failure.HTTPStatus == nil || *failure.HTTPStatus < 400) {
		t.Errorf("status %v of a refused request", failure.HTTPStatus)
	}
}

// testDead: a target that nothing listens for can't be described, and a
// stream to it fails to open, with kind connect.
func testDead(t *testing.T, h Harness) {
	target := h.Dead(t)
	_, err := target.Describe(t.Context())
	checkFailure(t, err, []collect.ErrorKind{collect.ErrConnect})
}
