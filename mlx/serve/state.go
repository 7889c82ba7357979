package serve

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// state is what exo's clients read of the cluster, which is this one node. What
// is not known of the node is not in it.
type state struct {
	Instances  map[string]json.RawMessage `json:"instances"`
	Runners    map[string]any             `json:"runners"`
	Downloads  map[string][]any           `json:"downloads"`
	Tasks      map[string]any             `json:"tasks"`
	LastSeen   map[string]string          `json:"lastSeen"`
	Topology   topology                   `json:"topology"`
	Identities map[string]identity        `json:"nodeIdentities"`
	Memory     map[string]nodeMemory      `json:"nodeMemory"`
	Disk       map[string]any             `json:"nodeDisk"`
	System     map[string]System          `json:"nodeSystem"`
}

type topology struct {
	Nodes       []string       `json:"nodes"`
	Connections map[string]any `json:"connections"`
}

type identity struct {
	Model   string `json:"modelId"`
	Chip    string `json:"chipId"`
	Name    string `json:"friendlyName"`
	OS      string `json:"osVersion"`
	OSBuild string `json:"osBuildVersion"`
}

type nodeMemory struct {
	Total     memory  `json:"ramTotal"`
	Available *memory `json:"ramAvailable,omitempty"`
}

// tagged is exo's form of a value that may be of several kinds.
type tagged map[string]any

func (s *Server) state() state {
	n := s.opts.Node
	out := state{
		Instances: map[string]json.RawMessage{}, Runners: map[string]any{}, Tasks: map[string]any{}, Disk: map[string]any{},
		Memory: map[string]nodeMemory{}, System: map[string]System{},
		Downloads:  map[string][]any{s.node: {s.download()}},
		LastSeen:   map[string]string{s.node: time.Now().UTC().Format(time.RFC3339Nano)},
		Topology:   topology{Nodes: []string{s.node}, Connections: map[string]any{}},
		Identities: map[string]identity{s.node: {Model: n.Model, Chip: n.Chip, Name: n.Name, OS: n.OS, OSBuild: n.OSVersion}},
	}
	if n.RAM > 0 {
		m := nodeMemory{Total: memory{Bytes: &n.RAM}}
		if n.Available != nil {
			if free := n.Available(); free > 0 {
				m.Available = &memory{Bytes: &free}
			}
		}
		out.Memory[s.node] = m
	}
	if s.opts.Meter != nil {
		if now, ok := s.opts.Meter.System(); ok {
			out.System[s.node] = now
		}
	}
	busy := map[string]bool{}
	for _, c := range s.calls() {
		busy[c.instance] = true
		out.Tasks[c.task] = c.state()
	}
	for _, in := range s.cluster.list() {
		out.Instances[in.id] = in.raw
		out.Runners[in.runner] = s.runnerState(busy[in.id])
	}
	return out
}

// runnerState is what an instance is doing. exo's clients wait for ready.
func (s *Server) runnerState(busy bool) tagged {
	loading, ready, failure := s.runner.condition()
	switch {
	case failure != "" && !loading:
		return tagged{"RunnerFailed": map[string]any{"errorMessage": failure, "diagnostics": []string{}}}
	case !ready:
		return tagged{"RunnerLoading": map[string]int{"layersLoaded": 0, "totalLayers": s.card.config.Layers}}
	case busy:
		return tagged{"RunnerRunning": struct{}{}}
	}
	return tagged{"RunnerReady": map[string]any{"prefillServerPort": nil}}
}

// download says that the model is here.
func (s *Server) download() tagged {
	return tagged{"DownloadCompleted": map[string]any{
		"nodeId": s.node, "shardMetadata": s.shard(), "total": memory{Bytes: &s.card.info.WeightBytes}, "readOnly": true,
	}}
}

// state is a call as the list of tasks has it. Conversations of several turns
// are not shown.
func (c *call) state() tagged {
	status := "Pending"
	if begun, _ := c.times(); !begun.IsZero() {
		status = "Running"
	}
	params := map[string]any{
		"model": c.model, "max_output_tokens": c.maxTokens, "temperature": 0.0, "stream": c.stream, "bench": c.bench, "use_prefix_cache": c.warm,
	}
	if c.prompt.ids == nil {
		input := []map[string]string{{"role": "user", "content": c.prompt.user}}
		if c.prompt.system != "" {
			params["instructions"] = c.prompt.system
		}
		params["input"] = input
	}
	return tagged{"TextGeneration": map[string]any{
		"taskId": c.task, "taskStatus": status, "instanceId": c.instance, "commandId": c.id, "taskParams": params, "errorType": nil, "errorMessage": nil,
	}}
}

// walk goes down a document by keys and indexes; false where the way ends.
func walk(doc json.RawMessage, path string) (json.RawMessage, bool) {
	for step := range strings.SplitSeq(path, "/") {
		if step == "" {
			continue
		}
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case json.Unmarshal(doc, &object) == nil && object[step] != nil:
			doc = object[step]
		case json.Unmarshal(doc, &list) == nil:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(list) {
				return nil, false
			}
			doc = list[i]
		default:
			return nil, false
		}
	}
	return doc, true
}
