package analyze

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"tokwatt/collect"
)

// day makes the records of a run as they are stored: each batch is followed by
// what was read until its end. Counters and instants of four machines, read at
// hz; a batch every 12 s or so.
func day(hz, seconds float64, put func(collect.Record)) {
	rnd := rand.New(rand.NewPCG(1, 2))
	nodes := []string{"a", "b", "c", "d"}
	put(&collect.Session{ID: "s", Host: collect.Host{Name: "a"}})
	put(&collect.Segment{Segment: 1})
	put(&collect.Sensors{Segment: 1, EveryNS: int64(1e9 / hz), Channels: []collect.Channel{{Node: "a", Source: "s", Scope: "package", Metric: "energy", Unit: "J"}}})
	put(&collect.TargetInfo{TargetID: 1, Nodes: nodes})
	put(&collect.Case{CaseID: 1, TargetID: 1, Concurrency: 1})
	joules := make([]float64, len(nodes))
	next := int64(0)
	read := func(until float64) {
		s := &collect.Samples{Segment: 1}
		for ; float64(next)/hz < until; next++ {
			for i, node := range nodes {
				watts := 40 + 30*rnd.Float64()
				joules[i] += watts / hz
				at := int64(float64(next) / hz * 1e9)
				s.Samples = append(s.Samples, collect.Sample{Node: node, Source: "s", Scope: "package", Metric: "energy", EndNS: at, Value: joules[i]},
					collect.Sample{Node: node, Source: "s", Scope: "system", Metric: "power", EndNS: at, Value: watts + 20})
			}
		}
		put(s)
	}
	id := int64(0)
	for at := 1.0; at < seconds-20; at += 12 {
		id++
		from, to := int64(at*1e9), int64((at+2+8*rnd.Float64())*1e9)
		put(&collect.Batch{CaseID: 1, BatchID: id, Segment: 1, StartNS: from, EndNS: to, Requests: []collect.Request{{RequestID: id, StartNS: from, EndNS: to,
			Chunks: []collect.Chunk{{T: (to - from) / 3, Kind: collect.KindContent}}}}})
		read(float64(to) / 1e9)
	}
	read(seconds)
	put(&collect.End{})
}

// TestLongSessionsAreDerivedAlike: what is let go as the session goes on changes
// no figure.
func TestLongSessionsAreDerivedAlike(t *testing.T) {
	run := func(held, limit int) (out []Derived, most int) {
		d := NewDeriver()
		d.maxHeld, d.limit = held, limit
		day(2, 3000, func(rec collect.Record) {
			ready, err := d.Add(rec)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, ready...)
			most = max(most, len(d.held))
		})
		return out, most
	}
	want, all := run(math.MaxInt, math.MaxInt)
	got, most := run(1000, 400)
	if len(got) != len(want) || most > 20 || all < 200 {
		t.Fatalf("%d and %d items; %d and %d held at most", len(got), len(want), most, all)
	}
	for i := range want {
		sameEnergy(t, got[i].Energy, want[i].Energy)
		if want[i].Batch != nil && (got[i].Batch.BatchID != want[i].Batch.BatchID || !alike(got[i].Row.EnergyJ, want[i].Row.EnergyJ)) {
			t.Fatalf("%+v, want %+v", got[i].Row, want[i].Row)
		}
	}
}

func sameEnergy(t *testing.T, got, want []EnergyRow) {
	t.Helper()
	order := func(a, b EnergyRow) int {
		return cmp.Or(cmp.Compare(a.WindowKind, b.WindowKind), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Scope, b.Scope))
	}
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		g, w := got[i], want[i]
		figures := func(r EnergyRow) []*float64 {
			return []*float64{r.EnergyJ, r.LowJ, r.HighJ, r.MeanW, r.PeakW, r.MaxGapS}
		}
		for k, x := range figures(w) {
			if !alike(figures(g)[k], x) {
				t.Errorf("%s of %s, %s, %s: figure %d differs: %+v, want %+v", w.WindowKind, w.Node, w.Scope, w.Rule, k, g, w)
			}
		}
		if g.Samples != w.Samples || g.NullReason != w.NullReason || g.StartNS != w.StartNS || g.EndNS != w.EndNS || g.Node != w.Node {
			t.Errorf("%+v, want %+v", g, w)
		}
		if w.EnergyJ == nil {
			t.Errorf("no energy: %+v", w)
		}
	}
}

func alike(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) <= 1e-6*max(1, math.Abs(*b))
}

// TestADayOfReadings: 24 h at 4 Hz of eight channels on four machines need no
// more memory in the end than after two hours.
func TestADayOfReadings(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	d := NewDeriver()
	var heap []float64
	n, rows := 0, 0
	day(4, 24*3600, func(rec collect.Record) {
		ready, _ := d.Add(rec)
		for _, r := range ready {
			rows += len(r.Energy)
		}
		if n++; n%2000 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = append(heap, float64(m.HeapAlloc)/(1<<20))
		}
	})
	t.Logf("%d rows of energy; heap %.0f MiB", rows, heap)
	early, late := slices.Max(heap[:len(heap)/3]), slices.Max(heap[len(heap)/3:])
	if late > 1.2*early+5 || rows < 100_000 {
		t.Errorf("the heap grew from %.0f MiB to %.0f, with %d rows", early, late, rows)
	}
}
