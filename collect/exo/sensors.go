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

// Name is that of the source.
func (s sensors) Name() string { return "exo" }

// Probe says what exo has of each node now.
func (s sensors) Probe(ctx context.Context) []power.Channel {
	out := make([]power.Channel, 0, len(s.nodes))
	for _, node := range s.nodes {
		c := power.Channel{Node: s.name(node), Source: s.Name(), Scope: power.ScopeSystem, Metric: power.MetricPower, Unit: "W", Refresh: time.Second}
		var r readings
		if _, err := s.get(ctx, "/state/nodeSystem/"+node, &r); err != nil || sensed(r.Power) == nil {
			c.Missing, c.Note = power.ReasonNoReading, "exo has no power of this node: it reads it from macmon, which must run there"
		}
		out = append(out, c)
	}
	return out
}

// OnDemand is false: exo's figures are up to a second old.
func (s sensors) OnDemand() bool { return false }

// Close has nothing to end.
func (s sensors) Close() error { return nil }

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

// samples are the readings that are some. A machine that draws no power or is
// at 0 °C has no sensor.
func (r readings) samples(node string, at time.Time) []power.Sample {
	var out []power.Sample
	add := func(metric, unit string, scope power.Scope, v *float64) {
		if v != nil {
			out = append(out, power.Sample{Node: node, Source: "exo", Scope: scope, Metric: power.Metric(metric), Unit: unit, End: at, Value: *v})
		}
	}
	add("gpu_usage", "ratio", "", r.GPU)
	add("temperature", "celsius", "", sensed(r.Temp))
	add("power", "W", power.ScopeSystem, sensed(r.Power))
	add("pcpu_usage", "ratio", "", r.PCPU)
	add("ecpu_usage", "ratio", "", r.ECPU)
	return out
}

// sensed is v, or nil where it is the 0 of a sensor that is not there.
func sensed(v *float64) *float64 {
	if v == nil || *v == 0 {
		return nil
	}
	return v
}
