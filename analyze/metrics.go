package analyze

// Better says which way a metric improves.
type Better string

// The directions. The empty one is neither: the metric describes.
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Metric is a measured or derived figure: what every table, axis and file says
// of it comes from here.
type Metric struct {
	Name     string `json:"name"`     // the column
	Table    string `json:"table"`    // the table that has the column: "requests" or "batches"
	Label    string `json:"label"`    // in words, as a heading: no two metrics share one
	Quantity string `json:"quantity"` // what is measured, as an axis names it before the unit; metrics of one axis share it
	Unit     string `json:"unit"`
	Better   Better `json:"better"`
	Tokens   bool   `json:"tokens"` // hangs on the count of generated tokens: rows where that is an estimate stay out
	Source   string `json:"source"` // whose word it is: "server", "client", "server, engine or client", …
	Rule     string `json:"rule"`   // in one line; n = tokens_generated
	Head     string `json:"-"`      // as the head of a table's column, in two lines; empty: no headline figure, tables leave it out
}

// Mark is a caveat on a column that holds wherever a driver measured.
type Mark struct {
	Column  string `json:"column"`
	Driver  string `json:"driver"`
	Meaning string `json:"meaning"`
}

// Marks lists the marks. The columns have the figures as they were stated.
func Marks() []Mark { return []Mark{{"peak_memory_bytes", "exo", exoPeakMemory}} }

// exoPeakMemory: exo never resets the peak, and takes units of 1e9 bytes for
// GiB.
const exoPeakMemory = "high-water mark of the process, 7.4 % high"

// MarkOf is the mark on a column as a driver fills it, empty where there is
// none.
func MarkOf(column, driver string) string {
	for _, m := range Marks() {
		if m.Column == column && m.Driver == driver {
			return m.Meaning
		}
	}
	return ""
}

// Metrics is the list of all metrics, requests first, in the order in which
// they are shown.
func Metrics() []Metric {
	all := append(append(rateMetrics(), timeMetrics()...), batchMetrics()...)
	heads := map[string]string{
		"prompt_tps": "prefill\ntok/s", "generation_tps": "gen\ntok/s", "ttft_ms": "TTFT\nms", "itl_p50_ms": "ITL\nms",
		"agg_wall_tps": "all\ntok/s", "j_per_output_token": "J/\ntok",
	}
	for i := range all {
		all[i].Head = heads[all[i].Name]
	}
	return all
}

// MetricNamed is a metric of the list.
func MetricNamed(name string) (m Metric, ok bool) {
	for _, m := range Metrics() {
		if m.Name == name {
			return m, true
		}
	}
	return m, false
}

func rateMetrics() []Metric {
	r := func(name, label, quantity, source, rule string) Metric {
		return Metric{Name: name, Table: "requests", Label: label, Quantity: quantity, Unit: "tok/s", Better: Higher, Tokens: true, Source: source, Rule: rule}
	}
	prompt := r("prompt_tps", "Prefill rate of a request", "Prefill rate", "server, engine or client",
		"the server's figure if it reports one, else (prompt_tokens − cached_tokens) / TTFT on our clock")
	prompt.Tokens = false
	return []Metric{
		prompt,
		r("generation_tps", "Generation rate of a request", "Generation rate", "server, engine or client",
			"the server's figure where its formula is (n − 1) / span, else generation_tps_client"),
		r("generation_tps_client", "Generation rate by the client's clock", "Generation rate", "client",
			"(n − 1) / (last output − first output); NULL under 0.01 s or two tokens"),
		r("generation_tps_server", "Generation rate as the server states it", "Generation rate", "server", "what the server reports, verbatim; Ollama: eval_count / eval_duration"),
		r("decode_tps", "Decode rate after the first chunk", "Decode rate", "client",
			"(n − k) / (last output − first output), k = tokens of the first output chunk, where the server or a recount tells"),
		r("tok_per_sec", "Tokens per second after the first token", "Token rate", "client, Ollama: server",
			"n / (total_duration − TTFT), Ollama: n / eval_duration; 0.0 where that is under 0.01 s: not measurable, never averaged"),
		r("mixed_tps", "Prompt and output tokens per second together", "Mixed rate", "import", "an imported file's tokens/s of prefill and generation together"),
	}
}

