package store

import (
	"errors"

	"tokwatt/collect"
)

// samplesValue holds readings by series: what a reading is of stands once, and
// the readings, each a CBOR array, point to it. A day of readings is millions
// of rows that differ in time and value alone.
type samplesValue struct {
	Segment int64       `cbor:"seg"`
	Series  []seriesV1  `cbor:"series"`
	Rows    []readingV1 `cbor:"rows"`
}

type seriesV1 struct {
	Node   string `cbor:"node,omitempty"`
	Source string `cbor:"src,omitempty"`
	Scope  string `cbor:"scope,omitempty"`
	Metric string `cbor:"metric,omitempty"`
	Unit   string `cbor:"unit,omitempty"`
}

type readingV1 struct {
	_       struct{} `cbor:",toarray"`
	Series  int
	StartNS *int64
	EndNS   int64
	Value   float64
}

func samplesOut(s *collect.Samples) samplesValue {
	v := samplesValue{Segment: s.Segment, Rows: make([]readingV1, 0, len(s.Samples))}
	known := map[seriesV1]int{}
	for _, r := range s.Samples {
		of := seriesV1{r.Node, r.Source, r.Scope, r.Metric, r.Unit}
		i, ok := known[of]
		if !ok {
			i = len(v.Series)
			known[of] = i
			v.Series = append(v.Series, of)
		}
		v.Rows = append(v.Rows, readingV1{Series: i, StartNS: r.StartNS, EndNS: r.EndNS, Value: r.Value})
	}
	return v
}

func (v samplesValue) samples() (*collect.Samples, error) {
	s := &collect.Samples{Segment: v.Segment}
	for _, r := range v.Rows {
		if r.Series < 0 || r.Series >= len(v.Series) {
			return nil, errors.New("a reading is of a series that is not there")
		}
		of := v.Series[r.Series]
		s.Samples = append(s.Samples, collect.Sample{Node: of.Node, Source: of.Source, Scope: of.Scope, Metric: of.Metric, Unit: of.Unit,
			StartNS: r.StartNS, EndNS: r.EndNS, Value: r.Value})
	}
	return s, nil
}

func sensorsOut(s *collect.Sensors) sensorsValue {
	v := sensorsValue{sensorsV1: sensorsV1(*s), Channels: make([]channelV1, 0, len(s.Channels))}
	for _, c := range s.Channels {
		v.Channels = append(v.Channels, channelV1(c))
	}
	return v
}

func (v sensorsValue) sensors() *collect.Sensors {
	s := collect.Sensors(v.sensorsV1)
	for _, c := range v.Channels {
		s.Channels = append(s.Channels, collect.Channel(c))
	}
	return &s
}
