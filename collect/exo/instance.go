package exo

import (
	"encoding/json"
	"strings"
)

// instance is a model placed on nodes, or to be placed. exo's server takes it
// back only as it gave it out, so its bytes are kept.
type instance struct {
	raw     json.RawMessage
	meta    string // "MlxRing", "MlxJaccl"
	id      string
	model   string
	nodes   []string          // ids, in exo's order
	runners map[string]string // by node
	shards  map[string]json.RawMessage
	order   []string // runners, in exo's order
}

// readInstance reads {"MlxRingInstance": {…}}; false where that is none.
func readInstance(raw json.RawMessage) (*instance, bool) {
	tagged := only(raw)
	var inner struct {
		ID     string `json:"instanceId"`
		Shards struct {
			Model         string          `json:"modelId"`
			RunnerToShard json.RawMessage `json:"runnerToShard"`
			NodeToRunner  json.RawMessage `json:"nodeToRunner"`
		} `json:"shardAssignments"`
	}
	if tagged.raw == nil || json.Unmarshal(tagged.raw, &inner) != nil || inner.ID == "" {
		return nil, false
	}
	in := &instance{raw: raw, meta: strings.TrimSuffix(tagged.key, "Instance"), id: inner.ID, model: inner.Shards.Model,
		runners: map[string]string{}, shards: map[string]json.RawMessage{}}
	for _, m := range members(inner.Shards.NodeToRunner) {
		var runner string
		if json.Unmarshal(m.raw, &runner) != nil {
			return nil, false
		}
		in.nodes = append(in.nodes, m.key)
		in.runners[m.key] = runner
	}
	for _, m := range members(inner.Shards.RunnerToShard) {
		in.order = append(in.order, m.key)
		in.shards[m.key] = m.raw
	}
	return in, len(in.nodes) > 0 && len(in.order) > 0
}

// sharding is how the model is cut, by the kind of its shards. exo cuts a
// single node's into one pipeline stage whatever was asked for.
func (in *instance) sharding() string {
	return strings.TrimSuffix(only(in.shards[in.order[0]]).key, "ShardMetadata")
}

// nodeOf is the node on which a runner runs.
func (in *instance) nodeOf(runner string) string {
	for node, r := range in.runners {
		if r == runner {
			return node
		}
	}
	return ""
}

// cardOf is the id of the model that a shard is of.
func cardOf(shard json.RawMessage) string {
	var s struct {
		Card struct {
			ID string `json:"modelId"`
		} `json:"modelCard"`
	}
	_ = json.Unmarshal(only(shard).raw, &s) // of another shape: of no model
	return s.Card.ID
}
