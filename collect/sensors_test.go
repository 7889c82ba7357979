package collect

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/power"
)

// fakeSource reads one value; read overrides it.
type fakeSource struct {
	name     string
	demand   bool
	channels []power.Channel
	probe    func() // may be nil
	count    atomic.Int64
	read     func(ctx context.Context, n int) ([]power.Sample, error)
}

func (s *fakeSource) Name() string   { return s.name }
func (s *fakeSource) OnDemand() bool { return s.demand }
func (s *fakeSource) Close() error   { return nil }
func (s *fakeSource) Probe(context.Context) []power.Channel {
	if s.probe != nil {
		s.probe()
	}
	return s.channels
}
func (s *fakeSource) Read(ctx context.Context) ([]power.Sample, error) {
	return s.read(ctx, int(s.count.Add(1)))
}
func (s *fakeSource) reads() int { return int(s.count.Load()) }

func watts(v float64) []power.Sample {
	return []power.Sample{{Node: "n", Scope: power.ScopeSystem, Metric: "power", Unit: "W", End: time.Now(), Value: v}}
}

// sensed runs three batches of 10 s on an engine with sources.
func sensed(t *testing.T, r *Runner, sources ...power.Source) ([]Record, []string) {
	d := newFake()
	d.prefill, d.step, d.sources = 9*time.Second, time.Second, sources
	var warnings []string
	r.Notify = func(p Progress) {
		if p.Warning != "" {
			warnings = append(warnings, p.Warning)
		}
	}
	var out []Record
	for rec, err := range r.Run(t.Context(), Job{Driver: d, Spec: Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 2}}) {
		if err != nil {
			t.Error(err)
		}
		if d.flying.Load() != 0 {
			t.Errorf("a %T is yielded during a batch", rec)
		}
		out = append(out, rec)
	}
	return out, warnings
}

func samplesOf(recs []Record) (all []Sample, records int) {
	for _, rec := range recs {
		if s, ok := rec.(*Samples); ok {
			all = append(all, s.Samples...)
			records++
		}
	}
	return all, records
}

// TestSensorsCoverTheTarget: readings reach from the warm-up's begin to the end
// of the last batch, no further apart than asked for, each on the segment's clock.
func TestSensorsCoverTheTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{name: "fake", read: func(_ context.Context, n int) ([]power.Sample, error) {
			return append(watts(float64(n)), power.Sample{Node: "n", Metric: "temperature", Unit: "celsius", Source: "other",
				Start: time.Now().Add(-time.Second), Value: 40}), nil
		}}
		r := fakeRunner()
		r.SampleEvery = 700 * time.Millisecond
		recs, warnings := sensed(t, r, src)
		got, records := samplesOf(recs)
		var last int64
		for _, rec := range recs {
			if b, ok := rec.(*Batch); ok {
				last = b.EndNS
			}
		}
		if len(got) != 2*src.reads() || records != 3 && records != 4 || len(warnings) != 0 {
			t.Fatalf("%d samples of %d readings in %d records, warnings %q", len(got), src.reads(), records, warnings)
		}
		for i := 0; i < len(got); i += 2 {
			w, c := got[i], got[i+1]
			want := Sample{Node: "n", Source: "fake", Scope: "system", Metric: "power", Unit: "W", EndNS: w.EndNS, Value: float64(i/2 + 1)}
			if w != want {
				t.Fatalf("sample %+v, want %+v", w, want)
			}
			if c.EndNS != w.EndNS || c.StartNS == nil || *c.StartNS != c.EndNS-1e9 || c.Source != "other" {
				t.Fatalf("sample %+v of the reading at %d", c, w.EndNS)
			}
			if i > 0 && w.EndNS-got[i-2].EndNS > 7e8 {
				t.Errorf("%d ns between two readings", w.EndNS-got[i-2].EndNS)
			}
		}
		if first, final := got[0].EndNS, got[len(got)-1].EndNS; first != 0 || final < last {
			t.Errorf("read from %d to %d, and the last batch ends at %d", first, final, last)
		}
	})
}

// TestSensorsInTrouble: one that fails is warned of once, one that hangs keeps
// nobody waiting, and what can't be is not kept.
func TestSensorsInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &fakeSource{name: "bad", read: func(context.Context, int) ([]power.Sample, error) { return nil, errors.New("no access") }}
		hung := &fakeSource{name: "hung", read: func(ctx context.Context, _ int) ([]power.Sample, error) { <-ctx.Done(); return nil, ctx.Err() }}
		odd := &fakeSource{name: "odd", read: func(_ context.Context, n int) ([]power.Sample, error) {
			return watts([]float64{math.NaN(), -1, math.Inf(1), 5}[n%4]), nil
		}}
		start := time.Now()
		recs, warnings := sensed(t, fakeRunner(), bad, hung, odd)
		if took := time.Since(start); took > 3*10*time.Second+3*time.Second+stopTimeout {
			t.Errorf("it took %v", took)
		}
		got, _ := samplesOf(recs)
		for _, s := range got {
			if s.Value != 5 {
				t.Errorf("sample %+v", s)
			}
		}
		if len(got) < odd.reads()/4 || len(warnings) != 2 || !strings.Contains(strings.Join(warnings, " "), "sensors of bad: no access") {
			t.Errorf("%d samples of %d readings, warnings %q", len(got), odd.reads(), warnings)
		}
	})
}

func TestSensorsMayBeOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{name: "fake", read: func(context.Context, int) ([]power.Sample, error) { return watts(1), nil }}
		r := fakeRunner()
		r.NoSensors = true
		if recs, _ := sensed(t, r, src); src.reads() != 0 || len(recs) != 8 {
			t.Errorf("%d readings, %d records", src.reads(), len(recs))
		}
		r = fakeRunner()
		r.SampleEvery = 5 * time.Second
		if sensed(t, r, src); src.reads() < 6 || src.reads() > 9 {
			t.Errorf("%d readings of 33 s, one each 5 s", src.reads())
		}
	})
}

// TestSensorsEndWithTheRun: an interrupt, and a consumer that stops, end them.
func TestSensorsEndWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{name: "fake", read: func(context.Context, int) ([]power.Sample, error) { return watts(1), nil }}
		d := newFake()
		d.sources = []power.Source{src}
		job := Job{Driver: d, Spec: Spec{PP: []int64{1}, TG: []int64{2}, Repeat: 100}}
		for range fakeRunner().Run(t.Context(), job) {
			if src.reads() > 3 {
				break
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		d.sources = append(d.sources, &fakeSource{name: "hung", read: func(ctx context.Context, _ int) ([]power.Sample, error) { <-ctx.Done(); return nil, ctx.Err() }})
		r := fakeRunner()
		r.Notify = func(p Progress) {
			if p.Warning != "" {
				t.Errorf("a warning of what the interrupt itself broke off: %s", p.Warning)
			}
		}
		for range r.Run(ctx, job) {
		}
		synctest.Wait()
		before := src.reads()
		time.Sleep(time.Minute)
		if src.reads() != before {
			t.Errorf("%d readings after the end", src.reads()-before)
		}
	})
}
