package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"tokwatt/analyze/duck"
	"tokwatt/analyze/duck/rowio"
)

// blockRows is how many rows of a table are held, to find out how wide its columns
// are: of a result of millions the next block goes on below with columns at least
// as wide.
const blockRows = 10_000

// drawRows draws a result for people: as a table on a screen or in Markdown, or as
// records, which is also what becomes of a table that is wider than width; 0 is
// no limit.
func drawRows(w io.Writer, rows *duck.Rows, format string, width int) error {
	d := resultDrawing{w: w, columns: rows.Columns(), format: format, width: width}
	if isPlan(d.columns) && format == "table" {
		d.format = "plan"
	}
	for row, err := range rows.All() {
		if err != nil {
			return err
		}
		cells := make([]string, len(row))
		for i, v := range row {
			if text, ok := v.(string); ok && d.format == "plan" {
				cells[i] = text
			} else {
				cells[i] = cell(v)
			}
		}
		if d.rows = append(d.rows, cells); len(d.rows) == blockRows {
			if err := d.flush(); err != nil {
				return err
			}
		}
	}
	if len(d.rows) == 0 && d.done > 0 {
		return nil
	}
	return d.flush()
}

// isPlan reports whether a result is what EXPLAIN answers: a drawing of its own.
func isPlan(columns []duck.Column) bool {
	return len(columns) == 2 && columns[0].Name == "explain_key" && columns[1].Name == "explain_value"
}

// resultDrawing is a result that is being drawn, block by block.
type resultDrawing struct {
	w       io.Writer
	columns []duck.Column
	format  string
	width   int        // of the terminal; 0: any
	rows    [][]string // of this block
	done    int        // rows before it
	widths  []int      // of the columns so far
}

// flush writes a block, and an empty table where it is the first.
func (d *resultDrawing) flush() error {
	if d.format == "table" {
		d.measure()
	}
	var text string
	switch d.format {
	case "plan":
		for _, row := range d.rows {
			text += strings.TrimRight(row[1], "\n") + "\n"
		}
	case "line":
		text = d.records()
	default:
		text = d.table()
	}
	d.done, d.rows = d.done+len(d.rows), d.rows[:0]
	_, err := io.WriteString(d.w, text)
	return err
}

// measure finds how wide the columns are. Of the first block it follows whether a
// table fits at all.
func (d *resultDrawing) measure() {
	if d.widths == nil {
		for _, c := range d.columns {
			d.widths = append(d.widths, text.LongestLineLen(c.Name))
		}
	}
	for _, row := range d.rows {
		for i, c := range row {
			d.widths[i] = max(d.widths[i], text.StringWidth(c))
		}
	}
	whole := 2 * (len(d.widths) - 1)
	for _, n := range d.widths {
		whole += n
	}
	if d.done == 0 && len(d.rows) > 0 && d.width > 0 && whole > d.width {
		d.format = "line"
	}
}

// table draws a block; the first one has the head.
func (d *resultDrawing) table() string {
	var header []any
	var columns []table.ColumnConfig
	for i, c := range d.columns {
		header = append(header, c.Name)
		config := table.ColumnConfig{Number: i + 1}
		if isNumeric(c.Type) {
			config.Align, config.AlignHeader = text.AlignRight, text.AlignRight
		}
		if d.format == "table" {
			config.WidthMin = d.widths[i]
		}
		columns = append(columns, config)
	}
	t := newTable(io.Discard, header...)
	if d.done > 0 {
		t.ResetHeaders()
	}
	t.SetColumnConfigs(columns)
	for _, row := range d.rows {
		t.AppendRow(anys(row))
	}
	out := ""
	if d.format == "markdown" {
		out = t.RenderMarkdown()
	} else {
		out = t.Render()
	}
	if out != "" {
		out += "\n"
	}
	return out
}

func anys(cells []string) []any {
	out := make([]any, len(cells))
	for i, c := range cells {
		out[i] = c
	}
	return out
}

// records draws each row as lines of a column's name and its value.
func (d *resultDrawing) records() string {
	names := make([]string, len(d.columns))
	for i, c := range d.columns {
		names[i] = strings.Join(strings.Fields(c.Name), " ")
	}
	widest := 0
	for _, n := range names {
		widest = max(widest, text.StringWidth(n))
	}
	var b strings.Builder
	for k, row := range d.rows {
		fmt.Fprintf(&b, "─ %d %s\n", d.done+k+1, strings.Repeat("─", max(1, widest-len(strconv.Itoa(d.done+k+1))-1)))
		for i, c := range row {
			b.WriteString(strings.TrimRight(text.Pad(names[i], widest, ' ')+"  "+c, " ") + "\n")
		}
	}
	return b.String()
}

func isNumeric(sqlType string) bool {
	base, _, _ := strings.Cut(sqlType, "(")
	return slices.Contains([]string{"DOUBLE", "FLOAT", "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT",
		"UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT", "UHUGEINT", "DECIMAL"}, base)
}

// cell prints a value of a result for people.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return short(v)
	case time.Time:
		return v.Format("2006-01-02 15:04:05Z")
	case string:
		return strings.Join(strings.Fields(v), " ")
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = cell(e)
		}
		return strings.Join(parts, ", ")
	}
	return rowio.Text(v)
}

// short prints a number with four significant digits, so that figures beside
// each other are rounded alike, and a whole one as it is; the formats for
// programs have all digits.
func short(x float64) string {
	switch a := math.Abs(x); {
	case x == math.Trunc(x) && a < 1e15:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case a < 1e-3 || a >= 1e15: // NaN is neither
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return significant(x, 4)
}
