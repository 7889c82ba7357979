package analyze

import "tokwatt/collect"

// segmentFacts are the records that are the row of a segment.
type segmentFacts struct {
	segment *collect.Segment
	sensors []*collect.Sensors
	lost    []*collect.Lost
}

func (f *segmentFacts) row(session string) SegmentRow {
	return SegmentRow{SessionID: session, Segment: *f.segment, SensorsJSON: sensorsJSON(f.sensors), LostJSON: lostJSON(f.lost)}
}

type sensorsFacts struct {
	Segment  int64             `json:"-"`
	TargetID int64             `json:"target_id,omitempty"`
	EveryNS  int64             `json:"every_ns,omitempty"`
	Channels []collect.Channel `json:"-"`
}

type channelFacts struct {
	Node      string  `json:"node,omitempty"`
	Source    string  `json:"source,omitempty"`
	Scope     string  `json:"scope,omitempty"`
	Metric    string  `json:"metric,omitempty"`
	Unit      string  `json:"unit,omitempty"`
	RefreshNS int64   `json:"refresh_ns,omitempty"`
	Range     float64 `json:"range,omitempty"`
	Stamped   bool    `json:"stamped,omitempty"`
	Devices   int64   `json:"devices,omitempty"`
	Missing   string  `json:"missing,omitempty"`
	Note      string  `json:"note,omitempty"`
}

type sensorsValue struct {
	sensorsFacts
	Channels []channelFacts `json:"channels"`
}

type lostFacts struct {
	Segment int64  `json:"-"`
	Model   string `json:"model,omitempty"`
	Message string `json:"message"`
}

// sensorsJSON is column sensors_json of a segment.
func sensorsJSON(all []*collect.Sensors) string {
	if len(all) == 0 {
		return ""
	}
	values := make([]sensorsValue, len(all))
	for i, s := range all {
		values[i] = sensorsValue{sensorsFacts(*s), make([]channelFacts, len(s.Channels))}
		for j, c := range s.Channels {
			if finite(&c.Range) == nil {
				c.Range = 0
			}
			values[i].Channels[j] = channelFacts(c)
		}
	}
	return jsonText(values)
}

// SensorsOf are the sensors that column sensors_json of a segment names: none
// without a text.
func SensorsOf(segment int64, text string) ([]*collect.Sensors, error) {
	var values []sensorsValue
	if err := parse("sensors_json", text, &values); err != nil {
		return nil, err
	}
	var out []*collect.Sensors
	for _, v := range values {
		s := collect.Sensors(v.sensorsFacts)
		s.Segment = segment
		for _, c := range v.Channels {
			s.Channels = append(s.Channels, collect.Channel(c))
		}
		out = append(out, &s)
	}
	return out, nil
}

// lostJSON is column lost_json of a segment.
func lostJSON(all []*collect.Lost) string {
	if len(all) == 0 {
		return ""
	}
	values := make([]lostFacts, len(all))
	for i, l := range all {
		values[i] = lostFacts(*l)
	}
	return jsonText(values)
}

// LostOf is what column lost_json of a segment says was not measured: nothing
// without a text.
func LostOf(segment int64, text string) ([]*collect.Lost, error) {
	var values []lostFacts
	if err := parse("lost_json", text, &values); err != nil {
		return nil, err
	}
	var out []*collect.Lost
	for _, v := range values {
		v.Segment = segment
		out = append(out, (*collect.Lost)(&v))
	}
	return out, nil
}
