package power

import "time"

// Reading is one reading of a channel on a clock of nanoseconds that never
// steps: as the store has them, or live ones put on a clock by [SeriesOf].
type Reading struct {
	StartNS *int64 // nil: a reading of one instant; else Value is the average since then
	EndNS   int64
	Value   float64 // W; J of a counter; NaN: there was something, but no number
}

// Kind says what the readings of a channel are.
type Kind uint8

// The kinds. Counters and averages bound the energy, instants can't: nobody
// saw what happened between two of them.
const (
	Counter Kind = iota + 1 // J since an origin of the sensor's own
	Average                 // W from StartNS to EndNS
	Instant                 // W at EndNS
)

// KindOf tells the kind of a channel's readings; ok is false where the metric
// says nothing of energy. Power is an average where any reading has a start:
// then one without can't be placed.
func KindOf(metric Metric, readings []Reading) (kind Kind, ok bool) {
	switch metric {
	case MetricEnergy:
		return Counter, true
	case MetricPower:
		for _, r := range readings {
			if r.StartNS != nil {
				return Average, true
			}
		}
		return Instant, true
	}
	return 0, false
}

// Series is the readings of one channel, in any order.
type Series struct {
	Channel  Channel
	Readings []Reading
}

// Curve is the energy over time of the series, nil if its metric says nothing
// of energy. Nominal is the interval at which it was read, 0 if not known.
func (s Series) Curve(nominal time.Duration) *Curve {
	kind, ok := KindOf(s.Channel.Metric, s.Readings)
	if !ok {
		return nil
	}
	c := NewCurve(kind, CurveOptions{
		Nominal: nominal,
		Refresh: s.Channel.Refresh,
		Range:   s.Channel.Range,
		Scope:   s.Channel.Scope,
		Stamped: s.Channel.Stamped,
		Devices: s.Channel.Devices,
	}, s.Readings)
	c.node, c.source = s.Channel.Node, s.Channel.Source
	return c
}

// seriesKey is what tells one channel from another.
type seriesKey struct {
	node, source string
	scope        Scope
	metric       Metric
}

// SeriesOf sorts samples by channel, with times counted from origin, which
// must carry a monotonic reading as the samples do: then a step of the wall
// clock moves nothing. What channels says of a channel is kept. The series
// come in the order of their first sample.
func SeriesOf(channels []Channel, samples []Sample, origin time.Time) []Series {
	known := make(map[seriesKey]Channel, len(channels))
	for _, c := range channels {
		known[seriesKey{c.Node, c.Source, c.Scope, c.Metric}] = c
	}
	at := map[seriesKey]int{}
	var out []Series
	for _, s := range samples {
		key := seriesKey{s.Node, s.Source, s.Scope, s.Metric}
		i, ok := at[key]
		if !ok {
			c, ok := known[key]
			if !ok {
				c = Channel{Node: s.Node, Source: s.Source, Scope: s.Scope, Metric: s.Metric, Unit: s.Unit}
			}
			i = len(out)
			at[key] = i
			out = append(out, Series{Channel: c})
		}
		out[i].Readings = append(out[i].Readings, s.reading(origin))
	}
	return out
}

func (s Sample) reading(origin time.Time) Reading {
	r := Reading{EndNS: s.End.Sub(origin).Nanoseconds(), Value: s.Value}
	if !s.Start.IsZero() {
		start := s.Start.Sub(origin).Nanoseconds()
		r.StartNS = &start
	}
	return r
}
