package collect

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"tokwatt/power"
)

// meter is a counter of a machine that draws 50 W, read on demand.
func meter(name string) *fakeSource {
	start := time.Now()
	s := &fakeSource{name: name, demand: true, channels: []power.Channel{{Scope: power.ScopePackage, Metric: power.MetricEnergy, Unit: "J"}}}
	s.read = func(context.Context, int) ([]power.Sample, error) {
		now := time.Now()
		return []power.Sample{{Scope: power.ScopePackage, Metric: power.MetricEnergy, Unit: "J", End: now, Value: 50 * now.Sub(start).Seconds()}}, nil
	}
	return s
}

// host runs a spec on a fake engine with sources of this machine.
func host(t *testing.T, r *Runner, d *fakeDriver, spec Spec, sources ...power.Source) []Record {
	t.Helper()
	r.Sources, r.Session.Host.Name = sources, "mac"
	var out []Record
	for rec, err := range r.Run(t.Context(), Job{Driver: d, Spec: spec}) {
		if err != nil {
			t.Error(err)
		}
		if d.flying.Load() != 0 {
			t.Errorf("a %T is yielded during a batch", rec)
		}
		out = append(out, rec)
	}
	return out
}

func of[T Record](recs []Record) []T {
	var out []T
	for _, r := range recs {
		if one, ok := r.(T); ok {
			out = append(out, one)
		}
	}
	return out
}

// TestHostSensors: this machine's are read on demand at each batch's start and
// end and at a lone stream's first output, every 250 ms besides, from before
// the first quiet window to after the last batch.
func TestHostSensors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake()
		d.models = []string{"a", "b"}
		d.prefill, d.step = 1030*time.Millisecond, 170*time.Millisecond
		recs := host(t, fakeRunner(), d, Spec{PP: []int64{1}, TG: []int64{4}, Repeat: 2, Concurrency: []int64{1, 2}}, meter("fake"))
		samples, _ := samplesOf(recs)
		if !slices.IsSortedFunc(samples, func(a, b Sample) int { return int(a.EndNS - b.EndNS) }) {
			t.Fatal("the samples are out of order")
		}
		at := map[int64]bool{}
		for i, s := range samples {
			at[s.EndNS] = true
			if s.Node != "mac" || s.Source != "fake" || s.StartNS != nil || math.Abs(s.Value-50*float64(s.EndNS)/1e9) > 1e-6 {
				t.Fatalf("sample %+v", s)
			}
			if i > 0 && s.EndNS-samples[i-1].EndNS > int64(everyOnDemand) {
				t.Errorf("nothing from %d to %d", samples[i-1].EndNS, s.EndNS)
			}
		}
		batches := of[*Batch](recs)
		for _, b := range batches {
			first := b.StartNS + b.Requests[0].Chunks[0].T
			if !at[b.StartNS] || !at[b.EndNS] || len(b.Requests) == 1 && !at[first] {
				t.Errorf("batch of %d from %d to %d, first output at %d: not all of it is read", len(b.Requests), b.StartNS, b.EndNS, first)
			}
		}
		idles := of[*Idle](recs)
		if len(idles) != 2 || len(batches) != 10 {
			t.Fatalf("%d quiet windows, %d batches", len(idles), len(batches))
		}
		for i, w := range idles {
			next := slices.IndexFunc(batches, func(b *Batch) bool { return b.StartNS >= w.EndNS })
			if w.EndNS-w.StartNS != 10e9 || w.TargetID != int64(i+1) || w.Segment != 1 || next != 5*i {
				t.Errorf("quiet window %+v before batch %d", *w, next)
			}
		}
		if from, to := samples[0].EndNS, samples[len(samples)-1].EndNS; from > idles[0].StartNS-25e7 || to < batches[9].EndNS+25e7 {
			t.Errorf("read from %d to %d, wanted from before %d to after %d", from, to, idles[0].StartNS, batches[9].EndNS)
		}
		if s := of[*Sensors](recs); len(s) != 1 || s[0].EveryNS != 25e7 || s[0].TargetID != 0 || s[0].Segment != 1 ||
			s[0].Channels[0] != (Channel{Node: "mac", Source: "fake", Scope: "package", Metric: "energy", Unit: "J"}) {
			t.Errorf("sensors %+v", s)
		}
	})
}

