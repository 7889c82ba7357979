package collect

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tokwatt/power"
)

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
