package exo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// cluster is what all targets of a driver share.
type cluster struct {
	api
	opts Options

	mu       sync.Mutex
	snapshot json.RawMessage   // nil: not taken yet
	names    map[string]string // friendly names by node id
}

// snapshotPaths are the parts of the state that exo-bench keeps, in its order.
var snapshotPaths = []string{"nodeIdentities", "topology", "nodeMemory", "nodeSystem"}

// look takes the snapshot of the cluster, once: what was measured is what was
// there before the first placement. A part that exo does not know, or knows
// nothing of, is left out.
func (c *cluster) look(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.snapshot != nil {
		return nil
	}
	var parts []byte
	names := map[string]string{}
	for _, path := range snapshotPaths {
		var raw json.RawMessage
		found, err := c.get(ctx, "/state/"+path, &raw)
		if err != nil {
			return fmt.Errorf("the state of the cluster can't be asked for: %w", err)
		}
		if !found || len(members(raw)) == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%q:", path)...)
		parts = append(append(parts, bytes.TrimSpace(raw)...), ',')
		if path == "nodeIdentities" {
			names = friendly(raw)
		}
	}
	c.names = names
	c.snapshot = append(append(json.RawMessage{'{'}, bytes.TrimSuffix(parts, []byte{','})...), '}')
	return nil
}

// friendly are the names of nodes by their ids. Ids are made anew at every
// start, so nodes are known by what their owners call them; of nodes of one
// name all but the first get a number, in the order of their ids.
func friendly(identities json.RawMessage) map[string]string {
	out := map[string]string{}
	all := members(identities)
	slices.SortFunc(all, func(x, y member) int { return bytes.Compare([]byte(x.key), []byte(y.key)) })
	times := map[string]int{}
	for _, m := range all {
		var node struct {
			Name string `json:"friendlyName"`
		}
		_ = json.Unmarshal(m.raw, &node) // of another shape: without a name
		if node.Name == "" {
			continue
		}
		times[node.Name]++
		if n := times[node.Name]; n > 1 {
			node.Name = fmt.Sprintf("%s (%d)", node.Name, n)
		}
		out[m.key] = node.Name
	}
	return out
}

// name is what a node is called; its id where it has no name.
func (c *cluster) name(node string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.names[node]; n != "" {
		return n
	}
	return node
}

// shot is the snapshot as JSON; empty where there is nothing in it.
func (c *cluster) shot() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.snapshot) <= len("{}") {
		return ""
	}
	return string(c.snapshot)
}

// instances are all that the cluster runs, in exo's order.
func (c *cluster) instances(ctx context.Context) ([]*instance, error) {
	var raw json.RawMessage
	if _, err := c.get(ctx, "/state/instances", &raw); err != nil {
		return nil, err
	}
	var out []*instance
	for _, m := range members(raw) {
		if in, ok := readInstance(m.raw); ok {
			out = append(out, in)
		}
	}
	return out, nil
}
