package duck

import (
	"flag"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tokwatt/analyze"
)

var update = flag.Bool("update", false, "write generated views and golden files anew")

// TestGeneratedViews holds the views that name every metric to the metric
// table. Their text is a template in testdata with the lists filled in; after
// a change of metrics run the test with -update.
func TestGeneratedViews(t *testing.T) {
	for _, name := range []string{"stat_rows", "metric_values", "median_interval", "summary"} {
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
		"{{ranks}}", lines(ranks(), 5, 2),
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

// lastRank is the last number of batches in the table of intervals; the views
// have a formula for more.
const lastRank = 500

func ranks() []string {
	var out []string
	for n := 6; n <= lastRank; n++ {
		k, coverage, _ := exactRank(n)
		out = append(out, fmt.Sprintf("(%d, %d, %se0)", n, k, strconv.FormatFloat(coverage, 'f', -1, 64)))
	}
	return out
}

// exactRank is the largest k for which the k-th values from below and from
// above hold the median with 95 % or more, in whole numbers: the pair misses
// it in 2·(C(n,0) + … + C(n,k−1)) of 2ⁿ cases.
func exactRank(n int) (k int, coverage float64, ok bool) {
	all := new(big.Int).Lsh(big.NewInt(1), uint(n))
	missed, choose := new(big.Int), big.NewInt(1)
	for i := 0; 2*i < n; i++ {
		next := new(big.Int).Add(missed, new(big.Int).Lsh(choose, 1))
		if new(big.Int).Mul(next, big.NewInt(20)).Cmp(all) > 0 {
			break
		}
		missed, k = next, i+1
		choose = new(big.Int).Div(new(big.Int).Mul(choose, big.NewInt(int64(n-i))), big.NewInt(int64(i+1)))
	}
	if k == 0 {
		return 0, 0, false
	}
	miss, _ := new(big.Rat).SetFrac(missed, all).Float64()
	return k, 1 - miss, true
}
