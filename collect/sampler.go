package collect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"tokwatt/power"
)

// Bounds of one reading, and of the last one, which is waited for.
const (
	readTimeout = 5 * time.Second
	stopTimeout = 2 * time.Second
)

// reviveAfter is how long a source that could be read must fail before it is
// started again: many a laptop has slept that long.
const reviveAfter = 30 * time.Second

// sampler reads sensors beside a measurement, each in a goroutine of its own,
// so that one that hangs keeps no other from being read. Readings are kept
// until take is called, between batches. A nil sampler reads nothing.
type sampler struct {
	clock     *Clock
	node      string // this machine
	sensors   []sensor
	since     int64 // when it began to read
	announced bool  // what it can read is in the session
	cancel    context.CancelFunc
	quit      chan struct{} // closed: one more reading, so that the last batch is covered
	ended     chan struct{} // closed when all sources have ended
	once      sync.Once

	mu       sync.Mutex
	got      readings
	faults   []error            // that nobody was told of yet
	faulty   map[string]bool    // sources that somebody was or will be told of
	pressure map[string]float64 // the newest thermal pressure by source
	hottest  float64            // the highest since it was last asked for
}

// startSampler begins to read sensors. Nobody is told that those in faulty can't
// be read.
func startSampler(ctx context.Context, clock *Clock, node string, sensors []sensor, faulty map[string]bool) *sampler {
	ctx, cancel := context.WithCancel(ctx)
	s := &sampler{clock: clock, node: node, sensors: sensors, since: clock.Now(), cancel: cancel,
		quit: make(chan struct{}), ended: make(chan struct{}), faulty: faulty, pressure: map[string]float64{}}
	var all sync.WaitGroup
	for i := range sensors {
		if !sensors[i].hopeless() {
			all.Go(func() { s.watch(ctx, &sensors[i]) })
		}
	}
	go func() { all.Wait(); close(s.ended) }()
	return s
}

// watch reads one source until stop.
func (s *sampler) watch(ctx context.Context, source *sensor) {
	tick := time.NewTicker(source.every)
	defer tick.Stop()
	var good time.Time // the newest reading
	for {
		switch now := time.Now(); {
		case s.read(ctx, source):
			good = now
		case !good.IsZero() && now.Sub(good) >= reviveAfter:
			source.revive(ctx)
			good = now
		}
		select {
		case <-tick.C:
		case <-source.wake:
		case <-ctx.Done():
			return
		case <-s.quit:
			s.read(ctx, source)
			return
		}
	}
}

// mark asks all sources that can be read on demand for a reading now. It only
// leaves word: whoever calls it may be in the middle of a measurement.
func (s *sampler) mark() {
	if s == nil {
		return
	}
	for i := range s.sensors {
		select {
		case s.sensors[i].wake <- struct{}{}:
		default: // it is not that kind, or will read anyway
		}
	}
}

// marks reports whether mark does anything.
func (s *sampler) marks() bool {
	if s == nil {
		return false
	}
	for i := range s.sensors {
		if s.sensors[i].wake != nil && !s.sensors[i].hopeless() {
			return true
		}
	}
	return false
}

// margin is that of the source that needs the longest; 0: none reads power.
func (s *sampler) margin() time.Duration {
	var most time.Duration
	if s != nil {
		for i := range s.sensors {
			most = max(most, s.sensors[i].margin())
		}
	}
	return most
}

// read takes a reading, and reports whether it went well.
func (s *sampler) read(ctx context.Context, source power.Source) bool {
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	samples, err := source.Read(limited)
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && ctx.Err() == nil && !s.faulty[source.Name()] {
		s.faulty[source.Name()] = true
		s.faults = append(s.faults, fmt.Errorf("sensors of %s: %w", source.Name(), err))
	}
	for _, r := range samples {
		if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.Value < 0 {
			continue // no sensor of ours can mean it
		}
		one := s.sample(source, r, now)
		if one.EndNS < 0 {
			continue // it lay ready when the segment began
		}
		s.got.add(one)
		if r.Metric == power.MetricPressure && (r.Node == "" || r.Node == s.node) {
			s.pressure[source.Name()] = r.Value
			s.hottest = max(s.hottest, r.Value)
		}
	}
	return err == nil
}

// sample puts a reading on the segment's clock. One that does not say when it
// was taken bears the time at which it was known, as all of one reading do.
func (s *sampler) sample(source power.Source, r power.Sample, now int64) Sample {
	out := Sample{Node: cmp.Or(r.Node, s.node), Source: cmp.Or(r.Source, source.Name()), Scope: string(r.Scope), Metric: string(r.Metric), Unit: r.Unit, EndNS: now, Value: r.Value}
	if !r.End.IsZero() {
		out.EndNS = int64(r.End.Sub(s.clock.origin))
	}
	if !r.Start.IsZero() {
		start := int64(r.Start.Sub(s.clock.origin))
		out.StartNS = &start
	}
	return out
}

// hot reports whether this machine was under thermal pressure at any time
// since it was last asked. That it was not is no proof that nothing slows it,
// so there is no saying so.
func (s *sampler) hot() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.hottest > 0
	s.hottest = 0
	for _, level := range s.pressure {
		s.hottest = max(s.hottest, level)
	}
	return was
}

// stop takes a last reading of each source and ends the sampler. It waits no
// longer than stopTimeout; what comes later is not taken. It may be called
// again.
func (s *sampler) stop() {
	if s == nil {
		return
	}
	s.once.Do(func() {
		defer s.cancel()
		close(s.quit)
		late := time.NewTimer(stopTimeout)
		defer late.Stop()
		select {
		case <-s.ended:
		case <-late.C:
		}
	})
}

// take hands out what was read and went wrong since it was last called.
func (s *sampler) take() (got readings, faults []error) {
	if s == nil {
		return readings{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	got, faults = s.got, s.faults
	s.got, s.faults = readings{}, nil
	return got, faults
}
