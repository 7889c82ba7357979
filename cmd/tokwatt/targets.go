package main

import (
	"strings"

	"tokwatt/analyze"
	"tokwatt/collect"
)

// placement says where a model runs in a cluster: "Tensor/MlxRing 2 nodes";
// empty where there is nothing to place.
func placement(sharding, meta string, nodes []string) string {
	how := strings.Trim(sharding+"/"+meta, "/")
	if len(nodes) > 0 {
		how += " " + plural(int64(len(nodes)), "node")
	}
	return strings.TrimSpace(how)
}

// targetName tells a target from others that have the same model.
func targetName(t *collect.TargetInfo) string {
	return joined(t.ModelID, t.Engine, placement(t.Sharding, t.InstanceMeta, t.Nodes))
}

// summaryName is the name of a summary's target.
func summaryName(s analyze.Summary) string {
	return joined(strings.TrimSpace(s.ModelID+" "+s.Quantization), strings.TrimSpace(s.Engine+" "+s.EngineVersion), placement(s.Sharding, s.InstanceMeta, s.Nodes))
}

// joined is what is known of a target.
func joined(parts ...string) string {
	var known []string
	for _, p := range parts {
		if p != "" {
			known = append(known, p)
		}
	}
	return strings.Join(known, " · ")
}
