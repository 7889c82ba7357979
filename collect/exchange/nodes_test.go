package exchange_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tokwatt/collect"
)

// TestNodes: names are turned back into ids where they tell nodes apart.
func TestNodes(t *testing.T) {
	target := func(id int64, sharding, cluster string) *collect.TargetInfo {
		return &collect.TargetInfo{TargetID: id, Driver: "exo", ModelID: "m", Sharding: sharding, Cluster: cluster, LoadS: ptr(2.0)}
	}
	read := func(node string, v float64) *collect.Samples {
		return &collect.Samples{Samples: []collect.Sample{sample(node, "power", "W", v)}}
	}
	cluster := `{"nodeIdentities":{"id1":{"friendlyName":"a"},"id2":{"friendlyName":"twin"},"id3":{"friendlyName":"twin"},"id4":{}}}`
	after := `{"nodeIdentities":{"id9":{"friendlyName":"a"}}}`
	out := write(t, []collect.Record{
		target(1, "Tensor", cluster), read("a", 1), read("twin", 2), read("twin (2)", 3), read("id4", 4),
		target(2, "Pipeline", ""), read("a", 5), read("a", 6), // a later placement takes over
		&collect.Segment{Segment: 2},
		target(3, "Tensor", ""), read("a", 9),
		&collect.Case{CaseID: 1, TargetID: 2},
		&collect.Batch{CaseID: 1, Warmup: true}, read("a", 5), read("a", 6), // a resumed run is back at the second
		target(2, "Pipeline", ""), read("a", 10), // the same placement as another target
		target(4, "Pipeline", after), read("a", 7), // exo has been started again
		&collect.TargetInfo{TargetID: 5, Driver: "exo", ModelID: "m", Sharding: "Pipeline"}, read("a", 8), // no load time: reused
		&collect.Samples{Samples: []collect.Sample{{Node: "a", Source: "macmon", Scope: "system", Metric: "power", Value: 1}}},
	})
	var f struct {
		Cluster json.RawMessage `json:"cluster"`
		Metrics map[string]map[string]struct {
			Min, Max, Mean float64
			Samples        int
		} `json:"system_metrics"`
	}
	unmarshal(t, out, &f)
	got := map[string][4]float64{}
	for id, m := range f.Metrics {
		s := m["sysPower"]
		got[id] = [4]float64{s.Min, s.Max, s.Mean, float64(s.Samples)}
		if len(m) != 1 {
			t.Errorf("node %s has metrics that were not read: %v", id, m)
		}
	}
	want := map[string][4]float64{"id1": {5, 10, 7, 3}, "id2": {2, 2, 2, 1}, "id3": {3, 3, 3, 1}, "id4": {4, 4, 4, 1}, "id9": {7, 7, 7, 1}}
	if len(got) != len(want) {
		t.Errorf("nodes %v", got)
	}
	for id, w := range want {
		if got[id] != w {
			t.Errorf("node %s: %v, want %v", id, got[id], w)
		}
	}
	if !strings.Contains(string(f.Cluster), "id4") {
		t.Errorf("cluster is not the first snapshot: %s", f.Cluster)
	}
}

// TestMean holds means against exact sums: the nearest float64, as Python's
// statistics.mean, and then two places of that, half to even.
func TestMean(t *testing.T) {
	for _, c := range []struct {
		want string // of Python: round(statistics.mean(values), 2)
		vs   []float64
	}{
		{"0.17", []float64{0.02, 0.02, 0.02, 0.02, 0.02, 0.95}}, // a plain sum gives 0.18
		{"0.0", []float64{1e300, 1, -1e300, -1}},
		{"0.5", []float64{1e300, 1, -1e300, 1}},
		{"2.67", []float64{2.675}},
		{"0.12", []float64{0.125}},
		{"0.38", []float64{0.375}},
		{"-0.0", []float64{-0.001}},
		{"1e+16", []float64{1e16}},
		{"1234567890123456.8", []float64{1234567890123456.75}},
	} {
		recs := []collect.Record{&collect.TargetInfo{TargetID: 1}}
		for _, v := range c.vs {
			recs = append(recs, &collect.Samples{Samples: []collect.Sample{sample("n", "temperature", "celsius", v)}})
		}
		var f struct {
			Metrics map[string]map[string]map[string]json.Number `json:"system_metrics"`
		}
		unmarshal(t, write(t, recs), &f)
		if got := f.Metrics["n"]["temp"]["mean"].String(); got != c.want {
			t.Errorf("mean of %v is %s, want %s", c.vs, got, c.want)
		}
	}
}
