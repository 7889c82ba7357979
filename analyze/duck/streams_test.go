//go:build cgo

package duck

import (
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// longestGap is that between outputs of a request, in ns.
func longestGap(r *collect.Request) int64 {
	var last, most int64
	for _, c := range r.Chunks {
		if !c.Kind.Output() {
			continue
		}
		if last > 0 {
			most = max(most, c.T-last)
		}
		last = c.T
	}
	return most
}

func batchesOf(t *testing.T, o analyzetest.Options) []*collect.Batch {
	var list []*collect.Batch
	for rec, err := range analyzetest.Records(o) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := rec.(*collect.Batch); ok {
			list = append(list, b)
		}
	}
	return list
}

// TestStreams compares what is read with the records that it was written from,
// beside another session of the same host and day.
func TestStreams(t *testing.T) {
	o := analyzetest.Options{Seed: 5, Targets: 2, PP: []int64{128}, Repeats: 2, Clean: true}
	other := o
	other.Seed++
	root := t.TempDir()
	export(t, root, o, other)
	db := open(t, Options{Roots: []string{root}})
	batches := batchesOf(t, o)
	measured := slices.DeleteFunc(slices.Clone(batches), func(b *collect.Batch) bool { return b.Warmup })
	worst := func(b *collect.Batch) int64 {
		most := int64(0)
		for i := range b.Requests {
			most = max(most, longestGap(&b.Requests[i]))
		}
		return most
	}
	longest := slices.MaxFunc(measured, func(a, b *collect.Batch) int { return int(worst(a) - worst(b)) })
	for _, c := range []struct {
		name    string
		filter  StreamFilter
		want    *collect.Batch
		longest bool
	}{
		{"any", StreamFilter{}, longest, true},
		{"by number", StreamFilter{Batch: batches[0].BatchID}, batches[0], false},
		{"the last case", StreamFilter{Case: measured[len(measured)-1].CaseID, Batch: measured[len(measured)-1].BatchID}, measured[len(measured)-1], false},
	} {
		c.filter.Session = o.ID()
		b, err := db.Streams(t.Context(), c.filter)
		if err != nil || b == nil {
			t.Fatalf("%s: %v, %v", c.name, b, err)
		}
		if b.BatchID != c.want.BatchID || b.Longest != c.longest || b.CaseID != c.want.CaseID || b.Warmup != c.want.Warmup || b.Engine == "" || b.PP == nil || *b.PP != 128 {
			t.Errorf("%s: batch %+v, want %d of case %d", c.name, b, c.want.BatchID, c.want.CaseID)
		}
		checkStreams(t, c.name, b.Streams, c.want)
	}
	last := measured[len(measured)-1]
	one := last.Requests[len(last.Requests)-1]
	b, err := db.Streams(t.Context(), StreamFilter{Session: o.ID(), Request: one.RequestID})
	if err != nil || len(b.Streams) != 1 || b.Streams[0].RequestID != one.RequestID || len(b.Streams[0].Arrivals) == 0 {
		t.Errorf("one request: %+v, %v", b, err)
	}
	for _, f := range []StreamFilter{{Session: o.ID(), Batch: 9999}, {Session: "no such session"}} {
		if b, err := db.Streams(t.Context(), f); b != nil || err != nil {
			t.Errorf("%+v: %+v, %v", f, b, err)
		}
	}
}

func checkStreams(t *testing.T, name string, got []analyze.Stream, want *collect.Batch) {
	t.Helper()
	if len(got) != len(want.Requests) {
		t.Fatalf("%s: %d streams, want %d", name, len(got), len(want.Requests))
	}
	for i, s := range got {
		r := want.Requests[i]
		if s.RequestID != r.RequestID || s.Index != r.ConcurrentIndex || s.StartNS != r.StartNS-want.StartNS || s.EndNS != r.EndNS-want.StartNS || s.Status != "ok" {
			t.Errorf("%s: stream %+v, want that of %+v", name, s, r.RequestID)
		}
		var times []int64
		for _, c := range r.Chunks {
			if c.Kind.Output() {
				times = append(times, r.StartNS-want.StartNS+c.T)
			}
		}
		if len(times) != len(s.Arrivals) {
			t.Fatalf("%s: %d arrivals, want %d", name, len(s.Arrivals), len(times))
		}
		for k, a := range s.Arrivals {
			if a.NS != times[k] {
				t.Fatalf("%s: arrival %d at %d, want %d", name, k, a.NS, times[k])
			}
		}
	}
}

// Each session's versions are its own, in order of time.
func TestSessionVersions(t *testing.T) {
	f := newFixture(t)
	f.exec(`insert into sessions (session_id, host, date, started_at, os_name, os_version) values
		('b', 'h', '2026-01-03', '2026-01-03 10:00:00+00', 'macOS', '26.1'),
		('a', 'h', '2026-01-02', '2026-01-02 10:00:00+00', null, null);
		insert into segments (session_id, host, date, segment, tool_version) values
		('b', 'h', '2026-01-03', 2, '0.4'), ('b', 'h', '2026-01-03', 1, '0.3')`)
	db := f.open(Options{})
	got, err := db.SessionVersions(t.Context(), nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if a := got[0]; a.SessionID != "a" || a.OS != "" || a.Tool != "" || a.StartedAt.IsZero() {
		t.Errorf("the first is %+v", a)
	}
	if b := got[1]; b.SessionID != "b" || b.OS != "macOS 26.1" || b.Tool != "0.3" || b.Host != "h" {
		t.Errorf("the second is %+v", b)
	}
	if got, err = db.SessionVersions(t.Context(), []string{"b"}); err != nil || len(got) != 1 || got[0].SessionID != "b" {
		t.Errorf("one: %+v, %v", got, err)
	}
}
