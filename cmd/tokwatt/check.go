package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"tokwatt/store"
)

func (a *app) check() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "verify the store or a dataset; say what is damaged",
		ArgsUsage: "[DIR]",
		Description: `Without DIR it is the store that is verified, with it the dataset in that
folder: tokwatt check dataset. It says what can be saved, and how.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "repair-to", Usage: "`FILE` save all that can be read into a new store"},
			jsonFlag(),
		},
		Metadata: examples("tokwatt check", "tokwatt check --repair-to saved.db"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			switch {
			case cmd.Args().Len() > 1:
				return usagef("check verifies one dataset at a time")
			case cmd.Args().Present() && cmd.String("repair-to") != "":
				return usagef("--repair-to saves a store: a dataset is written again by archive --to")
			case cmd.Args().Present():
				return a.checkDataset(ctx, cmd, cmd.Args().First())
			}
			db, err := openStore(cmd)
			if err != nil {
				return err
			}
			if to := cmd.String("repair-to"); to != "" {
				if err := fileHere("--repair-to", to); err != nil {
					return err
				}
				report, err := db.RepairTo(ctx, to)
				if err != nil {
					return storeError(err)
				}
				if cmd.Bool("json") {
					doc := checked(report)
					doc["saved_in"] = to
					return a.printJSON(doc)
				}
				a.printReport(report)
				fmt.Fprintf(a.out, "saved in %s\n", to)
				return nil
			}
			report, err := db.Check(ctx)
			if err != nil {
				return storeError(err)
			}
			if cmd.Bool("json") {
				if err := a.printJSON(checked(report)); err != nil {
					return err
				}
			} else {
				a.printReport(report)
			}
			if !report.OK() {
				return &coded{exitStore, errors.New("the store is damaged: `tokwatt check --repair-to FILE` saves what can be read")}
			}
			return nil
		},
	}
}

// printReport says what a store holds and what is wrong with it.
func (a *app) printReport(r store.Report) {
	fmt.Fprintf(a.out, "%s, %s, %s, %s\n%s MiB, of which %s are free\n",
		plural(r.Sessions, "session"), plural(r.Batches, "batch"), plural(r.Requests, "request"), plural(r.Chunks, "chunk"),
		mib(r.Bytes), mib(r.Free))
	for _, n := range r.Notes {
		fmt.Fprintf(a.out, "note: %s\n", n)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(a.out, "damaged: %v\n", p)
	}
	if r.More > 0 {
		fmt.Fprintf(a.out, "and %d more\n", r.More)
	}
	for _, l := range r.Losses {
		fmt.Fprintf(a.out, "session %s: %v\n", shortID(l.Session), l)
	}
	if r.OK() {
		fmt.Fprintln(a.out, "nothing is damaged")
	}
}

func mib(bytes int64) string { return sig(float64(bytes) / (1 << 20)) }

// checked is the report as --json prints it.
func checked(r store.Report) map[string]any {
	problems := []string{}
	for _, p := range r.Problems {
		problems = append(problems, p.Error())
	}
	losses := []map[string]any{}
	for _, l := range r.Losses {
		losses = append(losses, map[string]any{"session_id": l.Session, "batches": l.Batches, "lost_batches": l.Lost})
	}
	return map[string]any{
		"losses": losses,
		"bytes":  r.Bytes, "free_bytes": r.Free, "sessions": r.Sessions, "batches": r.Batches,
		"requests": r.Requests, "chunks": r.Chunks, "notes": r.Notes, "problems": problems, "more_problems": r.More,
	}
}
