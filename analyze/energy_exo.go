package analyze

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tokwatt/collect"
)

// exoUsage is what exo says of power in a report: the average of its samples
// of the whole machine, for each node that it knows, while a request ran.
type exoUsage struct {
	Elapsed float64   `json:"elapsed_seconds"`
	TotalJ  float64   `json:"total_energy_joules"`
	Nodes   []exoNode `json:"nodes"`
}

type exoNode struct {
	ID       string   `json:"node_id"`
	Samples  *int64   `json:"samples"`
	AvgW     *float64 `json:"avg_sys_power"`
	PrefillJ *float64 `json:"prefill_energy_joules"`
	GenJ     *float64 `json:"generation_energy_joules"`
}

// ExoEnergy is exo's own figure for a batch, nil where it has none. Requests
// that run together share the power, so of a batch the report with the longest
// time stands for all. Only the placement's own nodes count, since exo bills
// the whole cluster; without any node there was no sensor, whatever the totals
// say. The split at the first output is that of one request, so with several
// there is none.
func ExoEnergy(c Context, b *collect.Batch) *Energy {
	if c.Target.Driver != "exo" {
		return nil
	}
	u := longestUsage(b)
	if u == nil {
		return nil
	}
	if len(u.Nodes) == 0 && b.Requests[0].Stated != nil {
		return u.stated()
	}
	e := u.energy(u.read(c.Target))
	if c.Case.Concurrency > 1 {
		e.PrefillJ = nil
	}
	return e
}

// stated is the total of an imported file that leaves the nodes out. Of a server
// that we asked ourselves, no nodes is no sensor.
func (u *exoUsage) stated() *Energy {
	if j := positive(&u.TotalJ); j != nil {
		return &Energy{J: j, Scope: "system", Source: "exo_server", Indicative: true}
	}
	return &Energy{NullReason: noReading}
}

// longestUsage is the usage with the longest time of a batch; nil: there is none.
func longestUsage(b *collect.Batch) *exoUsage {
	var u *exoUsage
	for i := range b.Requests {
		if p := usageOf(&b.Requests[i]); p != nil && (u == nil || p.Elapsed > u.Elapsed) {
			u = p
		}
	}
	return u
}

func usageOf(r *collect.Request) *exoUsage {
	var rep struct {
		Power *exoUsage `json:"power_usage"`
	}
	if err := json.Unmarshal([]byte(r.Report.JSON), &rep); err != nil {
		return nil
	}
	return rep.Power
}

// energy sums over the nodes that have a reading, of so many that there are.
// Without all of them there is but a partial sum.
func (u *exoUsage) energy(read []exoNode, nodes int) *Energy {
	watts, prefill := 0.0, ptr(0.0)
	e := &Energy{Scope: "system", Source: "exo_server", Coverage: fmt.Sprintf("%d/%d", len(read), nodes)}
	for _, n := range read {
		watts += *n.AvgW
		if n.PrefillJ == nil || prefill == nil {
			prefill = nil
		} else {
			*prefill += *n.PrefillJ
		}
		if s := count(n.Samples); s != nil && (e.Samples == nil || *s < *e.Samples) {
			e.Samples = s
		}
	}
	j := positive(ptr(watts * u.Elapsed))
	if len(read) == len(u.Nodes) && u.TotalJ > 0 {
		j = positive(&u.TotalJ)
	}
	switch {
	case j == nil:
		return &Energy{NullReason: noReading}
	case len(read) < nodes:
		e.PartialJ, e.NullReason = j, "node_missing"
	default:
		e.J, e.MeanW, e.PrefillJ = j, &watts, prefill
	}
	return e
}

// read are the entries of the placement's own nodes that have a reading, and
// how many nodes it has: 0 W of a whole machine is none.
func (u *exoUsage) read(t *collect.TargetInfo) (entries []exoNode, nodes int) {
	own := u.own(t)
	for _, n := range own {
		if positive(n.AvgW) != nil {
			entries = append(entries, n)
		}
	}
	return entries, max(len(own), len(t.Nodes))
}

// own are the entries of the placement's own nodes.
func (u *exoUsage) own(t *collect.TargetInfo) []exoNode {
	if len(t.Nodes) > 0 && len(t.Nodes) != len(u.Nodes) {
		return u.named(t)
	}
	return u.Nodes
}

// named are the entries whose node is one of the target's.
func (u *exoUsage) named(t *collect.TargetInfo) []exoNode {
	names := exoNames(t.Cluster)
	var out []exoNode
	for _, n := range u.Nodes {
		if slices.Contains(t.Nodes, n.ID) || names[n.ID] != "" && slices.Contains(t.Nodes, names[n.ID]) {
			out = append(out, n)
		}
	}
	return out
}

// exoNames are the names of nodes by their ids, from the snapshot of a cluster.
// exo makes ids up anew at every start, so a target has its nodes by name; of
// several with one name all but the first have a number, in the order of their
// ids. Without a snapshot there are none, and the ids alone must do.
func exoNames(cluster string) map[string]string {
	var shot struct {
		Identities map[string]struct {
			Name string `json:"friendlyName"`
		} `json:"nodeIdentities"`
	}
	_ = json.Unmarshal([]byte(cluster), &shot) // of another shape: no names
	names, times := map[string]string{}, map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(shot.Identities)) {
		name := shot.Identities[id].Name
		names[id] = name
		if times[name]++; times[name] > 1 && name != "" {
			names[id] = fmt.Sprintf("%s (%d)", name, times[name])
		}
	}
	return names
}
