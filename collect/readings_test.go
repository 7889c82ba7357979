package collect

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// TestReadings: what is packed comes out again, in few bytes.
func TestReadings(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var want []Sample
	var r readings
	end := int64(0)
	for i := range 20000 {
		s := Sample{Node: []string{"a", "b"}[i%2], Source: "s", Metric: []string{"energy", "power", "usage"}[i%3], Value: rnd.NormFloat64() * 1e6}
		switch i % 7 {
		case 0:
			end += rnd.Int64N(1e9)
		case 1:
			end -= rnd.Int64N(1e9)
		}
		s.EndNS = end
		if i%3 == 1 {
			start := end - rnd.Int64N(1e10) + 1e9
			s.StartNS = &start
		}
		if i%5 == 0 && s.StartNS != nil {
			*s.StartNS = end
		}
		r.add(s)
		want = append(want, s)
	}
	got := slices.Collect(r.all())
	if r.count != len(want) || !slices.EqualFunc(got, want, equalSamples) {
		t.Fatal("what was packed came out changed")
	}
	for range r.all() { // stops where it is told to
		break
	}
	var none readings
	for range none.all() {
		t.Error("a sample out of nothing")
	}
}

func equalSamples(a, b Sample) bool {
	if (a.StartNS == nil) != (b.StartNS == nil) || a.StartNS != nil && *a.StartNS != *b.StartNS {
		return false
	}
	a.StartNS, b.StartNS = nil, nil
	return a == b
}

// TestMemoryOfALongBatch: two hours at 4 Hz, of counters on four nodes, in one
// batch, and what is left of them when it is over.
func TestMemoryOfALongBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sensors []sensor
		for _, name := range []string{"a", "b", "c", "d"} {
			m := meter(name)
			sensors = append(sensors, newSensor(m, m.channels, 0))
		}
		s := startSampler(t.Context(), NewClock(), "n", sensors, map[string]bool{})
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		got, _ := s.take()
		s.stop()
		bytes := 0
		for _, b := range got.blocks {
			bytes += cap(b)
		}
		if got.count != 4*(2*3600*4+1) {
			t.Errorf("%d samples", got.count)
		}
		per := float64(bytes) / float64(got.count)
		if t.Logf("%.1f bytes a sample, %d as they are", per, unsafe.Sizeof(Sample{})); per > 16 {
			t.Errorf("%.1f bytes a sample", per)
		}
		if left, _ := s.take(); left.count > 4 || len(left.blocks) > 1 {
			t.Errorf("%d samples are left", left.count)
		}
	})
}

// TestADayOfSensors: 24 hours of batches of 20 minutes, four nodes at 4 Hz.
// Memory is that of one batch, from the first to the last.
func TestADayOfSensors(t *testing.T) {
	if testing.Short() {
		t.Skip("1.4 million readings")
	}
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		d.prefill, d.step = 20*time.Minute-time.Second, time.Second
		r := fakeRunner()
		for _, name := range []string{"a", "b", "c", "d"} {
			r.Sources = append(r.Sources, meter(name))
		}
		var heap []uint64
		samples := 0
		for rec, err := range r.Run(t.Context(), Job{Driver: d, Spec: Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 72, Warmup: value(0)}}) {
			if err != nil {
				t.Fatal(err)
			}
			switch rec := rec.(type) {
			case *Samples:
				samples += len(rec.Samples)
			case *Batch:
				if rec.BatchID%24 == 2 {
					runtime.GC()
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					heap = append(heap, m.HeapAlloc)
				}
			}
		}
		if want := 4 * 4 * 24 * 3600; samples < want || samples > want*101/100 {
			t.Errorf("%d samples, want %d", samples, want)
		}
		t.Logf("%d samples, heap %d", samples, heap)
		if first, last := heap[0], heap[len(heap)-1]; last > first+1<<18 {
			t.Errorf("the heap grew from %d to %d bytes", first, last)
		}
	})
}
