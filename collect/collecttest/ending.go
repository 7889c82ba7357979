package collecttest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"tokwatt/collect"
)

var endless = Plan{Tokens: 2000, Prefill: 5 * time.Millisecond, Step: 5 * time.Millisecond}

// leaks watches what a stream must free.
type leaks struct {
	srv        Server
	goroutines int
}

func watchLeaks(srv Server) *leaks { return &leaks{srv, runtime.NumGoroutine()} }

func (l *leaks) check(t *testing.T) {
	t.Helper()
	if l.srv.Connections != nil {
		eventually(t, "no connection is open", func() bool { return l.srv.Connections() == 0 })
	}
	eventually(t, fmt.Sprintf("as few goroutines as before (%d)", l.goroutines), func() bool { return runtime.NumGoroutine() <= l.goroutines })
}

// testClose: Close frees everything before the first pull, in the middle,
// twice, and while Arrivals runs, which then ends.
func testClose(t *testing.T, h Harness) {
	srv := h.Start(t, endless)
	e := open(t, srv.Target, collect.NewClock())
	settle(t, srv)
	l := watchLeaks(srv)

	s := stream(t, t.Context(), e, call(endless))
	closeTwice(t, s)
	l.check(t)

	s = stream(t, t.Context(), e, call(endless))
	done := make(chan seen, 1)
	begun := make(chan bool, 1)
	go func() {
		var out seen
		for a, err := range s.Arrivals() {
			select {
			case begun <- true:
			default:
			}
			if err != nil {
				out.err = err
			} else {
				out.arrivals = append(out.arrivals, a)
			}
		}
		done <- out
	}()
	<-begun
	closeTwice(t, s)
	select {
	case got := <-done:
		if got.err == nil {
			t.Error("the answer was cut by Close, but it ended without an error")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("Arrivals still runs 5 s after Close")
	}
	l.check(t)
}

func closeTwice(t *testing.T, s collect.Stream) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	s.Close() // must not panic
}

// settle waits until the connections of opening the target are gone.
func settle(t *testing.T, srv Server) {
	if srv.Connections != nil {
		eventually(t, "the connections of opening are closed", func() bool { return srv.Connections() == 0 })
	}
}

// testStop: a consumer may stop at any arrival.
func testStop(t *testing.T, h Harness) {
	srv := h.Start(t, endless)
	e := open(t, srv.Target, collect.NewClock())
	settle(t, srv)
	l := watchLeaks(srv)
	for after := range 3 {
		s := stream(t, t.Context(), e, call(endless))
		n := 0
		for range s.Arrivals() {
			if n++; n > after {
				break
			}
		}
		s.Close()
	}
	l.check(t)
}

// testCancel: a cancelled context ends a stream within 100 ms, during the
// prefill and during the output, with the report of what came and the
// context's error.
func testCancel(t *testing.T, h Harness) {
	slow := Plan{Tokens: 2, Prefill: time.Minute}
	for name, p := range map[string]Plan{"prefill": slow, "output": endless} {
		t.Run(name, func(t *testing.T) {
			srv := h.Start(t, p)
			e := open(t, srv.Target, collect.NewClock())
			settle(t, srv)
			l := watchLeaks(srv)
			thrice(t, func() error { return cancelOnce(t, e, p) })
			l.check(t)
		})
	}
}

func cancelOnce(t *testing.T, e collect.Engine, p Plan) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := stream(t, ctx, e, call(p))
	defer s.Close()
	var at time.Time
	timer := time.AfterFunc(40*time.Millisecond, func() { at = time.Now(); cancel() })
	defer timer.Stop()
	got := drain(s)
	took := time.Since(at)
	if !errors.Is(got.err, context.Canceled) {
		t.Errorf("ended with %v, want the context's error", got.err)
	}
	if got.fault != "" {
		t.Error(got.fault)
	}
	if took > 100*time.Millisecond {
		return fmt.Errorf("ended %v after the context, want within 100 ms", took)
	}
	return nil
}
