package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"tokwatt/collect"
)

// exoMetrics are the metrics of system_metrics in their order, and what our
// samples call them.
var exoMetrics = [...]struct {
	name   string
	metric string
	scope  string // empty: any
}{
	{"gpuUsage", "gpu_usage", ""},
	{"temp", "temperature", ""},
	{"sysPower", "power", "system"},
	{"pcpuUsage", "pcpu_usage", ""},
	{"ecpuUsage", "ecpu_usage", ""},
}

// exoSource is the source of the samples that exo takes on its nodes.
const exoSource = "exo"

// exoNodes sums up the samples of exo's nodes. A node that a later placement
// uses too begins anew: exo-bench keeps the last. The segments of a resumed
// session go on with a placement.
type exoNodes struct {
	target    *collect.TargetInfo
	placement string            // the target's
	ignored   bool              // it was there before the run, and exo-bench reads no sensors then
	ids       map[string]string // node id by the name in samples
	nodes     []*exoNode        // in the order of their first samples
	byID      map[string]*exoNode
}

// exoNode is what is known of a node.
type exoNode struct {
	id        string
	placement string
	series    [len(exoMetrics)]series
}

// placed says that the samples that follow are of placement t. A target that a
// resumed run goes on with has no record of its own there, but batches, and
// samples come behind those.
func (x *exoNodes) placed(t *collect.TargetInfo) {
	if t == x.target {
		return
	}
	x.target = t
	x.placement = strings.Join(append([]string{t.ModelID, t.Sharding, t.InstanceMeta}, t.Nodes...), "\x00")
	x.ignored = reused(t)
	if t.Cluster != "" {
		x.ids = nodeIDs(t.Cluster)
	}
}

// nodeIDs are the ids of the nodes of a cluster by the names in samples, as
// exo's driver makes them: the friendly name, with a number behind it for all
// but the first of those that share it, in the order of their ids. A node
// without a name is known by its id.
func nodeIDs(cluster string) map[string]string {
	var c struct {
		Nodes map[string]struct {
			Name string `json:"friendlyName"`
		} `json:"nodeIdentities"`
	}
	if json.Unmarshal([]byte(cluster), &c) != nil {
		return nil
	}
	ids := map[string]string{}
	times := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(c.Nodes)) {
		name := c.Nodes[id].Name
		times[name]++
		if n := times[name]; n > 1 {
			name = fmt.Sprintf("%s (%d)", name, n)
		}
		ids[name] = id
	}
	return ids
}

func (x *exoNodes) add(samples []collect.Sample) {
	if x.ignored {
		return
	}
	for i := range samples {
		s := &samples[i]
		if s.Source != exoSource || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
			continue
		}
		for m, want := range exoMetrics {
			if s.Metric == want.metric && (want.scope == "" || s.Scope == want.scope) {
				x.node(s.Node).series[m].add(s.Value)
			}
		}
	}
}

// node is the node of a sample, empty where it is the first of its placement.
func (x *exoNodes) node(name string) *exoNode {
	id := name
	if known := x.ids[name]; known != "" {
		id = known
	}
	n := x.byID[id]
	if n == nil {
		n = &exoNode{id: id}
		x.nodes = append(x.nodes, n)
		if x.byID == nil {
			x.byID = map[string]*exoNode{}
		}
		x.byID[id] = n
	}
	if n.placement != x.placement {
		*n = exoNode{id: id, placement: x.placement}
	}
	return n
}

// MarshalJSON is system_metrics, {} where there were no samples.
func (x *exoNodes) MarshalJSON() ([]byte, error) {
	nodes := make(members, len(x.nodes))
	for i, n := range x.nodes {
		var metrics members
		for m := range n.series {
			if s := &n.series[m]; s.n > 0 {
				metrics = append(metrics, member{exoMetrics[m].name, s})
			}
		}
		nodes[i] = member{n.id, metrics}
	}
	return json.Marshal(nodes)
}

// series is the values of one metric on one node.
type series struct {
	n        int64
	min, max float64
	sum      big.Float // exact
}

// exactBits hold any sum of float64: their exponents span 2,098 bits, and each
// doubling of the number of values adds one.
const exactBits = 2098 + 64

func (s *series) add(v float64) {
	if s.n == 0 {
		s.min, s.max = v, v
		s.sum.SetPrec(exactBits)
	}
	s.n++
	s.min, s.max = min(s.min, v), max(s.max, v)
	s.sum.Add(&s.sum, big.NewFloat(v))
}

// mean is the float64 nearest to the true mean, as Python's statistics.mean:
// one sum that is a bit off turns 0.175 from 0.17 into 0.18.
func (s *series) mean() float64 {
	n := new(big.Float).SetInt64(s.n)
	m, _ := new(big.Float).SetPrec(53).Quo(&s.sum, n).Float64()
	return m
}

// MarshalJSON gives min, max and mean to two places, as exo-bench does.
func (s *series) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Min     exoFloat `json:"min"`
		Max     exoFloat `json:"max"`
		Mean    exoFloat `json:"mean"`
		Samples int64    `json:"samples"`
	}{cents(s.min), cents(s.max), cents(s.mean()), s.n})
}

// members is an object whose members have an order.
type members []member

type member struct {
	name  string
	value any
}

// MarshalJSON keeps the order.
func (ms members) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			text = append(text, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}
