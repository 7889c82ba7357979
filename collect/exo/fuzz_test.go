package exo

import (
	"encoding/json"
	"slices"
	"testing"
)

// FuzzInstance: whatever a preview holds, an instance that is read can be
// asked for everything, and goes back as it came.
func FuzzInstance(f *testing.F) {
	f.Add([]byte(`{"MlxRingInstance":{"instanceId":"i","shardAssignments":{"modelId":"m","runnerToShard":{"r":{"PipelineShardMetadata":{"modelCard":{"modelId":"m"}}}},"nodeToRunner":{"n":"r"}}}}`))
	f.Add([]byte(`{"MlxRingInstance":{"instanceId":"i","shardAssignments":{"runnerToShard":{"r":null,"s":[]},"nodeToRunner":{"n":"x","o":"r"}}}}`))
	f.Add([]byte(`{"a":{},"b":{}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, ok := readInstance(raw)
		if !ok {
			return
		}
		if in.id == "" || len(in.nodes) == 0 || len(in.order) == 0 || !slices.Equal(in.raw, raw) {
			t.Fatalf("%q gives %+v", raw, in)
		}
		_ = in.sharding()
		for _, node := range in.nodes {
			_ = cardOf(in.shards[in.runners[node]])
		}
		for _, r := range in.order {
			_ = in.nodeOf(r)
		}
	})
}

// FuzzMembers: an object's members are those that encoding/json reads, in
// their order.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":{"c":[2]}}`, `{}`, `[1]`, `{"a":1`, `{"a":1,"a":2}`, `"x"`, ``, `{"a" 1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := members(raw)
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil {
			return
		}
		have := map[string]bool{}
		for _, m := range got {
			have[m.key] = true
			if !json.Valid(m.raw) {
				t.Fatalf("%q: member %q is %q", raw, m.key, m.raw)
			}
		}
		if len(have) != len(want) {
			t.Fatalf("%q has %d members, not %d", raw, len(want), len(have))
		}
	})
}

// FuzzTask: no list of tasks breaks anything, and none matches a call that it
// does not tell of.
func FuzzTask(f *testing.F) {
	f.Add([]byte(`{"taskStatus":"Running","instanceId":"i","commandId":"c","taskParams":{"model":"m","input":[{"role":"user","content":"hi"}],"max_output_tokens":2,"bench":true,"temperature":0.6,"min_p":null}}`))
	f.Add([]byte(`{"taskParams":{"input":7,"max_output_tokens":"x"}}`))
	f.Add([]byte(`{"taskParams":[]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var x task
		if json.Unmarshal(raw, &x) != nil {
			return
		}
		for name, v := range x.Params.sampling() {
			if string(v) == "null" || !slices.Contains(samplingFields, name) {
				t.Fatalf("%q: %s is %s", raw, name, v)
			}
		}
	})
}
