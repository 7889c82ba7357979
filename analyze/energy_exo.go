package analyze

import (
	"encoding/json"

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

// named are the entries whose node is one of the target's. exo makes up the
// ids of its nodes anew at every start, so a target names them as people do;
// the cluster's snapshot has both.
func (u *exoUsage) named(t *collect.TargetInfo) []exoNode {
	var cluster struct {
		Identities map[string]struct {
			Name string `json:"friendlyName"`
		} `json:"nodeIdentities"`
	}
	_ = json.Unmarshal([]byte(t.Cluster), &cluster) // without a snapshot the ids alone must do
	wanted := map[string]bool{}
	for _, name := range t.Nodes {
		wanted[name] = true
	}
	var out []exoNode
	for _, n := range u.Nodes {
		if wanted[n.ID] || wanted[cluster.Identities[n.ID].Name] {
			out = append(out, n)
		}
	}
	return out
}