// TestNothingIsWaitedFor: where nothing reads power, or nobody wants to know,
// a run takes as long as one without sensors.
func TestNothingIsWaitedFor(t *testing.T) {
	denied := func() *fakeSource {
		s := meter("denied")
		s.channels[0].Missing, s.channels[0].Note = power.ReasonDenied, "only root may"
		return s
	}
	thermometer := func() *fakeSource {
		s := meter("thermometer")
		s.channels[0].Metric = power.MetricTemperature
		return s
	}
	spec := Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 2}
	took := func(t *testing.T, r *Runner, spec Spec, sources ...power.Source) (time.Duration, []Record) {
		start := time.Now()
		recs := host(t, r, newFake(), spec, sources...)
		return time.Since(start), recs
	}
	synctest.Test(t, func(t *testing.T) {
		plain, _ := took(t, fakeRunner(), spec)
		d := denied()
		for _, s := range []power.Source{d, thermometer()} {
			got, recs := took(t, fakeRunner(), spec, s)
			if got != plain || len(of[*Idle](recs)) != 0 || len(of[*Sensors](recs)) != 1 {
				t.Errorf("%s: %v, without it %v", s.Name(), got, plain)
			}
		}
		if d.reads() != 0 {
			t.Errorf("what can't be read was tried %d times", d.reads())
		}
		off := fakeRunner()
		off.NoSensors = true
		m := meter("off")
		if got, recs := took(t, off, spec, m); got != plain || m.reads() != 0 || len(of[*Sensors](recs)) != 0 {
			t.Errorf("switched off: %v, %d readings", got, m.reads())
		}
		spec.NoIdle = true
		got, recs := took(t, fakeRunner(), spec, meter("m"))
		if got != plain+2*everyOnDemand || len(of[*Idle](recs)) != 0 {
			t.Errorf("without a quiet window: %v, without sensors %v", got, plain)
		}
	})
}

// TestBlankSources: of one that says that it has no reading now nobody is
// warned, and it is read all the same; an engine's is warned of.
func TestBlankSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		battery := func() *fakeSource {
			s := meter("battery")
			s.channels[0].Missing = power.ReasonNoReading
			s.read = func(_ context.Context, n int) ([]power.Sample, error) {
				if n < 5 {
					return nil, errors.New("on mains power")
				}
				return watts(9), nil
			}
			return s
		}
		warned := 0
		r := fakeRunner()
		r.Notify = func(p Progress) {
			if p.Warning != "" {
				warned++
			}
		}
		d := newFake()
		spec := Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 3}
		recs := host(t, r, d, spec, battery())
		if samples, _ := samplesOf(recs); len(samples) == 0 || warned != 0 {
			t.Errorf("%d samples, %d warnings", len(samples), warned)
		}
		d.sources = []power.Source{battery()}
		if host(t, r, d, spec); warned != 1 {
			t.Errorf("%d warnings of an engine's sensors", warned)
		}
	})
}

// mortal is a source that ends, and can be started again.
type mortal struct {
	*fakeSource
	dead    bool
	revived []time.Duration
	start   time.Time
}

func (m *mortal) Revive(context.Context) {
	m.revived = append(m.revived, time.Since(m.start))
	m.dead = len(m.revived)%2 == 1 // the first attempt fails
}

