package analyze

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tokwatt/collect"
	"tokwatt/power"
)

// PowerSession is one session as its sensors saw it: the power of each sensor
// over time, and what ran meanwhile. Times are in ns from the origin of their
// segment's clock.
type PowerSession struct {
	SessionID string
	Host      string
	Segments  []PowerSegment
	Targets   []PowerTarget
	Traces    []PowerTrace
	Batches   []PowerBatch // in order of time, warm-ups included
	Idle      []PowerIdle
}

// PowerSegment is one process run of the session.
type PowerSegment struct {
	Segment   int64
	StartedAt time.Time // of its clock's origin
	Channels  PowerChannels
}

// PowerTarget names what was measured.
type PowerTarget struct {
	TargetID      int64
	Engine        string
	EngineVersion string
	ModelID       string
	Quantization  string
}

// PowerBatch is when a batch ran, and when its outputs began.
type PowerBatch struct {
	Segment, TargetID, CaseID, BatchID int64
	StartNS, EndNS                     int64
	Warmup                             bool
	PP                                 *int64
	TG, Concurrency                    int64
	// The first output of the first stream and that of the last; nil where the
	// client did not see one of every stream.
	FirstNS, LastNS *int64
}

// PowerIdle is a quiet window before a target's first request.
type PowerIdle struct {
	Segment, TargetID int64
	StartNS, EndNS    int64
}

// PowerTrace is the power of one sensor in one segment.
type PowerTrace struct {
	Segment             int64
	Node, Source, Scope string
	Channel             *PowerChannel   // what is known of it beside its readings; nil: nothing
	Counter, Instant    bool            // how it was read; neither: averages
	Stretches           []power.Stretch // in order of time
	Readings            int             // that renewed the sensor
	Rejected            int             // that could not be true
}

// PowerChannel is what was said of a channel before it was read.
type PowerChannel = power.CurveOptions

// PowerChannels are the channels that column sensors_json of a segment declares.
type PowerChannels struct {
	host string
	all  []*collect.Sensors
}

// NewPowerChannels reads the column of a segment of a session of host.
func NewPowerChannels(host string, segment int64, text string) (PowerChannels, error) {
	all, err := SensorsOf(segment, text)
	return PowerChannels{host, all}, err
}

// Of is what the newest declaration says of the channel that a trace is of; nil
// where there is none.
func (p PowerChannels) Of(t PowerTrace, metric string) *PowerChannel {
	for _, s := range slices.Backward(p.all) {
		for _, c := range slices.Backward(s.Channels) {
			if cmp.Or(c.Node, p.host) == t.Node && c.Source == t.Source && c.Scope == t.Scope && c.Metric == metric {
				return &PowerChannel{Nominal: time.Duration(s.EveryNS), Refresh: time.Duration(c.RefreshNS), Range: c.Range, Stamped: c.Stamped, Devices: int(c.Devices)}
			}
		}
	}
	return nil
}

// PowerReading is one reading of a channel.
type PowerReading = power.Reading

// mostDevices is how many devices readings may be the sum of where nobody said
// how many there are: it bounds what can be true.
const mostDevices = 16

// NewPowerTrace makes the trace of a channel's readings, in any order: t says
// whose they are. The area under it is the energy that table energy has of the
// same time. It is nil where the metric says nothing of power.
func NewPowerTrace(t PowerTrace, metric string, readings []PowerReading) *PowerTrace {
	kind, ok := power.KindOf(power.Metric(metric), readings)
	if !ok {
		return nil
	}
	known := PowerChannel{Devices: mostDevices}
	if t.Channel != nil {
		known = *t.Channel
	}
	known.Scope = power.Scope(t.Scope)
	curve := power.NewCurve(kind, known, readings)
	always := curve.Energy(math.MinInt64, math.MaxInt64)
	t.Counter, t.Instant = kind == power.Counter, kind == power.Instant
	t.Stretches = slices.Collect(curve.Stretches())
	t.Readings, t.Rejected = int(always.Samples), int(always.Rejected)
	return &t
}
