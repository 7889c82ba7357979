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
	for _, name := range []string{"stat_rows", "batch_figures", "batch_medians", "row_figures", "median_interval", "summary_long", "summary"} {
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
	var requestFigures, groupColumns, batchMedians, batchFigures []string
	for _, m := range analyze.Metrics() {
		all = append(all, m.Name)
		if m.Table == "requests" {
			requests = append(requests, m.Name)
			requestFigures = append(requestFigures, requestFigure(m))
			groupColumns = append(groupColumns, "g."+m.Name)
			batchMedians = append(batchMedians, fmt.Sprintf("median(%s) as %[1]s", m.Name))
		} else {
			batches = append(batches, m.Name)
			batchFigures = append(batchFigures, batchFigure(m))
		}
	}
	var batchColumns, unpivot, pivot, columns []string
	for _, name := range batches {
		batchColumns = append(batchColumns, each("b."+name+"_%s", overRows))
	}
	for _, name := range all {
		unpivot = append(unpivot, "("+each(name+"_%s", overRows)+") as "+name)
		pivot = append(pivot, each("max(case when metric = '"+name+"' then %[1]s end) as "+name+"_%[1]s", overBatches))
		columns = append(columns, fmt.Sprintf("coalesce(r.%s_n, 0) as %[1]s_n, %s, %s", name,
			each("r."+name+"_%s", overRows[1:]), each("s."+name+"_%s", overBatches)))
	}
	return []string{
		"{{request_columns}}", lines(requests, 6, 9),
		"{{request_figures}}", lines(requestFigures, 1, 7),
		"{{group_columns}}", lines(groupColumns, 6, 7),
		"{{batch_medians}}", lines(batchMedians, 1, 9),
		"{{batch_figures}}", lines(batchFigures, 1, 7),
		"{{names}}", lines(all, 6, 9),
		"{{request_statistics}}", lines(statistics(requests), 1, 9),
		"{{batch_statistics}}", lines(statistics(batches), 1, 9),
		"{{batch_statistics_columns}}", lines(batchColumns, 1, 7),
		"{{unpivot}}", lines(unpivot, 1, 4),
		"{{pivot}}", lines(pivot, 1, 9),
		"{{columns}}", lines(columns, 1, 7),
		"{{ranks}}", lines(ranks(), 5, 2),
	}
}

// The figures of summary: over the rows of a group, and over its batches.
var (
	overRows    = []string{"n", "median", "mean", "sd", "p90", "p99"}
	overBatches = []string{"lo", "hi", "coverage"}
)

// each sets figures into a format, with commas between.
func each(format string, figures []string) string {
	var out []string
	for _, figure := range figures {
		out = append(out, fmt.Sprintf(format, figure))
	}
	return strings.Join(out, ", ")
}

// statistics are the formulas of the figures over rows.
func statistics(metrics []string) []string {
	var out []string
	for _, m := range metrics {
		out = append(out, fmt.Sprintf(`count(%s) as %[1]s_n, median(%[1]s) as %[1]s_median, avg(%[1]s) as %[1]s_mean, stddev_samp(%[1]s) as %[1]s_sd,
         case when count(%[1]s) >= 10 then percentile_cont(0.9) within group (order by %[1]s) end as %[1]s_p90,
         case when count(%[1]s) >= 100 then percentile_cont(0.99) within group (order by %[1]s) end as %[1]s_p99`, m))
	}
	return out
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