// TestRevival: a source that has ended is started again after a while, and
// again; one that never could be read is not.
func TestRevival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mortal{fakeSource: meter("mortal"), start: time.Now()}
		works := m.read
		m.read = func(ctx context.Context, n int) ([]power.Sample, error) {
			if m.dead = m.dead || time.Since(m.start) == time.Minute; m.dead {
				return nil, errors.New("the program has ended")
			}
			return works(ctx, n)
		}
		never := &mortal{fakeSource: meter("never"), start: time.Now(), dead: true}
		never.read = func(context.Context, int) ([]power.Sample, error) { return nil, errors.New("it never ran") }
		s := startSampler(t.Context(), NewClock(), "n", []sensor{newSensor(m, m.channels, time.Second), newSensor(never, never.channels, time.Second)}, map[string]bool{})
		time.Sleep(5*time.Minute + time.Second/2)
		s.stop()
		got, faults := s.take()
		if want := []time.Duration{89 * time.Second, 119 * time.Second}; !slices.Equal(m.revived, want) || len(never.revived) != 0 {
			t.Errorf("started again at %v and %v", m.revived, never.revived)
		}
		if want := 302 - 60; got.count != want || len(faults) != 2 {
			t.Errorf("%d readings, want %d; %v", got.count, want, faults)
		}
	})
}

// BenchmarkMark is what the path of an arrival pays to have sensors read, whose
// goroutine sleeps then.
func BenchmarkMark(b *testing.B) {
	m := meter("m")
	s := startSampler(b.Context(), NewClock(), "n", []sensor{newSensor(m, m.channels, time.Hour)}, map[string]bool{})
	defer s.stop()
	var spent []time.Duration
	for b.Loop() {
		time.Sleep(time.Millisecond)
		start := time.Now()
		s.mark()
		spent = append(spent, time.Since(start))
	}
	slices.Sort(spent)
	b.ReportMetric(float64(spent[len(spent)/2]), "ns/mark")
	b.ReportMetric(float64(spent[len(spent)*99/100]), "ns/mark-p99")
}

// TestMargins: what is renewed seldom is read for longer around the batches.
func TestMargins(t *testing.T) {
	for name, c := range map[string]struct {
		channel     power.Channel
		demand      bool
		asked       time.Duration
		every, want time.Duration
	}{
		"counter":          {power.Channel{Metric: power.MetricEnergy, Refresh: time.Millisecond}, true, 0, 250 * time.Millisecond, 250 * time.Millisecond},
		"published":        {power.Channel{Metric: power.MetricEnergy, Refresh: 2100 * time.Millisecond, Stamped: true}, true, 0, 250 * time.Millisecond, 2100 * time.Millisecond},
		"slowly published": {power.Channel{Metric: power.MetricEnergy, Refresh: 9 * time.Second, Stamped: true}, true, 0, 250 * time.Millisecond, 2500 * time.Millisecond},
		"stream":           {power.Channel{Metric: power.MetricPower, Refresh: 100 * time.Millisecond}, false, 0, time.Second, time.Second},
		"slow stream":      {power.Channel{Metric: power.MetricPower, Refresh: 2 * time.Second}, false, 0, 2 * time.Second, 2 * time.Second},
		"slowest stream":   {power.Channel{Metric: power.MetricPower, Refresh: time.Hour}, false, 0, 30 * time.Second, 2500 * time.Millisecond},
		"asked":            {power.Channel{Metric: power.MetricPower, Refresh: time.Second}, false, 100 * time.Millisecond, 100 * time.Millisecond, time.Second},
		"no power":         {power.Channel{Metric: power.MetricUsage}, true, 0, 250 * time.Millisecond, 0},
		"missing":          {power.Channel{Metric: power.MetricPower, Missing: power.ReasonVM}, true, 0, 250 * time.Millisecond, 0},
	} {
		s := newSensor(&fakeSource{demand: c.demand}, []power.Channel{c.channel}, c.asked)
		if s.every != c.every || s.margin() != c.want {
			t.Errorf("%s: every %v, margin %v, want %v and %v", name, s.every, s.margin(), c.every, c.want)
		}
	}
}