func timeMetrics() []Metric {
	t := func(name, label, quantity, source, rule string) Metric {
		return Metric{Name: name, Table: "requests", Label: label, Quantity: quantity, Unit: "ms", Better: Lower, Source: source, Rule: rule}
	}
	elapsed := t("elapsed_s", "Time from start of batch to end of response", "Time", "client", "start of the batch to the end of this response")
	elapsed.Unit = "s"
	return []Metric{
		t("ttft_ms", "Time to first token", "Time", "client, Ollama: server",
			"first output − start; Ollama: prompt_eval_duration"),
		t("ttft_client_ms", "Time to first token by the client's clock", "Time", "client", "first output − start, for every engine that streams"),
		t("first_chunk_ms", "Time to first event", "Time", "client", "first data event of any kind − start"),
		t("first_text_ms", "Time to first visible text", "Time", "client", "first visible text − start"),
		t("total_duration_ms", "Time to last output", "Time", "client, Ollama: server",
			"last output − start; not streamed: end of the response − start; Ollama: total_duration"),
		t("response_ms", "Time to end of response", "Time", "client", "end of the response − start"),
		t("generation_duration_ms", "Time of generation", "Time", "client, Ollama: server",
			"total_duration − TTFT, at least 0; Ollama: eval_duration"),
		t("load_duration_ms", "Time to load the model", "Time", "server", "time to load the model, as the server states it"),
		t("itl_p50_ms", "Inter-token latency (median gap of a request)", "Gap between tokens", "client", "median gap between output arrivals; gaps between chunks where chunks carry several tokens; NULL where over a quarter of the arrivals were read together with the one before"),
		t("itl_p99_ms", "Inter-token latency (99th percentile of a request)", "Gap between tokens", "client", "99th percentile of the gaps; NULL under 100 of them, and with itl_p50_ms"),
		t("itl_max_ms", "Longest gap between tokens of a request", "Gap between tokens", "client", "longest gap between output arrivals"),
		elapsed,
	}
}

func batchMetrics() []Metric {
	b := func(name, label, quantity, unit string, better Better, tokens bool, source, rule string) Metric {
		return Metric{Name: name, Table: "batches", Label: label, Quantity: quantity, Unit: unit, Better: better, Tokens: tokens, Source: source, Rule: rule}
	}
	return []Metric{
		b("batch_wall_s", "Wall time of a batch", "Time", "s", Lower, false, "client", "longest elapsed_s of the batch, failed requests included; imported without any: the duration that the file states"),
		b("agg_gen_tps", "Generation rate of a batch, upper bound", "Generation rate", "tok/s", Higher, true, "server, engine or client",
			"highest generation_tps of the good requests × concurrency asked: an upper bound"),
		b("agg_wall_tps", "Generation rate of all requests together", "Generation rate", "tok/s", Higher, true, "client", "Σ n of the good requests / batch_wall_s"),
		b("agg_steady_tps", "Generation rate while all streams decode", "Generation rate", "tok/s", Higher, true, "client",
			"tokens that arrived while all streams were decoding / the length of that time"),
		b("dispatch_spread_us", "Time between first and last send of a batch", "Time", "µs", Lower, false, "client", "last send − first send of the batch"),
		b("energy_j", "Energy of a batch", "Energy", "J", Lower, false, "power", "energy of the batch in the widest scope there is"),
		b("avg_power_w", "Mean power of a batch", "Power", "W", "", false, "power", "energy_j over the time it covers"),
		b("j_per_output_token", "Energy per output token", "Energy", "J/tok", Lower, true, "power", "energy_j / Σ n of the batch"),
		b("j_per_total_token", "Energy per prompt and output token", "Energy", "J/tok", Lower, true, "power", "energy_j / Σ (n + prompt_tokens) of the batch"),
		b("prefill_j_per_prompt_token", "Prefill energy per prompt token", "Energy", "J/tok", Lower, false, "power",
			"energy until the first output / Σ (prompt_tokens − cached_tokens) of the batch"),
	}
}
