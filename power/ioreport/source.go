package ioreport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tokwatt/power"
)

// name is what samples call their source.
const name = "ioreport"

// Source is a Mac's sensors. A reading takes 3 to 7 ms, nearly all of it in
// the drivers. It may be used from several goroutines, one after the other.
//
// Energy samples are counters: Value joules at End, the instant that the driver
// gave with it, which may be seconds before the reading. A counter that has not
// been published since gives no sample. Samples of [power.MetricPower] in scope
// system are readings of an instant; utilisation and clocks are averages since
// the reading before.
type Source struct {
	open func() (*machine, error)

	mu     sync.Mutex
	m      *machine
	opened bool
	failed error // why it could not be opened

	snap       snapshot
	generation int // of the channels that rails and meters are for
	rails      []*rail
	meters     []*meter
	statesAt   time.Time // up to which residencies have been compared
	noReports  error     // why the last reading of IOReport failed
	heat       *heat
	gauges     []*gauge

	pending []power.Sample // read by Probe
	points  []point        // memory
}

var _ power.Source = (*Source)(nil)

// New returns the sensors of this machine. Whether it has any, Probe says.
func New() *Source { return newSource(openMachine) }

func newSource(open func() (*machine, error)) *Source { return &Source{open: open} }

// Name implements power.Source.
func (s *Source) Name() string { return name }

// OnDemand implements power.Source. Rails whose channel has a Refresh are
// renewed when their driver likes, all others by the reading.
func (s *Source) OnDemand() bool { return true }

// Probe implements power.Source. It takes a reading, and says what can be read
// as of now: a rail that froze since is missing in the next Probe.
func (s *Source) Probe(ctx context.Context) []power.Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(ctx); err != nil {
		return absent(err)
	}
	s.pending = s.take(s.pending)
	out := s.energyChannels()
	for _, g := range s.gauges {
		out = append(out, g.channel())
	}
	out = append(out, s.usageChannels()...)
	out = append(out, s.heat.channels(s.m)...)
	if s.m.virtual {
		for i := range out {
			if out[i].Missing == power.ReasonNoChannel {
				out[i].Missing, out[i].Note = power.ReasonVM, "virtual machines have no such sensor"
			}
		}
	}
	return out
}

// Read implements power.Source.
func (s *Source) Read(ctx context.Context) ([]power.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	out := s.take(s.pending)
	s.pending = nil
	if len(out) > 0 {
		return out, nil
	}
	errs := []error{s.noReports}
	for _, g := range s.gauges {
		errs = append(errs, g.err)
	}
	return nil, errors.Join(errs...)
}

// Close implements power.Source.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m != nil {
		for _, f := range s.m.closers {
			f()
		}
	}
	s.m, s.opened, s.failed = nil, true, errors.New("the sensors are closed")
	return nil
}

// start opens the machine, once.
func (s *Source) start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.opened {
		return s.failed
	}
	s.opened = true
	m, err := s.open()
	if err != nil {
		s.failed = err
		return err
	}
	s.m, s.snap.ticks, s.noReports = m, m.ticks, m.noReports
	s.build()
	s.heat, s.gauges = newHeat(m), gauges(m)
	return nil
}

// build makes rails and meters for the channels that there are.
func (s *Source) build() {
	s.generation = s.snap.generation
	s.rails, s.statesAt = nil, time.Time{}
	for _, spec := range rails() {
		s.rails = append(s.rails, newRail(spec, s.snap.channels))
	}
	s.meters = meters(s.snap.channels, s.m.property)
}

// take reads everything once and appends what is new to out.
func (s *Source) take(out []power.Sample) []power.Sample {
	if s.m.reports != nil {
		if s.noReports = s.m.reports.read(&s.snap); s.noReports == nil {
			if s.snap.generation != s.generation {
				s.build()
			}
			out = s.states(s.energies(out))
		}
	}
	for _, g := range s.gauges {
		out = g.sample(out)
	}
	return s.heat.read(s.m, out)
}

