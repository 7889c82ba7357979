package analyze_test

import (
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
	"tokwatt/collect"
)

const (
	oneNode  = `{"power_usage":{"elapsed_seconds":2,"total_energy_joules":120.5,"nodes":[{"node_id":"x1","samples":4,"avg_sys_power":60,"prefill_energy_joules":6.4}]}}`
	twoNodes = `{"power_usage":{"elapsed_seconds":3,"total_energy_joules":300,"nodes":[
		{"node_id":"x1","samples":4,"avg_sys_power":60,"prefill_energy_joules":6.4},
		{"node_id":"x2","samples":2,"avg_sys_power":40,"prefill_energy_joules":12.8}]}}`
	twins   = `{"nodeIdentities":{"x2":{"friendlyName":"mac"},"x1":{"friendlyName":"mac"},"x0":{"friendlyName":""}}}`
	cluster = `{"nodeIdentities":{"x1":{"friendlyName":"mac-1"},"x2":{"friendlyName":"mac-2"}}}`
)

// TestExoEnergy: exo's figure is that of the placement's own nodes, once a
// batch, or NULL with the reason.
func TestExoEnergy(t *testing.T) {
	for _, c := range []struct {
		name    string
		reports []string
		nodes   []string
		cluster string
		j       *float64
		prefill *float64
		reason  string
		partial *float64
		cover   string
		few     bool
	}{
		{name: "one node", reports: []string{oneNode}, nodes: []string{"mac-1"}, j: ptr(120.5), prefill: ptr(0.1), cover: "1/1"},
		{name: "nodes are not known", reports: []string{twoNodes}, j: ptr(300.0), prefill: ptr(0.3), few: true},
		{name: "both nodes are its own", reports: []string{twoNodes}, nodes: []string{"mac-1", "mac-2"}, j: ptr(300.0), prefill: ptr(0.3), few: true},
		{name: "the other node is not billed", reports: []string{twoNodes}, nodes: []string{"mac-1"}, cluster: cluster, j: ptr(180.0), prefill: ptr(0.1)},
		{name: "by the node's id", reports: []string{twoNodes}, nodes: []string{"x2"}, j: ptr(120.0), prefill: ptr(0.2), few: true},
		{name: "the first of two with one name", reports: []string{twoNodes}, nodes: []string{"mac"}, cluster: twins, j: ptr(180.0), prefill: ptr(0.1)},
		{name: "the second of them", reports: []string{twoNodes}, nodes: []string{"mac (2)"}, cluster: twins, j: ptr(120.0), prefill: ptr(0.2), few: true},
		{name: "whose node is it", reports: []string{twoNodes}, nodes: []string{"mac-1"}, reason: "no_reading"},
		{name: "a node without a sensor", reports: []string{oneNode}, nodes: []string{"mac-1", "mac-2"}, cluster: cluster, reason: "node_missing", partial: ptr(120.5), cover: "1/2"},
		{name: "a node of 0 W", reports: []string{strings.Replace(twoNodes, "40", "0", 1)}, nodes: []string{"mac-1", "mac-2"}, cluster: cluster, reason: "node_missing", partial: ptr(180.0), cover: "1/2"},
		{name: "two share the power", reports: []string{oneNode, twoNodes}, j: ptr(300.0), few: true},
		{name: "in any order", reports: []string{twoNodes, oneNode}, j: ptr(300.0), few: true},
		{name: "no sensor", reports: []string{`{"power_usage":{"elapsed_seconds":2,"total_energy_joules":0,"nodes":[]}}`}, reason: "no_reading"},
		{name: "0 W is no reading", reports: []string{`{"power_usage":{"elapsed_seconds":2,"total_energy_joules":0,"nodes":[{"node_id":"a","samples":9,"avg_sys_power":0}]}}`}, reason: "no_reading"},
		{name: "null power", reports: []string{`{"power_usage":{"elapsed_seconds":2,"nodes":[{"node_id":"a","samples":9,"avg_sys_power":null}]}}`}, reason: "no_reading"},
		{name: "a stream has none", reports: []string{`{"generation_stats":{}}`}, reason: "off"},
		{name: "nothing that can be read", reports: []string{"{"}, reason: "off"},
		{name: "no split", reports: []string{`{"power_usage":{"elapsed_seconds":2,"total_energy_joules":100,"nodes":[{"node_id":"a","samples":1,"avg_sys_power":50}]}}`}, j: ptr(100.0), few: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTrial()
			tr.target.Driver, tr.target.Engine, tr.target.Nodes, tr.target.Cluster = "exo", "exo", c.nodes, c.cluster
			tr.cs.Concurrency = int64(len(c.reports))
			b := &collect.Batch{StartNS: 1000 * ms}
			for _, text := range c.reports {
				r := tr.req
				r.Report.JSON = text
				b.Requests = append(b.Requests, r)
			}
			row, rows := analyze.Derive(analyze.Context{Target: &tr.target, Case: &tr.cs}, b, nil)
			if !same(row.EnergyJ, c.j) || !same(row.PrefillJPerPromptToken, c.prefill) || row.EnergyNullReason != c.reason {
				t.Errorf("%v J, %v J a prompt token, %q; want %v, %v, %q", show(row.EnergyJ), show(row.PrefillJPerPromptToken), row.EnergyNullReason,
					show(c.j), show(c.prefill), c.reason)
			}
			if !same(row.EnergyPartialJ, c.partial) || c.cover != "" && row.EnergyCoverage != c.cover {
				t.Errorf("%v J in part, of %q; want %v of %q", show(row.EnergyPartialJ), row.EnergyCoverage, show(c.partial), c.cover)
			}
			if few := slices.Contains(row.Flags, "few_power_samples"); few != c.few || few != slices.Contains(rows[0].Flags, "few_power_samples") {
				t.Errorf("flags %q of the batch, %q of a request", row.Flags, rows[0].Flags)
			}
			if c.j != nil && (row.PowerScope != "system" || row.PowerSource != "exo_server") {
				t.Errorf("scope %q, source %q", row.PowerScope, row.PowerSource)
			}
		})
	}
}

