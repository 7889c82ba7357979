package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"tokwatt/analyze/duck"
	"tokwatt/analyze/duck/arrowio"
	"tokwatt/analyze/duck/rowio"
)

var queryFormats = []string{"table", "csv", "json", "jsonl", "markdown", "parquet", "arrow"}

func (a *app) query() *cli.Command {
	return &cli.Command{
		Name:      "query",
		Usage:     "ask all sessions with SQL",
		ArgsUsage: "SQL",
		Description: `SQL is a SELECT over the tables sessions, segments, targets, cases, batches,
requests, chunks, samples and energy and the views runs, batch_runs, summary,
summary_long, goodput, phases and asiai; - reads it from stdin. Begin with runs
(a row a request) and batch_runs (a row a batch), which leave warm-ups out.
DESCRIBE runs lists its columns; what else SHOW TABLES names is for the views.
docs/cookbook.md answers twenty questions with it.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "file", Usage: "`FILE` read the SQL from it"},
			&cli.StringFlag{Name: "format", Usage: "`NAME` " + strings.Join(queryFormats, ", ")},
			&cli.StringFlag{Name: "out", Usage: "`FILE` write the result there; its ending names the format"},
			datasetFlag(),
			jsonFlag(),
		},
		Metadata: examples(
			`tokwatt query "select pp, median(generation_tps) from runs group by pp order by pp"`,
			`tokwatt query "select count(*) as failed from requests where status = 'failed'"`,
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			sql, err := a.sqlText(cmd)
			if err != nil {
				return err
			}
			format, err := a.queryFormat(cmd)
			if err != nil {
				return err
			}
			db, done, err := a.sql(ctx, cmd)
			if err != nil {
				return err
			}
			return errors.Join(a.answer(ctx, cmd, db, sql, format), done())
		},
	}
}

// sqlText is the statement: the argument, --file, or stdin.
func (a *app) sqlText(cmd *cli.Command) (string, error) {
	file := cmd.String("file")
	switch {
	case file != "" && cmd.Args().Present():
		return "", usagef("give the SQL as an argument or with --file, not both")
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return "", usagef("--file: %w", err)
		}
		return string(b), nil
	case cmd.Args().Len() > 1:
		return "", usagef("the SQL must be one argument: put it in quotes")
	case cmd.Args().First() == "-":
		b, err := io.ReadAll(a.in)
		return string(b), err
	case cmd.Args().First() == "":
		return "", usagef("no SQL given: tokwatt query \"select * from summary\"")
	}
	return cmd.Args().First(), nil
}

// queryFormat is --format, else the ending of --out, else a table.
func (a *app) queryFormat(cmd *cli.Command) (string, error) {
	format, out := cmd.String("format"), cmd.String("out")
	if cmd.Bool("json") {
		format = "json"
	}
	format = cmp.Or(format, endings[ending(out)], ending(out), "table")
	if !slices.Contains(queryFormats, format) {
		return "", usagef("there is no format %q: take %s", format, alternatives(queryFormats))
	}
	if stdout, ok := a.out.(*checkedWriter); ok && stdout.plain && out == "" && slices.Contains(binaryFormats, format) {
		return "", usagef("--format %s is no text for a terminal: give --out FILE, or pipe it into a program", format)
	}
	return format, nil
}

// ending is what stands behind the last dot of a file's name.
func ending(file string) string {
	return strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
}

// endings name formats that are called otherwise.
var endings = map[string]string{"md": "markdown", "ndjson": "jsonl", "feather": "arrow", "arrows": "arrow", "txt": "table", "pq": "parquet"}

// binaryFormats are those that no terminal is to get.
var binaryFormats = []string{"parquet", "arrow"}

// answer runs the statement and writes its result: to stdout, or to a file
// that appears whole or not at all.
func (a *app) answer(ctx context.Context, cmd *cli.Command, db *duck.DB, sql, format string) error {
	out := cmd.String("out")
	if out == "" {
		return sqlError(a.print(ctx, db, sql, format))
	}
	write := func(w io.Writer) error { return sqlError(writeAnswer(ctx, w, db, sql, format)) }
	if format == "arrow" && ending(out) != "arrows" {
		write = func(w io.Writer) error { return sqlError(writeArrowFile(ctx, w, db, sql)) }
	}
	if err := writeOut(cmd, "out", out, write); err != nil {
		return err
	}
	fmt.Fprintln(a.out, out)
	return nil
}

// print writes the result to stdout; of a table it says that the terminal is
// too narrow.
func (a *app) print(ctx context.Context, db *duck.DB, sql, format string) error {
	if format != "table" {
		return writeAnswer(ctx, a.out, db, sql, format)
	}
	var b strings.Builder
	if err := writeAnswer(ctx, &b, db, sql, format); err != nil {
		return err
	}
	_, err := io.WriteString(a.out, b.String())
	if text := tooWide(widest(b.String()), terminalWidth(a.out)); text != "" {
		fmt.Fprintln(a.err, text)
	}
	return err
}

// writeAnswer runs the statement and writes its rows as they come. Parquet is
// DuckDB's own; Arrow is the stream form, which needs no end to begin with.
func writeAnswer(ctx context.Context, w io.Writer, db *duck.DB, sql, format string) error {
	if format == "parquet" {
		return db.WriteParquet(ctx, sql, w)
	}
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	if format == "arrow" {
		return arrowio.WriteStream(w, rows.Columns(), rows.All())
	}
	return writeRows(w, rows, format)
}

// writeArrowFile writes the form of Arrow that can be read at any place.
func writeArrowFile(ctx context.Context, w io.Writer, db *duck.DB, sql string) error {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	return arrowio.WriteFile(w, rows.Columns(), rows.All())
}

// tooWide is a hint for a table of more columns than the terminal has; 0
// columns are no terminal.
func tooWide(table, terminal int) string {
	if terminal == 0 || table <= terminal {
		return ""
	}
	return fmt.Sprintf("the table is %d columns wide, the terminal %d: name fewer columns, or take --format json", table, terminal)
}

// terminalWidth is 0 where w is no terminal. Stdout is wrapped, so the file
// behind it is asked.
func terminalWidth(w io.Writer) int {
	if c, ok := w.(*checkedWriter); ok {
		w = c.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// sqlError marks a fault in the SQL as the caller's.
func sqlError(err error) error {
	var fault *duck.Error
	if errors.As(err, &fault) {
		return usage(err)
	}
	return err
}

func writeRows(w io.Writer, rows *duck.Rows, format string) error {
	switch format {
	case "csv":
		return rowio.WriteCSV(w, rows.Names(), rows.All())
	case "json":
		return rowio.WriteJSON(w, rows.Names(), rows.All())
	case "jsonl":
		return rowio.WriteJSONL(w, rows.Names(), rows.All())
	}
	return drawRows(w, rows, format)
}

// drawRows draws a result as a table for people, on a screen or in Markdown.
func drawRows(w io.Writer, rows *duck.Rows, format string) error {
	var header []any
	var numeric []int
	for i, c := range rows.Columns() {
		header = append(header, c.Name)
		if isNumeric(c.Type) {
			numeric = append(numeric, i+1)
		}
	}
	t := newTable(w, header...)
	rightAligned(t, numeric...)
	for row, err := range rows.All() {
		if err != nil {
			return err
		}
		cells := make([]any, len(row))
		for i, v := range row {
			cells[i] = cell(v)
		}
		t.AppendRow(cells)
	}
	if format == "markdown" {
		t.RenderMarkdown()
		return nil
	}
	t.Render()
	return nil
}

func isNumeric(sqlType string) bool {
	base, _, _ := strings.Cut(sqlType, "(")
	switch base {
	case "DOUBLE", "FLOAT", "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "UBIGINT", "UINTEGER", "DECIMAL":
		return true
	}
	return false
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