func (s *Source) energies(out []power.Sample) []power.Sample {
	for _, r := range s.rails {
		s.points = r.take(&s.snap, s.points[:0])
		for _, p := range s.points {
			out = append(out, power.Sample{Source: name, Scope: r.scope, Metric: r.metric, Unit: "J", End: s.snap.time(p.tick), Value: p.joules})
		}
	}
	return out
}

// states adds each meter's figures, and the CPU's over all kinds of its cores.
func (s *Source) states(out []power.Sample) []power.Sample {
	start, end := s.statesAt, s.snap.at
	if !start.IsZero() && end.Sub(start) < shortest {
		return out
	}
	s.statesAt = end
	var cpu spent
	whole := true
	for _, m := range s.meters {
		span, ok := m.take(&s.snap)
		if ok {
			out = m.samples(span, start, end, out)
		}
		if m.scope == power.ScopeCPU {
			cpu.total += span.total
			cpu.active += span.active
			whole = whole && ok
		}
	}
	if whole && cpu.total > 0 {
		out = append(out, power.Sample{Source: name, Scope: power.ScopeCPU, Metric: power.MetricUsage, Unit: "ratio", Start: start, End: end, Value: cpu.usage()})
	}
	return out
}

func (s *Source) energyChannels() []power.Channel {
	var out []power.Channel
	for _, r := range s.rails {
		c := power.Channel{Source: name, Scope: r.scope, Metric: r.metric, Unit: "J"}
		err := s.noReports
		if err == nil {
			if err = r.state(&s.snap); err == nil {
				c.Refresh, c.Stamped = r.refresh(&s.snap), r.stamped()
			}
		}
		if err != nil {
			c.Missing, c.Note = reasonOf(err), err.Error()
		}
		out = append(out, c)
	}
	return out
}

func (s *Source) usageChannels() []power.Channel {
	cpu := power.Channel{Source: name, Scope: power.ScopeCPU, Metric: power.MetricUsage, Unit: "ratio", Missing: power.ReasonNoChannel, Note: "IOReport has no performance states for it"}
	var out []power.Channel
	for _, m := range s.meters {
		list := m.channels(s.snap.at)
		out = append(out, list...)
		if m.scope == power.ScopeCPU && (cpu.Missing == power.ReasonNoChannel || list[0].Missing != "") {
			cpu.Missing, cpu.Note = list[0].Missing, list[0].Note
		}
	}
	out = append(out, cpu)
	if s.noReports != nil {
		for i := range out {
			out[i].Missing, out[i].Note = reasonOf(s.noReports), s.noReports.Error()
		}
	}
	return out
}

// absent is what a machine without any of it has: each quantity, missing.
func absent(err error) []power.Channel {
	var out []power.Channel
	add := func(scope power.Scope, metric power.Metric, unit string) {
		out = append(out, power.Channel{Source: name, Scope: scope, Metric: metric, Unit: unit, Missing: reasonOf(err), Note: err.Error()})
	}
	for _, spec := range rails() {
		add(spec.scope, spec.metric, "J")
	}
	add(power.ScopeSystem, power.MetricPower, "W")
	add("", power.MetricPressure, "level")
	for _, scope := range []power.Scope{power.ScopeGPU, power.ScopeCPU} {
		add(scope, power.MetricUsage, "ratio")
		add(scope, power.MetricTemperature, "celsius")
	}
	add(power.ScopeGPU, power.MetricFrequency, "MHz")
	add(power.ScopeGPU, power.MetricFrequencyMax, "MHz")
	return out
}

// reasonOf is the word for an error.
func reasonOf(err error) power.Reason {
	var m *missingError
	if errors.As(err, &m) {
		return m.reason
	}
	return power.ReasonNoChannel
}

// noChannel wraps what failed into a missingError.
func noChannel(format string, args ...any) error {
	return missing(power.ReasonNoChannel, fmt.Sprintf(format, args...))
}

// noReading says that there is nothing at the moment.
func noReading(note string) error { return missing(power.ReasonNoReading, note) }
