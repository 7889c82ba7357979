package plot

import (
	"testing"

	"tokwatt/analyze"
)

// Every metric has words of its own: no two panels share a heading.
func TestMetricWords(t *testing.T) {
	seen := map[string]string{}
	for _, m := range analyze.Metrics() {
		got, err := metricNamed(m.Name)
		if err != nil || got.title == "" || got.quantity == "" || got.Unit != m.Unit {
			t.Errorf("%s: %+v, %v", m.Name, got, err)
		}
		if other := seen[got.title]; other != "" {
			t.Errorf("%s and %s share the heading %q", m.Name, other, got.title)
		}
		seen[got.title] = m.Name
	}
}
