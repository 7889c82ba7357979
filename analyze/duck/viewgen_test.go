package duck

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"tokwatt/analyze"
)

var update = flag.Bool("update", false, "write generated views and golden files anew")

// TestGeneratedViews holds the views that name every metric to the metric
// table. Their text is a template in testdata with the lists filled in; after
// a change of metrics run the test with -update.
func TestGeneratedViews(t *testing.T) {
	for _, name := range []string{"stat_rows", "metric_values", "summary"} {
		template, err := os.ReadFile("testdata/" + name + ".sql.tmpl")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer(metricLists()...).Replace(string(template))
		if *update {
			if err := os.WriteFile("views/"+name+".sql", []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile("views/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("views/%s.sql is not what the metric table makes of its template; run go test with -update", name)
		}
	}
}

func metricLists() []string {
	var all, requests, batches []string
	var requestFigures, batchFigures, pivot, columns []string
	for _, m := range analyze.Metrics() {
		all = append(all, m.Name)
		if m.Table == "requests" {
			requests = append(requests, m.Name)
			requestFigures = append(requestFigures, requestFigure(m))
		} else {
			batches = append(batches, m.Name)
			batchFigures = append(batchFigures, batchFigure(m))
		}
	}
	for _, name := range all {
		for _, figure := range []string{"median", "lo", "hi", "coverage", "mean", "sd", "n", "p90", "p99"} {
			pivot = append(pivot, fmt.Sprintf("max(case when metric = '%s' then %s end) as %s_%s", name, figure, name, figure))
			column := fmt.Sprintf("f.%s_%s", name, figure)
			if figure == "n" {
				column = fmt.Sprintf("coalesce(f.%s_n, 0) as %s_n", name, name)
			}
			columns = append(columns, column)
		}
	}
	return []string{
		"{{request_columns}}", lines(requests, 6, 7),
		"{{request_figures}}", lines(requestFigures, 1, 9),
		"{{request_names}}", lines(requests, 6, 2),
		"{{batch_figures}}", lines(batchFigures, 1, 9),
		"{{batch_names}}", lines(batches, 6, 2),
		"{{pivot}}", lines(pivot, 1, 9),
		"{{columns}}", lines(columns, 9, 7),
	}
}

// requestFigure is a metric of a row, NULL where the row may not enter it.
func requestFigure(m analyze.Metric) string {
	switch {
	case m.Name == "prompt_tps":
		return "case when in_prefill_stats then prompt_tps end as prompt_tps"
	case m.Name == "tok_per_sec":
		return "case when counted then nullif(tok_per_sec, 0e0) end as tok_per_sec"
	case m.Tokens:
		return fmt.Sprintf("case when counted then %s end as %s", m.Name, m.Name)
	}
	return m.Name
}

func batchFigure(m analyze.Metric) string {
	if m.Tokens {
		return fmt.Sprintf("case when g.counted then b.%s end as %s", m.Name, m.Name)
	}
	return "b." + m.Name
}

// lines sets items with commas between, n a line, indented.
func lines(items []string, n, indent int) string {
	var out []string
	for chunk := range slices.Chunk(items, n) {
		out = append(out, strings.Repeat(" ", indent)+strings.Join(chunk, ", "))
	}
	return strings.Join(out, ",\n")
}
