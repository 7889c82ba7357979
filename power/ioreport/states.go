package ioreport

import (
	"slices"
	"strings"
	"time"

	"tokwatt/power"
)

// shortest span over which residencies are compared. Readings at the first
// token may follow a regular one at once; what a core did in that millisecond
// is the jitter of the readings.
const shortest = 50 * time.Millisecond

// spent is what a block's cores did in a span, in ticks added over cores.
type spent struct {
	total, active int64
	cycles        float64 // MHz × ticks while active
	clocked       bool    // cycles are known
}

func (s spent) usage() float64 { return float64(s.active) / float64(s.total) }

// meter turns the residencies of a block's cores into utilisation and clocks.
type meter struct {
	scope   power.Scope
	prefix  string // before the metrics' names: "pcpu_"
	cores   []core
	top     float64 // MHz, of the fastest state; 0: not known
	started bool
	moved   time.Time // when residencies last changed
}

// core is one channel: one CPU core, or the GPU.
type core struct {
	index  int
	active []int     // which of its states are
	clocks []float64 // MHz of each of those; nil: not known
	before []int64
}

func newMeter(scope power.Scope, prefix string, tables [][]float64) *meter {
	m := &meter{scope: scope, prefix: prefix}
	for _, t := range tables {
		m.top = max(m.top, t[len(t)-1])
	}
	return m
}

func (m *meter) add(index int, c channel, tables [][]float64) {
	k := core{index: index, before: make([]int64, len(c.states))}
	for i, state := range c.states {
		if !idle(state) {
			k.active = append(k.active, i)
		}
	}
	k.clocks = clocksFor(tables, len(k.active))
	m.cores = append(m.cores, k)
}

// meters builds those of a list of channels: the GPU, and each tier of cores.
func meters(channels []channel, p pmgr) []*meter {
	byTier := map[string][]int{}
	gpu := newMeter(power.ScopeGPU, "", p.gpu())
	for i, c := range channels {
		switch {
		case c.group == groupGPU && c.subgroup == subgroupGPU && c.name == gpuStates:
			gpu.add(i, c, p.gpu())
		case c.group == groupCPU && c.subgroup == subgroupCPU && tierOf(c.name) != "":
			byTier[tierOf(c.name)] = append(byTier[tierOf(c.name)], i)
		}
	}
	out := []*meter{gpu}
	var tiers []string
	for _, tier := range []string{"E", "M", "P"} { // in order of speed
		if byTier[tier] != nil {
			tiers = append(tiers, tier)
		}
	}
	for _, tier := range tiers {
		tables := p.cpu(tier, strings.Join(tiers, ""))
		m := newMeter(power.ScopeCPU, strings.ToLower(tier)+"cpu_", tables)
		for _, i := range byTier[tier] {
			m.add(i, channels[i], tables)
		}
		out = append(out, m)
	}
	return out
}

// take compares s with the snapshot before. There is nothing to say of a first
// one, of one where a residency has fallen, and where none has moved.
func (m *meter) take(s *snapshot) (spent, bool) {
	var sum spent
	sum.clocked = true
	fell := false
	for i := range m.cores {
		c := &m.cores[i]
		now := s.readings[c.index].states
		if len(now) != len(c.before) {
			return spent{}, false
		}
		for j, t := range now {
			fell = fell || t < c.before[j]
			sum.total += t - c.before[j]
		}
		for k, j := range c.active {
			t := now[j] - c.before[j]
			sum.active += t
			if c.clocks != nil {
				sum.cycles += float64(t) * c.clocks[k]
			}
		}
		sum.clocked = sum.clocked && c.clocks != nil
		copy(c.before, now)
	}
	first := !m.started
	m.started = true
	if first || sum.total != 0 {
		m.moved = s.at
	}
	return sum, !first && !fell && sum.total > 0
}

// samples are a meter's figures for the span.
func (m *meter) samples(s spent, start, end time.Time, out []power.Sample) []power.Sample {
	out = append(out, m.sample(power.MetricUsage, "ratio", start, end, s.usage()))
	if s.clocked && s.active > 0 {
		out = append(out, m.sample(power.MetricFrequency, "MHz", start, end, s.cycles/float64(s.active)))
	}
	if m.top > 0 {
		out = append(out, m.sample(power.MetricFrequencyMax, "MHz", time.Time{}, end, m.top))
	}
	return out
}

func (m *meter) sample(metric power.Metric, unit string, start, end time.Time, v float64) power.Sample {
	return power.Sample{Source: name, Scope: m.scope, Metric: power.Metric(m.prefix) + metric, Unit: unit, Start: start, End: end, Value: v}
}

// channels says what of a meter can be read.
func (m *meter) channels(now time.Time) []power.Channel {
	usage := power.Channel{Source: name, Scope: m.scope, Metric: power.Metric(m.prefix) + power.MetricUsage, Unit: "ratio"}
	clock, top := usage, usage
	clock.Metric, clock.Unit = power.Metric(m.prefix)+power.MetricFrequency, "MHz"
	top.Metric, top.Unit = power.Metric(m.prefix)+power.MetricFrequencyMax, "MHz"
	switch {
	case len(m.cores) == 0:
		usage.Missing, usage.Note = power.ReasonNoChannel, "IOReport has no performance states for it"
	case m.started && now.Sub(m.moved) > silence:
		usage.Missing, usage.Note = power.ReasonFrozen, "its performance states have not moved for over 10 s"
	}
	clock.Missing, clock.Note = usage.Missing, usage.Note
	if clock.Missing == "" && slices.ContainsFunc(m.cores, func(c core) bool { return c.clocks == nil }) {
		clock.Missing, clock.Note = power.ReasonNoChannel, "the chip's clock tables don't have as many rows as there are active states"
	}
	if m.top == 0 {
		top.Missing, top.Note = power.ReasonNoChannel, "the power manager has no clock table for it"
	}
	return []power.Channel{usage, clock, top}
}
