//go:build cgo

package duck

import (
	"math"
	"slices"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// TestPowerSession compares what is read with the records that it was written
// from, beside another session of the same host and day.
func TestPowerSession(t *testing.T) {
	o := analyzetest.Options{Seed: 5, Targets: 2, PP: []int64{128}, Repeats: 2, Power: true}
	other := o
	other.Seed++
	root := t.TempDir()
	export(t, root, o, other)
	db := open(t, Options{Roots: []string{root}})
	s, err := db.PowerSession(t.Context(), o.ID())
	if err != nil {
		t.Fatal(err)
	}
	var batches, idle, targets int
	var joules []float64
	for rec, err := range analyzetest.Records(o) {
		if err != nil {
			t.Fatal(err)
		}
		switch rec := rec.(type) {
		case *collect.TargetInfo:
			targets++
		case *collect.Batch:
			checkPowerBatch(t, s.Batches[batches], rec)
			batches++
		case *collect.Idle:
			if i := s.Idle[idle]; i.StartNS != rec.StartNS || i.EndNS != rec.EndNS || i.TargetID != rec.TargetID {
				t.Errorf("quiet window %+v, want %+v", i, rec)
			}
			idle++
		case *collect.Samples:
			for _, r := range rec.Samples {
				if r.Metric == "energy" {
					joules = append(joules, r.Value)
				}
			}
		}
	}
	if len(s.Batches) != batches || len(s.Idle) != idle || len(s.Targets) != targets || len(s.Segments) != 1 || s.Host != "mac-0" || s.Segments[0].StartedAt.IsZero() {
		t.Errorf("%d batches, %d quiet windows, %d targets of %+v, want %d, %d and %d", len(s.Batches), len(s.Idle), len(s.Targets), s.Segments, batches, idle, targets)
	}
	if !slices.ContainsFunc(s.Batches, func(b analyze.PowerBatch) bool { return b.FirstNS != nil && *b.FirstNS < *b.LastNS }) {
		t.Error("no batch of several streams has its first outputs: the test shows less than it should")
	}
	i := slices.IndexFunc(s.Traces, func(p analyze.PowerTrace) bool { return p.Scope == "gpu" })
	if len(s.Traces) != 2 || i < 0 || !s.Traces[i].Counter || s.Traces[i].Node != "mac-0" {
		t.Fatalf("traces %+v, want a counter of the GPU and instants of the system", s.Traces)
	}
	area := 0.0
	for _, p := range s.Traces[i].Stretches {
		area += p.FromW * float64(p.ToNS-p.FromNS) / 1e9
	}
	if want := joules[len(joules)-1] - joules[0]; math.Abs(area-want) > 1e-9*want {
		t.Errorf("the area under the GPU's power is %v J, the counter went up by %v", area, want)
	}
	if s, err := db.PowerSession(t.Context(), "no-such-id"); err != nil || s.Segments != nil {
		t.Errorf("a session that is not there: %+v, %v", s, err)
	}
}

func checkPowerBatch(t *testing.T, got analyze.PowerBatch, want *collect.Batch) {
	t.Helper()
	var first, last *int64
	for i := range want.Requests {
		r := &want.Requests[i]
		k := slices.IndexFunc(r.Chunks, func(c collect.Chunk) bool { return c.Kind.Output() })
		if k < 0 {
			first, last = nil, nil
			break
		}
		at := r.StartNS + r.Chunks[k].T
		if first == nil || at < *first {
			first = &at
		}
		if last == nil || at > *last {
			last = &at
		}
	}
	if got.BatchID != want.BatchID || got.StartNS != want.StartNS || got.EndNS != want.EndNS || got.Warmup != want.Warmup {
		t.Errorf("batch %+v, want %d from %d to %d", got, want.BatchID, want.StartNS, want.EndNS)
	}
	if got.FirstNS != nil && (!near64(got.FirstNS, first) || !near64(got.LastNS, last)) {
		t.Errorf("batch %d: first outputs at %d and %d, want %v and %v", got.BatchID, *got.FirstNS, *got.LastNS, first, last)
	}
}

// near64 allows for a time that went through milliseconds.
func near64(a, b *int64) bool { return a != nil && b != nil && max(*a-*b, *b-*a) <= 1 }

// TestEnergyCases: the batches of a row are those that its medians are of.
func TestEnergyCases(t *testing.T) {
	o := analyzetest.Options{Seed: 5, Power: true}
	root := t.TempDir()
	export(t, root, o, analyzetest.Options{Seed: 6})
	db := open(t, Options{Roots: []string{root}})
	cases, err := db.EnergyCases(t.Context(), SummaryFilter{Points: true})
	if err != nil {
		t.Fatal(err)
	}
	figures, without := 0, 0
	for _, c := range cases {
		for _, m := range energyMetrics() {
			var got []float64
			for _, b := range c.Batches {
				if v := b.Figures[m]; v != nil {
					got = append(got, *v)
				}
			}
			if want := c.Stats[m].Points; !slices.EqualFunc(got, want, func(a, b float64) bool { return near(&a, &b) }) {
				t.Errorf("session %s case %d %s: %v, want %v", c.SessionID, c.CaseID, m, got, want)
			}
			figures += len(got)
		}
		for _, b := range c.Batches {
			switch {
			case b.J == nil:
				without++
				if b.NullReason == "" {
					t.Errorf("case %d batch %d: no energy and no reason", c.CaseID, b.BatchID)
				}
			case b.Scope != "system" || !b.Indicative || b.LowJ == nil || *b.LowJ > *b.HighJ:
				t.Errorf("case %d batch %d: %+v", c.CaseID, b.BatchID, b)
			}
		}
		if int64(len(c.Batches)) != c.NBatches {
			t.Errorf("case %d: %d batches, want %d", c.CaseID, len(c.Batches), c.NBatches)
		}
	}
	if figures < 50 || without < 10 {
		t.Errorf("%d figures and %d batches without: the data show less than they should", figures, without)
	}
}

// TestPowerSessionOfAWrappingCounter: a dataset says where a counter begins
// anew, so that what it counted over that is drawn, and is the energy that the
// table has.
func TestPowerSessionOfAWrappingCounter(t *testing.T) {
	const wraps = 200
	o := analyzetest.Options{Seed: 5, Targets: 1, PP: []int64{128}, Repeats: 3, Power: true}
	root, joules := t.TempDir(), []float64{}
	records := func(yield func(collect.Record, error) bool) {
		for rec, err := range analyzetest.Records(o) {
			switch rec := rec.(type) {
			case *collect.Sensors:
				rec.Channels[0].Range = wraps
			case *collect.Samples:
				for i := range rec.Samples {
					if s := &rec.Samples[i]; s.Metric == "energy" {
						joules = append(joules, s.Value)
						s.Value = math.Mod(s.Value, wraps)
					}
				}
			}
			if !yield(rec, err) {
				return
			}
		}
	}
	if _, err := analyze.Export(t.Context(), records, root, analyze.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	s, err := open(t, Options{Roots: []string{root}}).PowerSession(t.Context(), o.ID())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Traces, func(p analyze.PowerTrace) bool { return p.Counter })
	if i < 0 || joules[len(joules)-1] < 3*wraps {
		t.Fatalf("%d traces, %v J: the test shows less than it should", len(s.Traces), joules[len(joules)-1])
	}
	area, end := 0.0, s.Traces[i].Stretches[0].FromNS
	for _, p := range s.Traces[i].Stretches {
		if p.FromNS != end {
			t.Errorf("a gap from %d to %d", end, p.FromNS)
		}
		area, end = area+p.FromW*float64(p.ToNS-p.FromNS)/1e9, p.ToNS
	}
	if want := joules[len(joules)-1] - joules[0]; math.Abs(area-want) > 1e-9*want {
		t.Errorf("the area is %v J, the counter counted %v", area, want)
	}
	if c := s.Traces[i].Channel; c == nil || c.Range != wraps || c.Nominal.Seconds() != 1 {
		t.Errorf("the channel is known as %+v", c)
	}
}
