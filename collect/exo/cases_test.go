package exo_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"tokwatt/analyze/analyzetest/casetest"
	"tokwatt/collect"
	"tokwatt/collect/exo"
	"tokwatt/collect/script"
)

// placed is an instance of the cases' model on one node.
const placed = `{"MlxRingInstance":{"instanceId":"i1","shardAssignments":{"modelId":"demo-org/Demo-1B-4bit",
	"runnerToShard":{"r1":{"PipelineShardMetadata":{"modelCard":{"modelId":"demo-org/Demo-1B-4bit"},"deviceRank":0}}},"nodeToRunner":{"node-a":"r1"}}}}`

// TestTroubleCases plays every trouble case to the driver, through the runner
// and all formulas, and holds each expected column. The cluster has an
// instance of the model, which is reused: a case is about the measured call.
func TestTroubleCases(t *testing.T) {
	casetest.Run(t, "../../testdata/cases/exo/*.json", 8, casetest.Harness{Records: records, Script: cluster})
}

func records(ctx context.Context, c *script.Case, url string) iter.Seq2[collect.Record, error] {
	runner := collect.Runner{Prompts: func(collect.TargetInfo, collect.Engine, bool) (collect.Prompter, string) {
		return casetest.Words{}, ""
	}}
	driver := exo.Driver{Options: exo.Options{URL: url, ReuseInstance: true}}
	return runner.Run(ctx, collect.Job{Driver: driver, Spec: casetest.Spec(c)})
}

// cluster is what the state of the cases' cluster is.
func cluster(_ *script.Case, s *script.Script) {
	s.Get = map[string]json.RawMessage{
		"/models":               json.RawMessage(`{"data":[{"name":"demo-model","hugging_face_id":"demo-org/Demo-1B-4bit","quantization":"4bit"}]}`),
		"/state/instances":      json.RawMessage(`{"i1":` + placed + `}`),
		"/state/instances/i1":   json.RawMessage(placed),
		"/state/runners/r1":     json.RawMessage(`{"RunnerReady":{}}`),
		"/state/nodeIdentities": json.RawMessage(`{"node-a":{"friendlyName":"mac-1"}}`),
	}
}
