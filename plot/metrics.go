package plot

import (
	"fmt"
	"strings"

	"tokwatt/analyze"
)

// metric is a row of analyze's table, whose label is the heading of its panel.
type metric struct{ analyze.Metric }

// metricNamed finds a metric by the name of its column.
func metricNamed(name string) (metric, error) {
	m, ok := analyze.MetricNamed(name)
	if !ok {
		return metric{}, fmt.Errorf("there is no metric %q: `tokwatt metrics` lists them", name)
	}
	return metric{m}, nil
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

// logScale ends the label of a logarithmic axis.
const logScale = ", log scale"

// axisLabel is what stands along the metric's axis.
func (m metric) axisLabel(log bool) string {
	s := m.Quantity + " (" + m.Unit + ")"
	if log {
		s += logScale
	}
	return s
}
