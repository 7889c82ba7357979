package plot

import (
	"fmt"
	"slices"
	"strings"

	"tokwatt/analyze"
)

// metric is a row of analyze's table with a heading for its panel.
type metric struct {
	analyze.Metric
	title string
}

// metricNamed finds a metric by the name of its column.
func metricNamed(name string) (metric, error) {
	table := analyze.Metrics()
	i := slices.IndexFunc(table, func(m analyze.Metric) bool { return m.Name == name })
	if i < 0 {
		return metric{}, fmt.Errorf("there is no metric %q: `tokwatt metrics` lists them", name)
	}
	return metric{table[i], heading(name)}, nil
}

// heading words the metrics that figures show by themselves; others stand
// under their column's name.
func heading(name string) string {
	switch name {
	case "prompt_tps":
		return "Prefill rate of a request"
	case "generation_tps":
		return "Generation rate of a request"
	case "agg_wall_tps":
		return "Generation rate of all requests together"
	case "ttft_ms":
		return "Time to first token"
	case "ttft_client_ms":
		return "Time to first token by the client's clock"
	case "itl_p50_ms":
		return "Inter-token latency (median gap of a request)"
	}
	return energyHeading(name)
}

func energyHeading(name string) string {
	switch name {
	case "j_per_output_token":
		return "Energy per output token"
	case "j_per_total_token":
		return "Energy per total token"
	case "prefill_j_per_prompt_token":
		return "Prefill energy per prompt token"
	case "energy_j":
		return "Energy of a batch"
	case "avg_power_w":
		return "Mean power of a batch"
	}
	return name
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
	s := m.Name + " (" + m.Unit + ")"
	if log {
		s += ", log scale"
	}
	return s
}
