package main

import (
	"context"
	"slices"
	"sync"
	"time"

	endpoint "tokwatt/mlx/serve"
	"tokwatt/power"
	sensors "tokwatt/power/local"
)

// How the sensors are read for the server: as often as its slowest windows
// need, and whenever a window begins or ends.
const (
	meterEvery = 500 * time.Millisecond
	// meterPatience is how long an answer waits for the reading at its end.
	meterPatience = 150 * time.Millisecond
	// meterShown is the time over which the newest power is a mean.
	meterShown = 2 * time.Second
	// meterKept bounds the readings that are kept: half an hour of ten channels.
	meterKept = 1 << 15
	// meterHeld is how long a reading may stand for what came after it.
	meterHeld = 3 * time.Second
)

// serveMeter reads the sensors of this machine for as long as the server runs.
type serveMeter struct {
	sources  []power.Source
	channels []power.Channel
	origin   time.Time
	wake     chan struct{}
	stop     context.CancelFunc
	stopped  chan struct{}

	mu      sync.Mutex
	samples []power.Sample
	began   time.Time     // of the newest round that is complete
	round   chan struct{} // closed with the next one
}

var _ endpoint.Meter = (*serveMeter)(nil)

// newServeMeter starts to read; nil where no power can be.
func newServeMeter(ctx context.Context, sources []power.Source) *serveMeter {
	m := &serveMeter{origin: time.Now(), wake: make(chan struct{}, 1), stopped: make(chan struct{}), round: make(chan struct{})}
	for _, s := range sources {
		if channels := s.Probe(ctx); sensors.Readable(channels) {
			m.sources = append(m.sources, s)
			for _, c := range channels {
				if c.Source == "" {
					c.Source = s.Name()
				}
				m.channels = append(m.channels, c)
			}
		}
	}
	if len(m.sources) == 0 {
		return nil
	}
	// It reads on while the last requests are told that the server ends.
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	go m.watch(ctx)
	return m
}

func (m *serveMeter) close() {
	m.stop()
	<-m.stopped
}

func (m *serveMeter) watch(ctx context.Context) {
	defer close(m.stopped)
	tick := time.NewTicker(meterEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		m.read(ctx)
		select {
		case <-tick.C:
		case <-m.wake:
		case <-ctx.Done():
		}
	}
}

// read reads every sensor once.
func (m *serveMeter) read(ctx context.Context) {
	began := time.Now()
	got := make([][]power.Sample, len(m.sources))
	var wg sync.WaitGroup
	for i, s := range m.sources {
		wg.Go(func() { got[i], _ = s.Read(ctx) }) // what gives nothing has a hole there
	}
	wg.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, samples := range got {
		for _, s := range samples {
			if s.Source == "" {
				s.Source = m.sources[i].Name()
			}
			m.samples = append(m.samples, s)
		}
	}
	if len(m.samples) > meterKept {
		m.samples = slices.Clone(m.samples[len(m.samples)-meterKept/2:])
	}
	m.began = began
	close(m.round)
	m.round = make(chan struct{})
}

// Mark asks for a reading as of now.
func (m *serveMeter) Mark() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Energy is what the widest part of this machine that has a sensor took.
func (m *serveMeter) Energy(from, to time.Time) (endpoint.Energy, bool) {
	m.await(to)
	w := m.window(from, to)
	if w == nil || w.EnergyJ == nil {
		return endpoint.Energy{}, false
	}
	return endpoint.Energy{Joules: *w.EnergyJ, Samples: w.Samples}, true
}

// await waits for readings that began after a moment, but not long.
func (m *serveMeter) await(t time.Time) {
	late := time.NewTimer(meterPatience)
	defer late.Stop()
	for {
		m.mu.Lock()
		there, next := m.began.After(t), m.round
		m.mu.Unlock()
		if there {
			return
		}
		m.Mark()
		select {
		case <-next:
		case <-late.C:
			return
		case <-m.stopped:
			return
		}
	}
}

func (m *serveMeter) window(from, to time.Time) *power.Window {
	m.mu.Lock()
	samples := held(m.samples, to)
	m.mu.Unlock()
	var all []power.Window
	for _, s := range power.SeriesOf(m.channels, samples, m.origin) {
		if c := s.Curve(meterEvery); c != nil {
			all = append(all, c.Energy(from.Sub(m.origin).Nanoseconds(), to.Sub(m.origin).Nanoseconds()))
		}
	}
	return power.Widest(all)
}

// held are the samples, and where the power of a sensor was last read before a
// moment, that reading once more as of then: sensors that can't be asked are
// late, and exo, too, lets the last reading stand at the edges of a request.
func held(samples []power.Sample, to time.Time) []power.Sample {
	type channel struct {
		node, source string
		scope        power.Scope
	}
	out := slices.Clone(samples)
	seen := map[channel]bool{}
	for _, s := range slices.Backward(samples) {
		c := channel{s.Node, s.Source, s.Scope}
		if s.Metric != power.MetricPower || seen[c] {
			continue
		}
		seen[c] = true
		if !s.End.Before(to) || to.Sub(s.End) > meterHeld {
			continue
		}
		if !s.Start.IsZero() {
			s.Start = s.End
		}
		s.End = to
		out = append(out, s)
	}
	return out
}

// System is what was read last.
func (m *serveMeter) System() (endpoint.System, bool) {
	m.mu.Lock()
	samples, now := slices.Clone(m.samples), m.began
	m.mu.Unlock()
	w := m.window(now.Add(-meterShown), now)
	if w == nil || w.MeanW == nil {
		return endpoint.System{}, false
	}
	out := endpoint.System{Power: w.MeanW}
	for _, s := range slices.Backward(samples) {
		switch {
		case now.Sub(s.End) > meterHeld:
		case s.Metric == power.MetricTemperature && out.Temperature == nil:
			out.Temperature = &s.Value
		case s.Metric == power.MetricUsage && s.Scope == power.ScopeGPU && out.GPUUsage == nil:
			out.GPUUsage = &s.Value
		}
	}
	return out, true
}
