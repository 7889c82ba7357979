package collect

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

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
