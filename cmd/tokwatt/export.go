package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze/duck/rowio"
	"tokwatt/collect"
	"tokwatt/collect/exchange"
)

// exportFormats are the forms of other tools, by name.
var exportFormats = map[string]func(io.Writer, iter.Seq2[collect.Record, error]) error{
	"exo":       exchange.ExoResults,
	"benchstat": exchange.Benchstat,
	"csv":       requestRows(rowio.WriteCSV),
	"jsonl":     requestRows(rowio.WriteJSONL),
}

// exportNames are the formats in the order of the help.
var exportNames = []string{"exo", "benchstat", "csv", "jsonl"}

func requestRows(write func(io.Writer, []string, iter.Seq2[[]any, error]) error) func(io.Writer, iter.Seq2[collect.Record, error]) error {
	return func(w io.Writer, records iter.Seq2[collect.Record, error]) error {
		names, rows := exchange.RequestRows(records)
		return write(w, names, rows)
	}
}

func (a *app) exporting() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "one session as a file for another tool",
		ArgsUsage: "[ID|last]",
		Description: `exo is a results file of exo-bench. benchstat is Go's benchmark format, a line
for each batch: benchstat old.txt new.txt, or benchstat -col /engine one.txt.
csv and jsonl have a row for each request, with the columns of the view runs.
Warm-ups are left out.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`NAME` " + strings.Join(exportNames, ", ") + "; or --out says it"},
			&cli.StringFlag{Name: "out", Usage: "`FILE` default stdout; .txt is benchstat, .json exo"},
		},
		Metadata: examples(
			"tokwatt export last --out new.txt",
			"tokwatt export last --out runs.csv",
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			db, id, err := oneSession(ctx, cmd)
			if err != nil {
				return err
			}
			write, err := exportFormat(cmd)
			if err != nil {
				return err
			}
			if err := somethingMeasured(ctx, cmd, id); err != nil {
				return err
			}
			session := func(w io.Writer) error { return write(w, db.Records(ctx, id)) }
			out := cmd.String("out")
			if out == "" {
				return session(a.out)
			}
			if err := writeOut(cmd, "out", out, session); err != nil {
				return err
			}
			fmt.Fprintln(a.out, out)
			return nil
		},
	}
}

// exportFormat is --format, else what the ending of --out says.
func exportFormat(cmd *cli.Command) (func(io.Writer, iter.Seq2[collect.Record, error]) error, error) {
	format := cmd.String("format")
	if out := cmd.String("out"); format == "" && out != "" {
		name := ending(out)
		format = cmp.Or(map[string]string{"json": "exo", "txt": "benchstat", "ndjson": "jsonl"}[name], name)
	}
	if format == "" {
		return nil, usagef("export needs --format %s", alternatives(exportNames))
	}
	if !slices.Contains(exportNames, format) {
		return nil, usagef("there is no format %q: take %s", format, alternatives(exportNames))
	}
	return exportFormats[format], nil
}
