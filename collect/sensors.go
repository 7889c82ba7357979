package collect

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"tokwatt/power"
)

// DefaultSampleEvery is how often sensors are read unless the Runner says
// otherwise.
const DefaultSampleEvery = time.Second

// Bounds of one reading, and of the last one, which is waited for.
const (
	readTimeout = 5 * time.Second
	stopTimeout = 2 * time.Second
)

// maxSamples is how many readings one record holds: a batch may take hours.
const maxSamples = 1 << 13

// sampler reads sources beside a measurement, each in a goroutine of its own,
// so that one that hangs keeps no other from being read. Readings are kept
// until take is called, between batches.
type sampler struct {
	clock  *Clock
	every  time.Duration
	cancel context.CancelFunc
	quit   chan struct{} // closed: one more reading, so that the last batch is covered
	ended  chan struct{} // closed when all sources have ended
	once   sync.Once

	mu     sync.Mutex
	got    []Sample
	faults []error         // that nobody was told of yet
	faulty map[string]bool // sources that somebody was or will be told of
}

// sense starts to read the engine's sensors.
func (t *targetRun) sense(ctx context.Context) *sampler {
	var sources []power.Source
	if e, ok := t.engine.(Sensed); ok && !t.NoSensors {
		sources = e.Sources()
	}
	every := t.SampleEvery
	if every <= 0 {
		every = DefaultSampleEvery
	}
	return startSampler(ctx, t.clock, every, sources)
}

func startSampler(ctx context.Context, clock *Clock, every time.Duration, sources []power.Source) *sampler {
	ctx, cancel := context.WithCancel(ctx)
	s := &sampler{clock: clock, every: every, cancel: cancel, quit: make(chan struct{}), ended: make(chan struct{}), faulty: map[string]bool{}}
	var all sync.WaitGroup
	for _, source := range sources {
		all.Go(func() { s.watch(ctx, source) })
	}
	go func() { all.Wait(); close(s.ended) }()
	return s
}

// watch reads one source until stop.
func (s *sampler) watch(ctx context.Context, source power.Source) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		s.read(ctx, source)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-s.quit:
			s.read(ctx, source)
			return
		}
	}
}

func (s *sampler) read(ctx context.Context, source power.Source) {
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	readings, err := source.Read(limited)
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && ctx.Err() == nil && !s.faulty[source.Name()] {
		s.faulty[source.Name()] = true
		s.faults = append(s.faults, fmt.Errorf("sensors of %s: %w", source.Name(), err))
	}
	for _, r := range readings {
		if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || r.Value < 0 {
			continue // no sensor of ours can mean it
		}
		s.got = append(s.got, s.sample(source, r, now))
	}
}

// sample puts a reading on the segment's clock. One that does not say when it
// was taken bears the time at which it was known, as all of one reading do.
func (s *sampler) sample(source power.Source, r power.Sample, now int64) Sample {
	out := Sample{Node: r.Node, Source: r.Source, Scope: string(r.Scope), Metric: string(r.Metric), Unit: r.Unit, EndNS: now, Value: r.Value}
	if out.Source == "" {
		out.Source = source.Name()
	}
	if !r.End.IsZero() {
		out.EndNS = int64(r.End.Sub(s.clock.origin))
	}
	if !r.Start.IsZero() {
		start := int64(r.Start.Sub(s.clock.origin))
		out.StartNS = &start
	}
	return out
}

// stop takes a last reading of each source and ends the sampler. It waits no
// longer than stopTimeout; what comes later is not taken. It may be called
// again.
func (s *sampler) stop() {
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
func (s *sampler) take() (got []Sample, faults []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, faults = s.got, s.faults
	s.got, s.faults = nil, nil
	return got, faults
}

// flush yields what the sensors read.
func (t *targetRun) flush(s *sampler) error {
	got, faults := s.take()
	for _, err := range faults {
		t.warn("%v; it is tried again, and what can't be read is missing", err)
	}
	for part := range slices.Chunk(got, maxSamples) {
		if err := t.put(&Samples{Segment: t.segment, Samples: part}); err != nil {
			return err
		}
	}
	return nil
}
