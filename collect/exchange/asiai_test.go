package exchange_test

import "testing"

// TestAsiaiModels takes the shape of asiai 1.34, where models are compared on
// one engine: the keys are models, each entry says its engine, and 0 stands for
// what is not known.
func TestAsiaiModels(t *testing.T) {
	got := imported(t, `{"schema_version":2,"asiai_version":"1.34.0","timestamp":1767607200,"machine":{"chip":"","os_version":"26.2","ram_gb":0,"gpu_cores":0},
"benchmark":{"model":"a","session_type":"model","runs_per_prompt":1,"prompts":["code"],"context_size":0,"engines":{
"a":{"engine":"ollama","model":"a","avg_power_watts":11.5,"avg_soc_watts":20.5,"vram_bytes":0,"raw_runs":[
 {"run_index":0,"prompt_type":"code","tok_per_sec":0.0,"ttft_ms":0.0,"tokens_generated":1,"total_duration_ms":3.0},
 {"run_index":1,"prompt_type":"code","tok_per_sec":"fast","ttft_ms":1.0,"tokens_generated":1,"total_duration_ms":3.0}]},
"b":{"engine":"ollama","model":"b","avg_power_watts":12.5,"raw_runs":[
 {"run_index":0,"prompt_type":"code","tok_per_sec":40.0,"ttft_ms":100.0,"tokens_generated":20,"total_duration_ms":600.0}]},
"c":7},"winner":null}}`)
	if len(got.rows) != 2 || len(got.errors) != 2 || len(got.targets) != 2 {
		t.Fatalf("%d rows, %d targets, %v", len(got.rows), len(got.targets), got.errors)
	}
	a, b := got.targets[0], got.targets[1]
	if a.Engine != "ollama" || a.ModelID != "a" || *a.StatedPowerW != 20.5 || a.StatedPowerScope != "soc" || a.ModelBytes != nil || b.ModelID != "b" || *b.StatedPowerW != 12.5 || b.StatedPowerScope != "gpu" {
		t.Errorf("%+v\n%+v", a, b)
	}
	if r := got.rows[0]; r.TTFTMS != nil || *r.TokPerSec != 0 || *r.TotalDurationMS != 3 {
		t.Errorf("%+v", r)
	}
	if r := got.rows[1]; *r.GenerationDurationMS != 500 || r.StatedRule != "M1 of asiai 1.34.0" {
		t.Errorf("%+v", r)
	}
	if s := got.sessions[0]; s.Host.RAMBytes != nil || s.Host.Chip != "" || s.StartedAt.Unix() != 1767607200 {
		t.Errorf("%+v", s)
	}
}
