package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"tokwatt/analyze/duck"
	"tokwatt/analyze/duck/arrowio"
	"tokwatt/analyze/duck/rowio"
)

var queryFormats = []string{"table", "line", "csv", "json", "jsonl", "markdown", "parquet", "arrow"}

func (a *app) query() *cli.Command {
	return &cli.Command{
		Name:      "query",
		Usage:     "ask all sessions with SQL",
		ArgsUsage: "SQL",
		Description: `SQL is a SELECT over the tables sessions, segments, targets, cases, batches,
requests, chunks, samples and energy and the views runs, batch_runs, summary,
summary_long, goodput, phases and asiai; - reads it from stdin. Begin with runs
(a row a request) and batch_runs (a row a batch), which leave warm-ups out.
Medians want in_stats, those of prompt_tps in_prefill_stats (no exact hits).
DESCRIBE runs lists its columns; what else SHOW TABLES names is for the views.
docs/cookbook.md answers twenty questions with it. A table that is wider than
the terminal is written as records, a line a column.`,
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

// sqlFirst lets the SQL of a query begin with a comment: what has a space behind
// its dashes is no flag.
func sqlFirst(args []string) []string {
	out := slices.Clone(args)
	for i, a := range args {
		if rest, dashed := strings.CutPrefix(a, "--"); dashed && strings.TrimLeft(rest, " \t\r\n") != rest && slices.Contains(args[:i], "query") {
			out[i] = "/**/" + a
		}
	}
	return out
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
		if format != "" && format != "json" {
			return "", jsonAnd(format)
		}
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

// print writes the result to stdout: a table that is wider than the terminal as
// records.
func (a *app) print(ctx context.Context, db *duck.DB, sql, format string) error {
	if format != "table" {
		return writeAnswer(ctx, a.out, db, sql, format)
	}
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	return drawRows(a.out, rows, format, terminalWidth(a.out))
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
	return drawRows(w, rows, format, 0)
}
