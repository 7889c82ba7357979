package collect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tokwatt/power"
)

// How often a source is read unless the Runner says otherwise. One that can be
// read on demand costs some milliseconds each time. Any other has its readings
// already, and how often it makes them is its own matter.
const (
	everyOnDemand = 250 * time.Millisecond
	everyOther    = time.Second
	everyAtMost   = 30 * time.Second
)

// probeTimeout bounds how long sources may take to say what they can read.
const probeTimeout = 15 * time.Second

// mostMargin bounds how long readings must reach beyond a batch: two
// publications of the slowest drivers of macOS are that far apart.
const mostMargin = 2500 * time.Millisecond

// sensor is a source and what it says of itself.
type sensor struct {
	power.Source
	channels []power.Channel
	every    time.Duration
	wake     chan struct{} // asks for a reading at once; nil: it can't be had
}

// probe asks sources at once what they can read, every being how often they
// are to be read, 0 for as often as each gives cheaply. Those that don't answer
// in time are left out, and named.
func probe(ctx context.Context, sources []power.Source, every time.Duration) (answered []sensor, mute []string) {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answers := make([]chan []power.Channel, len(sources))
	for i, s := range sources {
		answers[i] = make(chan []power.Channel, 1)
		go func() { answers[i] <- s.Probe(limited) }()
	}
	for i, s := range sources {
		channels, ok := answer(limited, answers[i])
		if !ok {
			mute = append(mute, s.Name())
			continue
		}
		answered = append(answered, newSensor(s, channels, every))
	}
	return answered, mute
}

// answer waits for an answer until ctx ends. One that is there counts even then.
func answer[T any](ctx context.Context, from <-chan T) (got T, ok bool) {
	select {
	case got = <-from:
		return got, true
	case <-ctx.Done():
	}
	select {
	case got = <-from:
		return got, true
	default:
		return got, false
	}
}

func newSensor(s power.Source, channels []power.Channel, every time.Duration) sensor {
	out := sensor{Source: s, channels: channels, every: every}
	if s.OnDemand() {
		out.wake = make(chan struct{}, 1)
	}
	switch {
	case every > 0:
	case s.OnDemand():
		out.every = everyOnDemand
	default:
		out.every = min(max(out.refresh(), everyOther), everyAtMost)
	}
	return out
}

// A Reviver is a power.Source that can be started again when it has ended, as
// a program that it runs may have.
type Reviver interface {
	Revive(ctx context.Context)
}

// revive starts a source again that can be.
func (s *sensor) revive(ctx context.Context) {
	r, ok := s.Source.(Reviver)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r.Revive(ctx)
}

// refresh is how often the fastest of the sensors that can be read is renewed;
// 0: not known.
func (s *sensor) refresh() time.Duration {
	var least time.Duration
	for _, c := range s.channels {
		if c.Missing == "" && c.Refresh > 0 && (least == 0 || c.Refresh < least) {
			least = c.Refresh
		}
	}
	return least
}

// blank reports whether the source has said that it can read nothing now.
func (s *sensor) blank() bool {
	readable := func(c power.Channel) bool { return c.Missing == "" }
	return len(s.channels) > 0 && !slices.ContainsFunc(s.channels, readable)
}

// hopeless reports whether nothing will be read, now or later.
func (s *sensor) hopeless() bool {
	for _, c := range s.channels {
		if c.Missing == "" || c.Missing == power.ReasonNoReading || c.Missing == power.ReasonFrozen {
			return false
		}
	}
	return len(s.channels) > 0
}

// margin is how long its readings of power must have been taken before a
// window begins, and be taken after it ends, to cover it; 0 where it has none.
func (s *sensor) margin() time.Duration {
	var margin time.Duration
	for _, c := range s.channels {
		if c.Missing != "" || c.Metric != power.MetricEnergy && c.Metric != power.MetricPower {
			continue
		}
		margin = max(margin, s.every)
		if s.wake == nil || c.Stamped {
			margin = max(margin, c.Refresh)
		}
	}
	return min(margin, mostMargin)
}

// record is what the session keeps of a sensor of a target, or with 0 of the
// machine called node.
func (s *sensor) record(segment, target int64, node string) *Sensors {
	out := &Sensors{Segment: segment, TargetID: target, EveryNS: int64(s.every)}
	for _, c := range s.channels {
		out.Channels = append(out.Channels, Channel{
			Node: cmp.Or(c.Node, node), Source: cmp.Or(c.Source, s.Name()), Scope: string(c.Scope), Metric: string(c.Metric), Unit: c.Unit,
			RefreshNS: int64(c.Refresh), Range: c.Range, Stamped: c.Stamped, Devices: int64(c.Devices), Missing: string(c.Missing), Note: c.Note,
		})
	}
	return out
}

// sense probes sources and begins to read them; without any, it does nothing.
// With known, whoever gave them knows which can't be read, and is not warned of
// them.
func (s *run) sense(ctx context.Context, sources []power.Source, known bool) *sampler {
	if s.NoSensors || len(sources) == 0 {
		return nil
	}
	sensors, mute := probe(ctx, sources, s.SampleEvery)
	for _, name := range mute {
		if ctx.Err() != nil {
			break
		}
		s.warn("sensors of %s: no answer within %v, so they are not read", name, probeTimeout)
	}
	faulty := map[string]bool{}
	for _, one := range sensors {
		faulty[one.Name()] = known && one.blank()
	}
	return startSampler(ctx, s.clock, s.node(), sensors, faulty)
}

// node is the name of this machine.
func (s *run) node() string {
	if s.Past != nil {
		return s.Past.Session.Host.Name
	}
	return s.Session.Host.Name
}

// announce yields what the sensors of a target, or with 0 of this machine, can
// read: a record for each source that has something to say.
func (s *run) announce(sm *sampler, target int64) error {
	if sm == nil || sm.announced {
		return nil
	}
	sm.announced = true
	for _, sensor := range sm.sensors {
		if len(sensor.channels) == 0 {
			continue
		}
		if err := s.put(sensor.record(s.segment, target, sm.node)); err != nil {
			return err
		}
	}
	return nil
}

// flush yields what the sensors read.
func (s *run) flush(samplers ...*sampler) error {
	record := &Samples{Segment: s.segment}
	for _, sm := range samplers {
		got, faults := sm.take()
		for _, err := range faults {
			s.warn("%v; it is tried again, and what can't be read is missing", err)
		}
		for one := range got.all() {
			record.Samples = append(record.Samples, one)
			if len(record.Samples) < maxSamples {
				continue
			}
			if err := s.put(record); err != nil {
				return err
			}
			record = &Samples{Segment: s.segment}
		}
	}
	if len(record.Samples) == 0 {
		return nil
	}
	return s.put(record)
}

// maxSamples is how many readings one record holds: a batch may take hours.
const maxSamples = 1 << 13

// warn tells of something that concerns no target.
func (s *run) warn(format string, args ...any) {
	s.notify(Progress{Phase: PhaseWarning, Warning: fmt.Sprintf(format, args...)})
}
