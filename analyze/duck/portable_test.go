package duck

import (
	"regexp"
	"strings"
	"testing"
)

// TestPortableSubset holds the view files to constructs that DuckDB and Spark
// SQL read alike; each rule is shown to catch what it is for.
func TestPortableSubset(t *testing.T) {
	rules := []struct{ pattern, example string }{
		{`"`, `select "a"`}, {"`", "select `a`"}, {`\\`, `'a\n'`}, {`''[^,) ]`, `'it''s'`},
		{`(?i)\bquantile_cont\b`, "quantile_cont(x, 0.5)"}, {`(?i)\blen\(`, "len(l)"}, {`(?i)\blist_contains\b`, "list_contains(l, 1)"},
		{`(?i)\bunnest\b`, "unnest(l)"}, {`(?i)\bqualify\b`, "qualify x"}, {`(?i)\bexclude\b`, "* exclude (a)"}, {`(?i)\brecursive\b`, "with recursive a"},
		{`(?i)\bas (varchar|text|int|integer)\)`, "cast(x as varchar)"}, {`//|\bdiv\b`, "a // b"}, {`(?i)\blog\(`, "log(x)"}, {`(?i)\bround\(`, "round(x)"},
		{`(?i)\bepoch|datediff|extract\(`, "epoch(t)"}, {`\[\d`, "l[1]"}, {`(?i)create (or replace )?view`, "create view a"}, {`(?i)\bpivot \(`, "pivot (a)"},
		{`(?i)\bsum\(\w+ = `, "sum(a = 1)"}, {`(?i)\barray_length|cardinality\b`, "array_length(l)"}, {`(?i)\busing \w`, "percentile(x) using y"},
		{`/ \w+\.?\w*\b\s*(,|as)`, "a / b as c"},
		{`(?i)\bskewness|kurtosis\b`, "skewness(x)"}, {`(?i)\bconcat\(`, "concat(a, null)"}, {`(?i)\bexplode|\b(size|array_size)\(`, "explode(l)"}, {`(?i)\barray\(|\[`, "array(1)"},
		{`(?i)\bpercentile\(`, "percentile(x, 0.5)"}, {`(?i)\bpercentile_cont\([^)]*\) over\b`, "percentile_cont(0.5) over (w)"}, {`(?i)= any\(`, "x = any(l)"},
		{`(?i)\bavg\(\w+ = `, "avg(a = 1)"}, {`(?i)\bexcept\b`, "* except (a)"}, {`(?i)\b(unix_micros|date_diff|age)\b`, "unix_micros(t)"}, {`::`, "x::int"},
		{`(?i)\bas (smallint|tinyint|float|decimal|numeric)\b`, "cast(x as float)"}, {`(?i)\bby name\b|->>`, "union all by name"}, {`(?i)\bcreate (macro|function|temp table|table)\b`, "create macro f"},
		{`(?i)\bcomment on\b|\bleft semi\b|\bgenerate_series\b`, "left semi join"}, {`(?i)\border by [^)]*\bdesc\b`, "order by x desc"}, {`\b\d+\.\d+[^\de)]`, "100.0 * x"},
	}
	for _, r := range rules {
		if !regexp.MustCompile(r.pattern).MatchString(r.example) {
			t.Errorf("rule %s does not catch %s", r.pattern, r.example)
		}
	}
	comment := regexp.MustCompile(`--[^\n]*`)
	for _, name := range viewNames() {
		text, err := ViewSQL(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range comment.FindAllString(text, -1) {
			if strings.ContainsAny(c, ";'") {
				t.Errorf("%s: a comment has a semicolon or quote: %s", name, c)
			}
		}
		code := comment.ReplaceAllString(text, "")
		for _, r := range rules {
			if m := regexp.MustCompile(r.pattern).FindString(code); m != "" {
				t.Errorf("%s: %q is not in the portable subset (rule %s)", name, m, r.pattern)
			}
		}
		if got := len(statements(code)); got != 1 {
			t.Errorf("%s has %d statements, want one", name, got)
		}
	}
	if _, err := ViewSQL("nothing"); err == nil {
		t.Error("a view that does not exist has a text")
	}
}
