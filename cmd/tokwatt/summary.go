package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze/duck"
)

func (a *app) summary() *cli.Command {
	return &cli.Command{
		Name:      "summary",
		Usage:     "medians, spreads and what to mind, per target and case",
		ArgsUsage: "[ID…|last]",
		Flags: []cli.Flag{
			&cli.IntSliceFlag{Name: "percentiles", Usage: "`LIST` of 90, 99: the times' too"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`NAME` table (default), markdown, csv or json"},
			jsonFlag(),
		},
		Metadata: examples("tokwatt summary last", "tokwatt summary --format markdown last"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			format := cmd.String("format")
			if cmd.Bool("json") {
				format = "json"
			}
			if !slices.Contains([]string{"table", "markdown", "csv", "json"}, format) {
				return usagef("there is no format %q: take table, markdown, csv or json", format)
			}
			percentiles, err := knownPercentiles(cmd.IntSlice("percentiles"))
			if err != nil {
				return err
			}
			ids, err := someSessions(ctx, cmd, cmd.Args().Slice())
			if err != nil {
				return err
			}
			db, done, err := a.sql(ctx, cmd, ids...)
			if err != nil {
				return err
			}
			return errors.Join(a.summarise(ctx, db, ids, format, percentiles), done())
		},
	}
}

// knownPercentiles refuses those that the view summary does not have.
func knownPercentiles(list []int) ([]int, error) {
	for _, p := range list {
		if p != 50 && p != 90 && p != 99 {
			return nil, usagef("--percentiles %d: there are 50, 90 and 99; `tokwatt query` computes others with percentile_cont", p)
		}
	}
	return slices.DeleteFunc(list, func(p int) bool { return p == 50 }), nil // the median is always there
}

// someSessions are the sessions with the given prefixes; the newest without any.
func someSessions(ctx context.Context, cmd *cli.Command, prefixes []string) ([]string, error) {
	db, err := openStore(cmd)
	if err != nil {
		return nil, err
	}
	if len(prefixes) == 0 {
		prefixes = []string{"last"}
	}
	var ids []string
	for _, p := range prefixes {
		id, err := db.Find(ctx, p)
		if err != nil {
			return nil, storeError(err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (a *app) summarise(ctx context.Context, db *duck.DB, ids []string, format string, percentiles []int) error {
	if format == "json" || format == "csv" {
		rows, err := db.Query(ctx, "select * from summary where session_id in ('"+strings.Join(ids, "', '")+"') order by session_id, case_id, prefix_cache_hit")
		if err != nil {
			return err
		}
		defer rows.Close()
		return writeRows(a.out, rows, format)
	}
	all, err := db.Summaries(ctx, duck.SummaryFilter{Sessions: ids})
	if err != nil {
		return err
	}
	for i, target := range byTarget(all) {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		writeSummary(a.out, target, format, percentiles)
	}
	return nil
}