// TestHungSources: one whose reading never ends, whatever it is told, delays no
// batch and no other source; one that does not say what it can read is left out.
func TestHungSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		defer close(forever)
		hung := meter("hung")
		hung.read = func(context.Context, int) ([]power.Sample, error) { <-forever; return nil, errors.New("at last") }
		mute := meter("mute")
		mute.probe = func() { <-forever }
		d := newFake()
		var warnings []string
		r := fakeRunner()
		r.Notify = func(p Progress) {
			if p.Warning != "" {
				warnings = append(warnings, p.Warning)
			}
		}
		start := time.Now()
		recs := host(t, r, d, Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 3, NoIdle: true}, hung, mute, meter("good"))
		if took := time.Since(start); took > probeTimeout+3*2*time.Second+3*time.Second+stopTimeout {
			t.Errorf("it took %v", took)
		}
		for _, b := range of[*Batch](recs) {
			if b.EndNS-b.StartNS != 60e6 {
				t.Errorf("a batch of %d ns", b.EndNS-b.StartNS)
			}
		}
		samples, _ := samplesOf(recs)
		if len(samples) < 20 || samples[0].Source != "good" || mute.reads() != 0 {
			t.Errorf("%d samples", len(samples))
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], "sensors of mute: no answer within") {
			t.Errorf("warnings %q", warnings)
		}
	})
}

// TestResumedSensors: a session that goes on has its sensors again, and its
// own name of the machine.
func TestResumedSensors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 3}
		r := fakeRunner()
		r.Session.ID = "s"
		first := host(t, r, newFake(), spec, meter("fake"))
		cut := slices.IndexFunc(first, func(r Record) bool { b, ok := r.(*Batch); return ok && !b.Warmup })
		past, err := ReadPast(func(yield func(Record, error) bool) {
			for _, r := range first[:cut+1] {
				if !yield(r, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		r = fakeRunner()
		r.Past = past
		second := host(t, r, newFake(), spec, meter("fake"))
		sensors, idles := of[*Sensors](second), of[*Idle](second)
		samples, _ := samplesOf(second)
		if len(sensors) != 1 || sensors[0].Segment != 2 || sensors[0].Channels[0].Node != "mac" || len(idles) != 1 || idles[0].Segment != 2 || idles[0].TargetID != 1 || samples[0].Node != "mac" {
			t.Errorf("%+v, %+v", sensors, idles)
		}
		// Nothing is left: nothing is read.
		whole := slices.Concat(first[:cut+1], second)
		past, err = ReadPast(func(yield func(Record, error) bool) {
			for _, r := range whole {
				if !yield(r, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		r = fakeRunner()
		r.Past, r.Sources = past, []power.Source{meter("idle")}
		for rec, err := range r.Run(t.Context(), Job{Driver: newFake(), Spec: spec}) {
			if !errors.Is(err, ErrNothingLeft) {
				t.Errorf("%T, %v", rec, err)
			}
		}
		if n := r.Sources[0].(*fakeSource).reads(); n != 0 {
			t.Errorf("%d readings", n)
		}
	})
}

// TestThermalPressure: this machine's own is a batch's throttling, as long as
// it lasts and no longer.
func TestThermalPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		hot := func(from, to time.Duration, node string) *fakeSource {
			s := meter("thermal" + node)
			s.channels[0].Metric = power.MetricPressure
			s.read = func(context.Context, int) ([]power.Sample, error) {
				level := 0.0
				if at := time.Since(start); at >= from && at < to {
					level = 2
				}
				return []power.Sample{{Node: node, Metric: power.MetricPressure, Unit: "level", End: time.Now(), Value: level}}, nil
			}
			return s
		}
		d := newFake()
		d.prefill, d.step = time.Second, time.Second // 2 s a batch, 1 or 2 s between them
		recs := host(t, fakeRunner(), d, Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 4, Warmup: value(0), Pause: 2 * time.Second, GroupPause: -1},
			hot(6500*time.Millisecond, 7400*time.Millisecond, ""), hot(0, time.Hour, "another"))
		var got []bool
		for _, b := range of[*Batch](recs) {
			got = append(got, b.Throttled != nil)
			if b.Throttled != nil && !*b.Throttled {
				t.Error("that no pressure is felt was taken for a proof")
			}
		}
		if want := []bool{false, true, false, false}; !slices.Equal(got, want) {
			t.Errorf("throttled %v, want %v", got, want)
		}
	})
}

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
