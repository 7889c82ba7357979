package main

import (
	"time"

	"tokwatt/power"
)

// powerDocument is one reading of all sensors.
type powerDocument struct {
	At       time.Time      `json:"at"` // UTC
	Host     string         `json:"host"`
	Sources  []powerSource  `json:"sources"`
	Channels []powerChannel `json:"channels"`
}

type powerSource struct {
	Name     string `json:"name"`
	OnDemand bool   `json:"on_demand"`
}

// powerChannel is one quantity. Where there is no figure, or no power of a
// counter, reason says why, in the words of column energy_null_reason, and note
// the same for people.
type powerChannel struct {
	Source   string       `json:"source"`
	Node     string       `json:"node"` // empty: this machine
	Scope    power.Scope  `json:"scope"`
	Metric   power.Metric `json:"metric"`
	Unit     string       `json:"unit"`
	Value    *float64     `json:"value"`
	PowerW   *float64     `json:"power_w"`   // of a power, and of a counter of energy since the reading before
	AverageS *float64     `json:"average_s"` // how long an average is over; null: an instant, a counter
	RefreshS *float64     `json:"refresh_s"` // how often it is renewed; null: not known, or by reading it
	Devices  int          `json:"devices"`   // whose sum it is
	Reason   power.Reason `json:"reason"`
	Note     string       `json:"note"`
}

func (m *meter) document(host string) powerDocument {
	doc := powerDocument{At: m.now.UTC().Truncate(time.Millisecond), Host: host, Sources: []powerSource{}, Channels: []powerChannel{}}
	for _, r := range m.readers {
		doc.Sources = append(doc.Sources, powerSource{r.Name(), r.OnDemand()})
	}
	for _, g := range m.gauges {
		doc.Channels = append(doc.Channels, g.document(m.now))
	}
	return doc
}

func (g *gauge) document(now time.Time) powerChannel {
	c := powerChannel{Source: g.Source, Node: g.Node, Scope: g.Scope, Metric: g.Metric, Unit: g.Unit, Devices: max(g.Devices, 1), Note: g.Note}
	if s := g.Refresh.Seconds(); s > 0 {
		c.RefreshS = &s
	}
	if reason, note := g.null(now); reason != "" {
		c.Reason, c.Note = reason, note
	}
	if !g.fresh(now) {
		return c
	}
	c.Value = &g.newest.Value
	switch {
	case g.Metric == power.MetricPower:
		c.PowerW = c.Value
	case g.Metric == power.MetricEnergy:
		c.PowerW = g.watts
	}
	if !g.newest.Start.IsZero() {
		s := g.newest.End.Sub(g.newest.Start).Seconds()
		c.AverageS = &s
	}
	return c
}
