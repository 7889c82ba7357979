package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tokwatt/power"
	sensors "tokwatt/power/local"
)

// meter reads sources round by round and keeps the newest of each channel.
type meter struct {
	interval time.Duration
	readers  []*reader
	gauges   []*gauge
	now      time.Time // of the newest round
}

// reader is a source that may be late: one reading at a time.
type reader struct {
	power.Source
	busy bool
	got  chan []power.Sample
}

// gauge is a channel and what it last read.
type gauge struct {
	power.Channel
	newest power.Sample // End is zero: nothing yet
	watts  *float64     // of a counter, since the reading before
	stale  time.Duration
}

func newMeter(ctx context.Context, sources []power.Source, interval time.Duration) *meter {
	m := &meter{interval: interval, now: time.Now()}
	for _, s := range sources {
		m.readers = append(m.readers, &reader{Source: s, got: make(chan []power.Sample, 1)})
		for _, c := range s.Probe(ctx) {
			if c.Source == "" {
				c.Source = s.Name()
			}
			m.gauges = append(m.gauges, &gauge{Channel: c, stale: max(3*time.Second, 3*max(interval, c.Refresh))})
		}
	}
	return m
}

// hopeful reports whether there is power to be read.
func (m *meter) hopeful() bool {
	return slices.ContainsFunc(m.gauges, func(g *gauge) bool { return sensors.Readable([]power.Channel{g.Channel}) })
}

// patience is how long a first reading of everything may take.
func (m *meter) patience() time.Duration {
	longest := m.interval
	for _, g := range m.gauges {
		if g.Missing == "" {
			longest = max(longest, g.Refresh)
		}
	}
	return min(2*longest+time.Second, max(m.interval, 6*time.Second))
}

// round reads all sources once and waits for them no longer than an interval.
// Those that are still at an earlier round are not waited for again.
func (m *meter) round(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, m.interval)
	defer cancel()
	var started []*reader
	for _, r := range m.readers {
		if r.busy {
			m.poll(r)
			continue
		}
		r.busy = true
		started = append(started, r)
		go func() {
			samples, _ := r.Read(ctx) // what can't be read shows as missing
			r.got <- samples
		}()
	}
	for _, r := range started {
		select {
		case samples := <-r.got:
			m.take(r, samples)
		case <-limited.Done():
			m.poll(r)
		}
	}
	m.now = time.Now()
}

// poll takes what a reader has, if it has come back.
func (m *meter) poll(r *reader) {
	select {
	case samples := <-r.got:
		m.take(r, samples)
	default:
	}
}

func (m *meter) take(r *reader, samples []power.Sample) {
	r.busy = false
	for _, s := range samples {
		if s.Source == "" {
			s.Source = r.Name()
		}
		if s.End.IsZero() {
			s.End = time.Now()
		}
		for _, g := range m.gauges {
			if g.Source == s.Source && g.Scope == s.Scope && g.Metric == s.Metric && g.Node == s.Node {
				g.add(s)
			}
		}
	}
}

// add takes a sample.
func (g *gauge) add(s power.Sample) {
	before := g.newest
	g.newest = s
	if g.Metric != power.MetricEnergy || before.End.IsZero() {
		return
	}
	joules, span := s.Value-before.Value, s.End.Sub(before.End)
	if joules < 0 && g.Range > 0 {
		joules += g.Range
	}
	switch {
	case span <= 0: // the same reading again
	case joules < 0:
		g.watts = nil
	default:
		w := joules / span.Seconds()
		g.watts = &w
	}
}

// fresh reports whether the newest sample still says something.
func (g *gauge) fresh(now time.Time) bool {
	return !g.newest.End.IsZero() && now.Sub(g.newest.End) <= g.stale
}

// null says why there is no figure as of now; empty: there is one.
func (g *gauge) null(now time.Time) (reason power.Reason, note string) {
	switch {
	case g.newest.End.IsZero() && g.Missing != "":
		return g.Missing, g.Note
	case g.newest.End.IsZero():
		return power.ReasonNoReading, "it has given nothing yet"
	case !g.fresh(now):
		return power.ReasonNoReading, fmt.Sprintf("nothing new for %v", now.Sub(g.newest.End).Round(time.Second))
	case g.Metric == power.MetricEnergy && g.watts == nil:
		return power.ReasonNoReading, "a counter needs two readings"
	}
	return "", ""
}

// shown is the figure as people see it: of a counter, its power. Where null has
// a reason, the value says nothing.
func (g *gauge) shown() (metric power.Metric, value float64, unit string) {
	switch {
	case g.Metric != power.MetricEnergy:
		return g.Metric, g.newest.Value, g.Unit
	case g.watts != nil:
		value = *g.watts
	}
	return power.MetricPower, value, "W"
}

// complete reports whether every channel that can be read has a figure.
func (m *meter) complete() bool {
	return !slices.ContainsFunc(m.gauges, func(g *gauge) bool {
		reason, _ := g.null(m.now)
		return reason != "" && g.Missing == ""
	})
}

// power reports whether any power was read.
func (m *meter) power() bool {
	return slices.ContainsFunc(m.gauges, func(g *gauge) bool {
		reason, _ := g.null(m.now)
		metric, _, _ := g.shown()
		return reason == "" && metric == power.MetricPower
	})
}

// table is all of it, a line each.
func (m *meter) table() []string {
	var b bytes.Buffer
	t := newTable(&b, "source", "scope", "metric", "value", "unit", "")
	rightAligned(t, 4)
	for _, g := range m.gauges {
		metric, value, unit := g.shown()
		figure := sig(value)
		reason, _ := g.null(m.now)
		if reason != "" {
			figure = "–"
		}
		t.AppendRow([]any{clip(g.Source, 14), scopeOf(g.Channel), clip(string(metric), 14), figure, unit, string(reason)})
	}
	t.Render()
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// line is what can be read, in one line.
func (m *meter) line(at time.Time) string {
	out := at.Local().Format(time.TimeOnly)
	for _, g := range m.gauges {
		reason, _ := g.null(m.now)
		if g.Missing != "" && reason != "" {
			continue
		}
		metric, value, unit := g.shown()
		figure := sig(value) + " " + unit
		if reason != "" {
			figure = "–"
		}
		out += "  " + strings.TrimSpace(string(g.Scope)+" "+named(metric)+figure)
	}
	return out
}

// named is a metric in front of its figure; power goes without saying.
func named(metric power.Metric) string {
	if metric == power.MetricPower {
		return ""
	}
	return string(metric) + " "
}
