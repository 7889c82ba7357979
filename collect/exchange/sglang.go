package exchange

import (
	"bytes"
	"path"

	"tokwatt/collect"
)

// claimsSGLang takes an object that has a backend, a data set and the totals of
// a run, and no date.
func claimsSGLang(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && bytes.Contains(head, []byte(`"backend"`)) &&
		bytes.Contains(head, []byte(`"dataset_name"`)) && bytes.Contains(head, []byte(`"request_rate"`)) && !bytes.Contains(head, []byte(`"date"`))
}

// readSGLang reads the lines that SGLang's bench_serving appends to its output
// file, a run each, with --output-details or without (see servingRun). A line
// has no time of day, and names the model only through what the server says of
// itself.
func readSGLang(in *Input, out *sink) error { return readServing(in, out, sglangHead) }

func sglangHead(r *servingRun) servingHead {
	server := r.head.object("server_info")
	model := server.text("served_model_name", "model_path")
	h := servingHead{
		session: collect.Session{Label: r.head.text("tag"), Imported: &collect.Origin{Tool: "sglang.bench_serving"}},
		target: collect.TargetInfo{
			Engine: servingEngine(r.head.text("backend")), EngineVersion: server.text("version"),
			ModelID: path.Base("/" + model), ServedModel: model, Quantization: server.text("quantization"),
		},
		hint: "run bench_serving with --output-details",
	}
	if model == "" {
		h.target.ModelID = ""
	}
	if ratio, n := r.head.number("random_range_ratio"), r.head.count("random_output_len"); n != nil && ratio != nil && *ratio == 1 && randomLengths[r.head.text("dataset_name")] {
		h.tg, h.wanted = *n, true
	}
	return h
}

// randomLengths are the data sets whose answers have the length asked for.
var randomLengths = map[string]bool{"random": true, "random-ids": true}
