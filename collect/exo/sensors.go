package exo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tokwatt/power"
)

// sensors are those of the instance's nodes, as far as exo reads them: it has
// them from macmon, about once a second, and none on other systems.
type sensors struct {
	*cluster
	nodes []string // ids
}

var _ power.Source = sensors{}

// Sources are the sensors of the instance's nodes. The other nodes of the
// cluster do not take part.
func (e *engine) Sources() []power.Source {
	return []power.Source{sensors{e.target.cluster, e.target.placement.nodes}}
}

// refresh is how often exo renews its figures; asking faster repeats them.
const refresh = time.Second

// Name is that of the source.
func (s sensors) Name() string { return "exo" }

// OnDemand is false: what is read is up to a second old.
func (s sensors) OnDemand() bool { return false }

// Close has nothing to end.
func (s sensors) Close() error { return nil }

// Probe asks each node once.
func (s sensors) Probe(ctx context.Context) []power.Channel {
	var out []power.Channel
	for _, node := range s.nodes {
		var r readings
		_, err := s.get(ctx, "/state/nodeSystem/"+node, &r)
		name := s.name(node)
		for _, c := range r.channels() {
			if c.value == nil {
				c.Missing, c.Note = power.ReasonNoReading, fmt.Sprintf("exo has no reading of %s: it needs a compatible macmon there", name)
			}
			if err != nil {
				c.Note = fmt.Sprintf("exo can't be asked for the sensors of %s: %v", name, err)
			}
			c.Node, c.Source, c.Refresh = name, "exo", refresh
			out = append(out, c.Channel)
		}
	}
	return out
}

// readings are the node's figures in the state: usages from 0 to 1, degrees
// Celsius, watts of the whole machine.
type readings struct {
	GPU   *float64 `json:"gpuUsage"`
	Temp  *float64 `json:"temp"`
	Power *float64 `json:"sysPower"`
	PCPU  *float64 `json:"pcpuUsage"`
	ECPU  *float64 `json:"ecpuUsage"`
}

// Read asks all nodes at once. Each reading is stamped when it has come. A node
// that exo has no figures of gives none.
func (s sensors) Read(ctx context.Context) ([]power.Sample, error) {
	all := make([][]power.Sample, len(s.nodes))
	errs := make([]error, len(s.nodes))
	var wg sync.WaitGroup
	for i, node := range s.nodes {
		wg.Go(func() {
			var r readings
			if _, errs[i] = s.get(ctx, "/state/nodeSystem/"+node, &r); errs[i] == nil {
				all[i] = r.samples(s.name(node), time.Now())
			}
		})
	}
	wg.Wait()
	var out []power.Sample
	for _, samples := range all {
		out = append(out, samples...)
	}
	if len(out) > 0 {
		return out, nil
	}
	if err := cmp.Or(errs...); err != nil {
		return nil, fmt.Errorf("the nodes can't be asked for their sensors: %w", err)
	}
	return nil, errNoSensors
}

// errNoSensors says why there is no reading.
var errNoSensors = errors.New("exo has no readings of the instance's nodes: it needs a compatible macmon there")

// channel is a quantity and what it reads now.
type channel struct {
	power.Channel
	value *float64 // nil: no reading
}

// channels are all that exo knows of a node. A machine that draws no power or
// is at 0 °C has no sensor.
func (r readings) channels() []channel {
	return []channel{
		{power.Channel{Metric: "gpu_usage", Unit: "ratio"}, r.GPU},
		{power.Channel{Metric: power.MetricTemperature, Unit: "celsius"}, sensed(r.Temp)},
		{power.Channel{Metric: power.MetricPower, Unit: "W", Scope: power.ScopeSystem}, sensed(r.Power)},
		{power.Channel{Metric: "pcpu_usage", Unit: "ratio"}, r.PCPU},
		{power.Channel{Metric: "ecpu_usage", Unit: "ratio"}, r.ECPU},
	}
}

// samples are the readings that are some.
func (r readings) samples(node string, at time.Time) []power.Sample {
	var out []power.Sample
	for _, c := range r.channels() {
		if c.value != nil {
			out = append(out, power.Sample{Node: node, Source: "exo", Scope: c.Scope, Metric: c.Metric, Unit: c.Unit, End: at, Value: *c.value})
		}
	}
	return out
}

// sensed is v, or nil where it is the 0 of a sensor that is not there.
func sensed(v *float64) *float64 {
	if v == nil || *v == 0 {
		return nil
	}
	return v
}
