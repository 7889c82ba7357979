package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

func (a *app) summary() *cli.Command {
	return &cli.Command{
		Name:      "summary",
		Usage:     "medians and spreads per case of a session, and what to mind",
		ArgsUsage: "[ID…|last]",
		Flags: []cli.Flag{
			datasetFlag(),
			&cli.BoolFlag{Name: "asiai", Usage: "asiai's M1 to M8, a row for each engine and model"},
			&cli.IntSliceFlag{Name: "percentiles", Usage: "`LIST` of the times: 50, 90, 99"},
			&cli.StringFlag{Name: "goodput", Usage: "`LIMITS` within ttft=500ms,e2el=2s (no unit: ms); also tpot, itl"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`NAME` table (default), markdown, csv or json"},
			jsonFlag(),
		},
		Metadata: examples("tokwatt summary last", "tokwatt summary --asiai last"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			format, err := answerFormat(cmd)
			if err != nil {
				return err
			}
			percentiles, err := knownPercentiles(cmd.IntSlice("percentiles"))
			if err != nil {
				return err
			}
			if cmd.Bool("asiai") && len(percentiles) > 0 {
				return usagef("--asiai has no percentiles: leave one of the two out")
			}
			var limits duck.Limits
			if given := cmd.String("goodput"); cmd.IsSet("goodput") {
				if cmd.Bool("asiai") || len(percentiles) > 0 {
					return usagef("--goodput has an answer of its own: leave --asiai and --percentiles out")
				}
				if limits, err = goodputLimits(given); err != nil {
					return err
				}
			}
			db, ids, done, err := a.askSessions(ctx, cmd, cmd.Args().Slice())
			if err != nil {
				return err
			}
			if err := somethingMeasured(ctx, cmd, ids...); err != nil {
				return errors.Join(err, done())
			}
			if limits != (duck.Limits{}) {
				return errors.Join(a.summariseGoodput(ctx, db, ids, format, limits), done())
			}
			if cmd.Bool("asiai") {
				return errors.Join(a.summariseAsiai(ctx, db, ids, format), done())
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
	return list, nil
}

// writeQuery prints a query of our own as rows.
func (a *app) writeQuery(ctx context.Context, db *duck.DB, sql, format string) error {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	return writeRows(a.out, rows, format)
}

func (a *app) summarise(ctx context.Context, db *duck.DB, ids []string, format string, percentiles []int) error {
	if format == "json" || format == "csv" {
		return a.writeQuery(ctx, db, "select * from summary where "+ofSessions(ids)+" order by session_id, case_id, prefix_cache_hit", format)
	}
	all, err := db.Summaries(ctx, duck.SummaryFilter{Sessions: ids})
	if err != nil {
		return err
	}
	if err := addStated(ctx, db, ids, all); err != nil {
		return err
	}
	return writeParts(ctx, a, db, ids, byTarget(all), func(rows []analyze.Summary, notes map[targetKey][]string) {
		mind := notes[targetKey{rows[0].SessionID, rows[0].TargetID}]
		writeSummary(a.out, rows, format, percentiles, append(mind, fewBatches(rows)...))
	})
}

// writeParts writes the parts of an answer about some sessions, each with what
// is to be minded of its targets.
func writeParts[R any](ctx context.Context, a *app, db *duck.DB, ids []string, parts [][]R, write func(part []R, notes map[targetKey][]string)) error {
	if len(parts) == 0 {
		return a.sayWhyNothing(ctx, db, ids)
	}
	notes, err := footnotes(ctx, db, ids)
	if err != nil {
		return err
	}
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		write(part, notes)
	}
	return nil
}

// sayWhyNothing says of each session without a case whether one is to come, or
// where else to look.
func (a *app) sayWhyNothing(ctx context.Context, db *duck.DB, ids []string) error {
	found, err := askAll(ctx, db, "select session_id, status, import_tool from sessions where "+ofSessions(ids)+" order by session_id")
	if err != nil {
		return err
	}
	for _, row := range found.rows {
		session, _ := row[0].(string)
		status, _ := row[1].(string)
		id := shortID(session)
		switch tool, imported := row[2].(string); {
		case imported:
			fmt.Fprintf(a.err, "session %s, imported from a file of %s, has no single request: `tokwatt show %s` says why\n", id, tool, id)
		case status == "complete" || status == "failed":
			fmt.Fprintf(a.err, "session %s ended without a batch: `tokwatt show %s` says why\n", id, id)
		default:
			fmt.Fprintf(a.err, "no batch of session %s has ended yet\n", id)
		}
	}
	return nil
}
