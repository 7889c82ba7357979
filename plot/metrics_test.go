package plot

import (
	"testing"

	"tokwatt/analyze"
)

// Every metric of the table can stand along an axis, in the table's words.
func TestMetricsAlongAnAxis(t *testing.T) {
	for _, m := range analyze.Metrics() {
		got, err := metricNamed(m.Name)
		if err != nil {
			t.Fatal(err)
		}
		if label := got.axisLabel(true); label != m.Quantity+" ("+m.Unit+"), log scale" {
			t.Errorf("the axis of %s says %q", m.Name, label)
		}
	}
	if _, err := metricNamed("tps"); err == nil {
		t.Error("tps is a metric")
	}
}
