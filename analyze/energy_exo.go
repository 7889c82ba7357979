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
	var u *exoUsage
	for i := range b.Requests {
		var rep struct {
			Power *exoUsage `json:"power_usage"`
		}
		err := json.Unmarshal([]byte(b.Requests[i].Report.JSON), &rep)
		if p := rep.Power; err == nil && p != nil && (u == nil || p.Elapsed > u.Elapsed) {
			u = p
		}
	}
	if u == nil {
		return nil
	}
	own, reason := u.own(c.Target)
	if reason != "" {
		return &Energy{NullReason: reason}
	}
	e := u.energy(own)
	if c.Case.Concurrency > 1 {
		e.PrefillJ = nil
	}
	return e
}

// energy sums over the placement's nodes, each of which has a reading.
func (u *exoUsage) energy(own []exoNode) *Energy {
	watts, prefill := 0.0, ptr(0.0)
	e := &Energy{Scope: "system", Source: "exo_server"}
	for _, n := range own {
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
	e.J, e.MeanW, e.PrefillJ = figure(ptr(watts*u.Elapsed)), &watts, prefill
	if len(own) == len(u.Nodes) && u.TotalJ > 0 {
		e.J = figure(&u.TotalJ)
	}
	if e.J == nil {
		return &Energy{NullReason: noReading}
	}
	return e
}

// own are the entries of the placement's nodes, or the reason why there is no
// sum of them: 0 W of a whole machine is no reading.
func (u *exoUsage) own(t *collect.TargetInfo) (nodes []exoNode, nullReason string) {
	if len(u.Nodes) == 0 {
		return nil, noReading
	}
	nodes = u.Nodes
	if len(t.Nodes) > 0 && len(t.Nodes) != len(u.Nodes) {
		nodes = u.named(t)
	}
	for _, n := range nodes {
		if positive(n.AvgW) == nil {
			return nil, noReading
		}
	}
	if len(nodes) < len(t.Nodes) {
		return nil, "node_missing"
	}
	return nodes, ""
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
