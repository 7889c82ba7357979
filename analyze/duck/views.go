package duck

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed views/*.sql
var viewFiles embed.FS

// viewNames are the views in the order in which they build on each other; each
// is the file views/NAME.sql.
func viewNames() []string {
	return []string{"runs", "batch_runs", "stat_rows", "batch_figures", "batch_medians", "median_interval", "batch_intervals", "row_figures", "summary_long", "summary_cases", "summary", "asiai", "phases", "goodput"}
}

// helperViews are those that other views are made of, and nobody is to ask.
func helperViews() []string {
	return []string{"stat_rows", "batch_figures", "batch_medians", "median_interval", "batch_intervals", "row_figures", "summary_cases"}
}

// ViewSQL is the text of a view, as Spark SQL takes it too.
func ViewSQL(name string) (string, error) {
	text, err := viewFiles.ReadFile("views/" + name + ".sql")
	if err != nil {
		return "", fmt.Errorf("there is no view %s: the views are %s", name, strings.Join(viewNames(), ", "))
	}
	return string(text), nil
}

// ViewsSQL lists the statements of all views, without semicolons, in the order
// in which they build on each other.
func ViewsSQL() ([]string, error) {
	var out []string
	for _, name := range viewNames() {
		text, err := ViewSQL(name)
		if err != nil {
			return nil, err
		}
		for _, s := range statements(text) {
			out = append(out, strings.TrimSpace(s))
		}
	}
	return out, nil
}

// statements splits a view file. Our files have no semicolon in a comment or
// literal, so that every tool can split them.
func statements(text string) []string {
	var out []string
	for _, s := range strings.Split(text, ";") {
		if strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}
