package analyze_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tokwatt/analyze"
)

// TestTableSQL: each dialect names every column of every table, and the
// partitions, with the type that the engine has for it. That the engines take
// the text is for make spark to show.
func TestTableSQL(t *testing.T) {
	types := map[analyze.Dialect]map[analyze.ColumnType]string{
		analyze.Spark: {"int64": "bigint", "double": "double", "bool": "boolean", "string": "string",
			"list<string>": "array<string>", "timestamp[us, UTC]": "timestamp"},
		analyze.Trino: {"int64": "bigint", "double": "double", "bool": "boolean", "string": "varchar",
			"list<string>": "array(varchar)", "timestamp[us, UTC]": "timestamp(6)"},
		analyze.ClickHouse: {"int64": "Nullable(Int64)", "double": "Nullable(Float64)", "bool": "Nullable(Bool)", "string": "Nullable(String)",
			"list<string>": "Array(String)", "timestamp[us, UTC]": "Nullable(DateTime64(6, ''UTC''))"},
	}
	partitions := map[analyze.Dialect]string{
		analyze.Spark: "host string,\n  date date\n", analyze.Trino: "host varchar,\n  date date\n", analyze.ClickHouse: " as host, ",
	}
	for dialect, names := range types {
		statements, err := analyze.TableSQL(dialect, "s3://bench/dataset/")
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range analyze.Tables() {
			text := creates(statements, table.Name)
			for _, want := range append(declarations(table, names), partitions[dialect], "s3://bench/dataset/table="+table.Name) {
				if !strings.Contains(text, want) {
					t.Errorf("%s, table %s: no %q in\n%s", dialect, table.Name, want, text)
				}
			}
		}
		if strings.Contains(strings.Join(statements, " "), ";") {
			t.Errorf("%s: a semicolon", dialect)
		}
	}
}

// creates is the statement that creates a table or view of this name.
func creates(statements []string, name string) string {
	pattern := regexp.MustCompile(`^create .*(view|table|exists) ` + name + `\b`)
	for _, s := range statements {
		if pattern.MatchString(s) {
			return s
		}
	}
	return ""
}

func declarations(t analyze.Table, names map[analyze.ColumnType]string) []string {
	var out []string
	for _, c := range t.Columns {
		out = append(out, fmt.Sprintf("%s %s", c.Name, names[c.Type]))
	}
	return out
}

func TestTableSQLRefuses(t *testing.T) {
	for _, root := range []string{"/data/it's", `C:\data`, "/data/*", "/data/{a}", "/a;b", `/a"b`, "/a`b", "/a\nb", "/a[1]", "/a?"} {
		if _, err := analyze.TableSQL(analyze.Spark, root); err == nil {
			t.Errorf("%q stands in SQL", root)
		}
	}
	if _, err := analyze.TableSQL("mysql", "/data"); err == nil {
		t.Error("there is a dialect mysql")
	}
}
