package analyze_test

import (
	"slices"
	"testing"

	"tokwatt/analyze"
)

// Every metric is a column of its table with its unit, and every rate and time
// of the tables is a metric.
func TestMetricsAreTheColumns(t *testing.T) {
	metrics := analyze.Metrics()
	for _, table := range analyze.Tables() {
		for _, c := range table.Columns {
			i := slices.IndexFunc(metrics, func(m analyze.Metric) bool { return m.Name == c.Name && m.Table == table.Name })
			switch {
			case i >= 0 && (metrics[i].Unit != c.Unit || metrics[i].Rule != c.Doc):
				t.Errorf("%s: the column says %q %q", c.Name, c.Unit, c.Doc)
			case i < 0 && (c.Unit == "tok/s" || c.Unit == "ms" || c.Unit == "J/tok"):
				t.Errorf("%s.%s is not in the metric table", table.Name, c.Name)
			}
		}
	}
	seen, labels := map[string]bool{}, map[string]string{}
	for _, m := range metrics {
		cols := columnsOf(m.Table)
		if !slices.ContainsFunc(cols, func(c analyze.Column) bool { return c.Name == m.Name && c.Type == analyze.Double }) {
			t.Errorf("%s is no column of %s", m.Name, m.Table)
		}
		if seen[m.Name] || m.Unit == "" || m.Rule == "" || m.Source == "" || m.Label == "" || m.Quantity == "" {
			t.Errorf("%+v is there twice or says too little", m)
		}
		if other := labels[m.Label]; other != "" {
			t.Errorf("%s and %s share the label %q", m.Name, other, m.Label)
		}
		seen[m.Name], labels[m.Label] = true, m.Name
	}
}

func columnsOf(table string) []analyze.Column {
	for _, t := range analyze.Tables() {
		if t.Name == table {
			return t.Columns
		}
	}
	return nil
}
