package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// instance is a handle on the model: exo's clients place one and delete it.
type instance struct {
	id     string
	runner string
	raw    json.RawMessage // as it was posted, in one line
}

// cluster has the instances, in the order in which they came.
type cluster struct {
	mu  sync.Mutex
	all []*instance
}

// placed is {"MlxRingInstance": {…}}, the one kind that there is on one node.
type placed struct {
	Ring ringInstance `json:"MlxRingInstance"`
}

type ringInstance struct {
	ID     string            `json:"instanceId"`
	Shards assignments       `json:"shardAssignments"`
	Hosts  map[string][]host `json:"hostsByNode"`
	Port   int               `json:"ephemeralPort"`
}

type assignments struct {
	Model   string               `json:"modelId"`
	Runners map[string]shardKind `json:"runnerToShard"`
	Nodes   map[string]string    `json:"nodeToRunner"`
}

type shardKind struct {
	Pipeline shard `json:"PipelineShardMetadata"`
}

type shard struct {
	Card       modelCard `json:"modelCard"`
	Rank       int       `json:"deviceRank"`
	World      int       `json:"worldSize"`
	Exception  bool      `json:"immediateException"`
	Timeout    *float64  `json:"shouldTimeout"`
	StartLayer int       `json:"startLayer"`
	EndLayer   int       `json:"endLayer"`
	Layers     int       `json:"nLayers"`
}

type host struct {
	IP   string `json:"ip"`
	Port int    `json:"port"` // 0: a single node needs none
}

// shard is all of the model.
func (s *Server) shard() shardKind {
	n := s.card.config.Layers
	return shardKind{shard{Card: s.card.full(), World: 1, EndLayer: n, Layers: n}}
}

// place makes an instance that could be posted.
func (s *Server) place() placed {
	runner := newID()
	return placed{ringInstance{
		ID: newID(),
		Shards: assignments{
			Model: s.card.id(), Runners: map[string]shardKind{runner: s.shard()}, Nodes: map[string]string{s.node: runner},
		},
		Hosts: map[string][]host{s.node: {{IP: "0.0.0.0"}}},
	}}
}

// preview is one way to place the model, or why it is none.
type preview struct {
	Model    string           `json:"model_id"`
	Sharding string           `json:"sharding"`
	Meta     string           `json:"instance_meta"`
	Instance *placed          `json:"instance"`
	Memory   map[string]int64 `json:"memory_delta_by_node"`
	Error    *string          `json:"error"`
}

// previews are all ways that exo has. On a single node there is one.
func (s *Server) previews() []preview {
	id := s.card.id()
	one := s.place()
	out := []preview{{Model: id, Sharding: "Pipeline", Meta: "MlxRing", Instance: &one, Memory: map[string]int64{s.node: s.card.info.WeightBytes}}}
	for _, no := range []struct{ sharding, meta, why string }{
		{"Pipeline", "MlxJaccl", "This is one node, and RDMA needs several"},
		{"Tensor", "MlxRing", "Requested Tensor sharding but this model does not support tensor parallelism: " + id},
		{"Tensor", "MlxJaccl", "This is one node, and RDMA needs several"},
	} {
		out = append(out, preview{Model: id, Sharding: no.sharding, Meta: no.meta, Error: &no.why})
	}
	return out
}

// readInstance reads an instance that a client posts: this model on this node.
func (s *Server) readInstance(raw json.RawMessage) (*instance, error) {
	var p struct {
		Ring *struct {
			ID     string `json:"instanceId"`
			Shards struct {
				Model string            `json:"modelId"`
				Nodes map[string]string `json:"nodeToRunner"`
			} `json:"shardAssignments"`
		} `json:"MlxRingInstance"`
	}
	if json.Unmarshal(raw, &p) != nil || p.Ring == nil || p.Ring.ID == "" {
		return nil, unreadable("union_tag_invalid", "Input should be an MlxRingInstance as GET /instance/previews gives it", raw, "instance")
	}
	runner := p.Ring.Shards.Nodes[s.node]
	switch {
	case p.Ring.Shards.Model != s.card.id():
		return nil, faultf(http.StatusBadRequest, "the instance is of model %q, and here is %s", clip(p.Ring.Shards.Model), s.card.id())
	case runner == "" || len(p.Ring.Shards.Nodes) != 1:
		return nil, faultf(http.StatusBadRequest, "the instance is not for this node, which is %s: take one of GET /instance/previews", s.node)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil || line.Len() > maxInstance {
		return nil, faultf(http.StatusBadRequest, "the instance has %d bytes: take one of GET /instance/previews as it is", len(raw))
	}
	return &instance{id: p.Ring.ID, runner: runner, raw: line.Bytes()}, nil
}

// maxInstance bounds what is kept of an instance, in bytes.
const maxInstance = 16 << 10

// add keeps an instance; one of the same id is replaced.
func (c *cluster) add(in *instance) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(x *instance) bool { return x.id == in.id })
	if len(c.all) >= MaxInstances {
		return faultf(http.StatusBadRequest, "there are %d instances already: delete one first", MaxInstances)
	}
	c.all = append(c.all, in)
	return nil
}

// remove forgets an instance; false where there is none of that id.
func (c *cluster) remove(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.all)
	c.all = slices.DeleteFunc(c.all, func(x *instance) bool { return x.id == id })
	return len(c.all) < n
}

// list are the instances.
func (c *cluster) list() []*instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// needed reports whether there is any.
func (c *cluster) needed() bool { return len(c.list()) > 0 }

// instance is the newest one, which whoever posted it expects to use; where
// there is none, one is made if that is wanted, else it is a fault.
func (s *Server) instance(wanted bool) (*instance, error) {
	if all := s.cluster.list(); len(all) > 0 {
		return all[len(all)-1], nil
	}
	if !wanted {
		return nil, faultf(http.StatusNotFound, "No instance found for model %s", s.card.id())
	}
	in, err := s.readInstance(document(s.place()))
	if err != nil {
		return nil, fmt.Errorf("an instance of our own can't be read: %w", err)
	}
	return in, s.cluster.add(in)
}