// TestPrefillEnergyOfHits: what a prompt token took is known only where it is
// known how many of them were computed. A hit of unknown length leaves neither
// that nor a rate on our clock.
func TestPrefillEnergyOfHits(t *testing.T) {
	for _, c := range []struct {
		word    string
		cached  *int64
		joules  *float64 // a prompt token
		prompts *float64 // tokens/s, client
	}{
		{"", nil, ptr(0.1), ptr(640.0)},
		{"none", nil, ptr(0.1), ptr(640.0)},
		{"none", ptr(int64(0)), ptr(0.1), ptr(640.0)},
		{"partial", nil, nil, nil},
		{"exact", nil, nil, nil},
		{"partial", ptr(int64(32)), ptr(0.2), ptr(320.0)},
		{"exact", ptr(int64(62)), ptr(3.2), nil},
		{"", ptr(int64(32)), ptr(0.2), ptr(320.0)},
		{"partial", ptr(int64(64)), nil, nil},
	} {
		for _, streams := range []int{1, 2} {
			tr := newTrial()
			tr.target.Driver, tr.target.Engine = "exo", "exo"
			tr.cs.CacheMode, tr.cs.Concurrency = collect.CachePrefix, int64(streams)
			b := &collect.Batch{StartNS: 1000 * ms}
			for i := range streams {
				r := tr.req
				if r.Report.JSON = oneNode; i == 0 {
					r.Report.PrefixCacheHit, r.Report.CachedTokens = c.word, c.cached
				}
				b.Requests = append(b.Requests, r)
			}
			e := &analyze.Energy{J: ptr(120.0), PrefillJ: ptr(6.4)}
			row, rows := analyze.Derive(analyze.Context{Target: &tr.target, Case: &tr.cs}, b, e)
			if streams == 1 && !same(row.PrefillJPerPromptToken, c.joules) {
				t.Errorf("%q with %v cached: %v J a prompt token, want %v", c.word, c.cached, show(row.PrefillJPerPromptToken), show(c.joules))
			}
			if unknown := c.cached == nil && c.joules == nil; streams == 2 && unknown != (row.PrefillJPerPromptToken == nil) {
				t.Errorf("%q with %v cached beside one without a hit: %v J a prompt token", c.word, c.cached, show(row.PrefillJPerPromptToken))
			}
			if !same(rows[0].PromptTPS, c.prompts) {
				t.Errorf("%q with %v cached: prompt_tps %v, want %v", c.word, c.cached, show(rows[0].PromptTPS), show(c.prompts))
			}
		}
	}
}

// TestExoEnergyIsExosAlone: a figure of our own comes before it, and other
// drivers have no such thing.
func TestExoEnergyIsExosAlone(t *testing.T) {
	tr, b := streams(1)
	b.Requests[0].Report.JSON = oneNode
	isNull(t, "energy_j", deriveBatch(tr, b, nil).EnergyJ)
	tr.target.Driver = "exo"
	near(t, "energy_j", deriveBatch(tr, b, nil).EnergyJ, 120.5)
	near(t, "energy_j", deriveBatch(tr, b, &analyze.Energy{J: ptr(7.0)}).EnergyJ, 7)
}
