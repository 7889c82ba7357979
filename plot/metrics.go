package plot

import (
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// metric is a row of analyze's table with its words: a heading for its panel
// and the quantity for its axis.
type metric struct {
	analyze.Metric
	title    string
	quantity string
}

// metricNamed finds a metric by the name of its column.
func metricNamed(name string) (metric, error) {
	table := analyze.Metrics()
	i := slices.IndexFunc(table, func(m analyze.Metric) bool { return m.Name == name })
	if i < 0 {
		return metric{}, fmt.Errorf("there is no metric %q: `tokwatt metrics` lists them", name)
	}
	words := rateWords(name)
	if words == (wording{}) {
		words = timeWords(name)
	}
	if words == (wording{}) {
		words = powerWords(name)
	}
	return metric{table[i], words.title, words.quantity}, nil
}

// wording is what figures call a metric.
type wording struct{ title, quantity string }

func rateWords(name string) wording {
	return map[string]wording{
		"prompt_tps":            {"Prefill rate of a request", "Prefill rate"},
		"generation_tps":        {"Generation rate of a request", "Generation rate"},
		"generation_tps_client": {"Generation rate by the client's clock", "Generation rate"},
		"generation_tps_server": {"Generation rate as the server states it", "Generation rate"},
		"decode_tps":            {"Decode rate after the first chunk", "Decode rate"},
		"tok_per_sec":           {"Tokens per second after the first token", "Token rate"},
		"mixed_tps":             {"Prompt and output tokens per second together", "Mixed rate"},
		"agg_gen_tps":           {"Generation rate of a batch, upper bound", "Generation rate"},
		"agg_wall_tps":          {"Generation rate of all requests together", "Generation rate"},
		"agg_steady_tps":        {"Generation rate while all streams decode", "Generation rate"},
	}[name]
}

func timeWords(name string) wording {
	return map[string]wording{
		"ttft_ms":                {"Time to first token", "Time"},
		"ttft_client_ms":         {"Time to first token by the client's clock", "Time"},
		"first_chunk_ms":         {"Time to first event", "Time"},
		"first_text_ms":          {"Time to first visible text", "Time"},
		"total_duration_ms":      {"Time to last output", "Time"},
		"response_ms":            {"Time to end of response", "Time"},
		"generation_duration_ms": {"Time of generation", "Time"},
		"load_duration_ms":       {"Time to load the model", "Time"},
		"itl_p50_ms":             {"Inter-token latency (median gap of a request)", "Gap between tokens"},
		"itl_p99_ms":             {"Inter-token latency (99th percentile of a request)", "Gap between tokens"},
		"itl_max_ms":             {"Longest gap between tokens of a request", "Gap between tokens"},
		"elapsed_s":              {"Time from start of batch to end of response", "Time"},
		"batch_wall_s":           {"Wall time of a batch", "Time"},
		"dispatch_spread_us":     {"Time between first and last send of a batch", "Time"},
	}[name]
}

func powerWords(name string) wording {
	return map[string]wording{
		"energy_j":                   {"Energy of a batch", "Energy"},
		"avg_power_w":                {"Mean power of a batch", "Power"},
		"j_per_output_token":         {"Energy per output token", "Energy"},
		"j_per_total_token":          {"Energy per prompt and output token", "Energy"},
		"prefill_j_per_prompt_token": {"Prefill energy per prompt token", "Energy"},
	}[name]
}

// sentence joins headings into one.
func sentence(headings []string) string {
	for i := range headings[1:] {
		h := headings[i+1]
		headings[i+1] = strings.ToLower(h[:1]) + h[1:]
	}
	if n := len(headings) - 1; n > 0 {
		return strings.Join(headings[:n], ", ") + " and " + headings[n]
	}
	return headings[0]
}

// axisLabel is what stands along the metric's axis.
func (m metric) axisLabel(log bool) string {
	s := m.quantity + " (" + m.Unit + ")"
	if log {
		s += ", log scale"
	}
	return s
}
