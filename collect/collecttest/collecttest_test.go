package collecttest

import (
	"errors"
	"iter"
	"testing"
	"time"

	"tokwatt/collect"
)

// scripted is a stream that yields what it is told.
type scripted []any // collect.Arrival or error

func (s scripted) Close() error { return nil }
func (s scripted) Arrivals() iter.Seq2[collect.Arrival, error] {
	return func(yield func(collect.Arrival, error) bool) {
		for _, x := range s {
			a, _ := x.(collect.Arrival)
			err, _ := x.(error)
			if !yield(a, err) {
				return
			}
		}
	}
}

// TestDrain shows that the promises of a sequence can be broken.
func TestDrain(t *testing.T) {
	token := collect.Arrival{Chunk: collect.Chunk{Kind: collect.KindContent}}
	report := collect.Arrival{Report: &collect.Report{}}
	failure := errors.New("failed")
	for _, c := range []struct {
		name   string
		stream scripted
		fault  string
	}{
		{"good", scripted{token, token, report}, ""},
		{"failed", scripted{token, report, failure}, ""},
		{"no report", scripted{token}, "no report came"},
		{"no report before the error", scripted{token, failure}, "no report came"},
		{"two reports", scripted{report, report}, "two reports came"},
		{"late token", scripted{report, token}, "something came after the report"},
		{"after the error", scripted{report, failure, token}, "something came after the error"},
	} {
		if got := drain(c.stream); got.fault != c.fault {
			t.Errorf("%s: %q, want %q", c.name, got.fault, c.fault)
		}
	}
}

// TestOnTime shows that a stamp can be too early and too late.
func TestOnTime(t *testing.T) {
	zero := time.Now()
	ns := func(x time.Time) int64 { return int64(x.Sub(zero)) }
	sent := []time.Time{zero.Add(10 * time.Millisecond)}
	at := func(d time.Duration) []collect.Arrival {
		return []collect.Arrival{{Chunk: collect.Chunk{T: int64(d)}}}
	}
	for d, ok := range map[time.Duration]bool{
		9 * time.Millisecond: false, 10 * time.Millisecond: true, 11 * time.Millisecond: true, 40 * time.Millisecond: false,
	} {
		if err := onTime(at(d), sent, ns); (err == nil) != ok {
			t.Errorf("stamped at %v: %v", d, err)
		}
	}
	if onTime(append(at(0), at(0)...), sent, ns) == nil {
		t.Error("an output that was never sent passes")
	}
}
