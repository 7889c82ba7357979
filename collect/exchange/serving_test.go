package exchange_test

import (
	"math"
	"testing"
)

// TestServingThroughput: a run's rate over all its requests is the one that its
// file states, be each request placed in it or the run's duration alone known.
func TestServingThroughput(t *testing.T) {
	for name, within := range map[string]float64{
		"sglang-0.5.3-details.jsonl": 1e-9, "sglang-0.5.8-details.jsonl": 1e-9, "vllm-0.6.0-http-errors.json": 1e-9, "vllm-0.7-goodput.json": 1e-9,
		"vllm-0.33.0-detailed-http-errors.json": 0.02, "vllm-0.33.0-detailed-resets.json": 0.02, // from the first request sent, not from the run's own start
	} {
		got := imported(t, peerFile(t, name))
		if len(got.batches) == 0 || len(got.batches) != len(got.sessions) {
			t.Fatalf("%s: %d sessions, %d batches, %v", name, len(got.sessions), len(got.batches), got.errors)
		}
		for i, s := range got.sessions {
			var said struct {
				Rate float64 `json:"output_throughput"`
			}
			unmarshal(t, []byte(s.Imported.Extra), &said)
			if rate := got.batches[i].AggWallTPS; rate == nil || math.Abs(*rate/said.Rate-1) > within {
				t.Errorf("%s, run %d: agg_wall_tps %v, the file says %g", name, i+1, show(rate), said.Rate)
			}
		}
	}
}
