package exchange

import (
	"bytes"
	"strings"
	"time"

	"tokwatt/collect"
)

// claimsVLLM takes an object with the date and the model of a run, as vllm
// bench serve and benchmark_serving.py write it.
func claimsVLLM(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"date"`)) &&
		bytes.Contains(head, []byte(`"model_id"`)) && (bytes.Contains(head, []byte(`"num_prompts"`)) || bytes.Contains(head, []byte(`"tokenizer_id"`)))
}

// readVLLM reads results of vllm bench serve, one run or several that were
// appended, with --save-detailed or without (see servingRun). The date is that
// of the machine's own clock when the run ended, without a zone, and is taken
// for the start in UTC: no better one is in the file.
func readVLLM(in *Input, out *sink) error { return readServing(in, out, vllmHead) }

func vllmHead(r *servingRun) servingHead {
	started, _ := time.Parse("20060102-150405", r.head.text("date"))
	backend := r.head.text("backend", "endpoint_type")
	return servingHead{
		session: collect.Session{StartedAt: started, Label: r.head.text("label"), Imported: &collect.Origin{Tool: "vllm bench serve"}},
		target:  collect.TargetInfo{Engine: servingEngine(backend), ModelID: r.head.text("model_id")},
		hint:    "run vllm bench serve with --save-detailed",
	}
}

// servingEngine is the engine behind the name of a client's backend, which may
// say how it is spoken to.
func servingEngine(backend string) string {
	for _, engine := range []string{"openai", "vllm", "sglang", "lmdeploy"} {
		if strings.HasPrefix(backend, engine) {
			return engine
		}
	}
	if backend == "" {
		return "openai"
	}
	return backend
}
