package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/plot/report"
)

// answer is the whole result of a query.
type answer struct {
	names []string
	rows  [][]any
}

func askAll(ctx context.Context, db *duck.DB, sql string) (answer, error) {
	rows, err := db.Ask(ctx, sql)
	if err != nil {
		return answer{}, err
	}
	defer rows.Close()
	a := answer{names: rows.Names()}
	for row, err := range rows.All() {
		if err != nil {
			return a, err
		}
		a.rows = append(a.rows, slices.Clone(row))
	}
	return a, nil
}

// value is a row's value in the named column; nil where there is none.
func (a answer) value(row int, name string) any {
	i := slices.Index(a.names, name)
	if i < 0 || row >= len(a.rows) {
		return nil
	}
	return a.rows[row][i]
}

// text is a row's value in words, empty for NULL.
func (a answer) text(row int, name string) string {
	if v := a.value(row, name); v != nil {
		return valueText(v)
	}
	return ""
}

// distinct are the different values of a column in words, without NULL.
func (a answer) distinct(name string) []string {
	var out []string
	for i := range a.rows {
		if v := a.text(i, name); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// valueText is a value as a report has it: rounded as in summary, NULL a dash.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return sig(v)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05") + " UTC"
	case []any:
		var parts []string
		for _, one := range v {
			parts = append(parts, valueText(one))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(v)
}

// facts are the values of a row that are there, but for some columns.
func (a answer) facts(row int, without ...string) []report.Fact {
	var out []report.Fact
	for i, name := range a.names {
		v := a.rows[row][i]
		text := valueText(v)
		if v == nil || text == "" || slices.Contains(without, name) {
			continue
		}
		if n, ok := v.(int64); ok && strings.HasSuffix(name, "_bytes") {
			text = byteSize(n) + " (" + text + " bytes)"
		}
		out = append(out, report.Fact{Name: name, Value: text})
	}
	return out
}

// table has the columns in which any row has a value.
func (a answer) table(caption string, keys int) report.Table {
	t := report.Table{Caption: caption, Keys: keys, Rows: make([][]string, len(a.rows))}
	for c, name := range a.names {
		number, some := false, c < keys
		for _, row := range a.rows {
			text := valueText(row[c])
			some = some || row[c] != nil && text != ""
			switch row[c].(type) {
			case int64, float64:
				number = true
			}
		}
		if !some {
			continue
		}
		t.Columns = append(t.Columns, columnOf(name, number))
		for i, row := range a.rows {
			t.Rows[i] = append(t.Rows[i], valueText(row[c]))
		}
	}
	return t
}

// columnOf says of a metric's column what the metric table does.
func columnOf(name string, number bool) report.Column {
	if m, ok := analyze.MetricNamed(name); ok {
		return report.Column{Head: name, Unit: m.Unit, About: m.Rule, Number: true}
	}
	return report.Column{Head: name, Number: number}
}
