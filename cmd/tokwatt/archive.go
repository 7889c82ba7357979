package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/store"
)

func (a *app) archive() *cli.Command {
	return &cli.Command{
		Name:  "archive",
		Usage: "write ended sessions into a Parquet dataset",
		Description: `Many hosts may archive into one folder: each session has files of its own, and
one that is there already is left as it is, unless it is damaged.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "`DIR` the dataset's folder"},
			&cli.StringFlag{Name: "since", Usage: "`DAY` only sessions from then on: 2026-01-31"},
			&cli.StringSliceFlag{Name: "session", Usage: "`ID` only this session; may be repeated"},
			jsonFlag(),
		},
		Commands: []*cli.Command{a.archiveCompact(), a.archiveSQL()},
		Metadata: examples(
			"tokwatt archive --to dataset",
			`tokwatt query --dataset dataset "select count(*) as n from sessions"`,
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			if cmd.String("to") == "" {
				return usagef("archive needs --to, the folder of the dataset")
			}
			if err := datasetHere("--to", cmd.String("to")); err != nil {
				return err
			}
			db, err := openStore(cmd)
			if err != nil {
				return err
			}
			chosen, err := chosenSessions(ctx, cmd, db)
			if err != nil {
				return err
			}
			return a.archiveTo(ctx, cmd, db, chosen)
		},
	}
}

// chosenSessions are the sessions that --since and --session leave.
func chosenSessions(ctx context.Context, cmd *cli.Command, db *store.Store) ([]store.SessionInfo, error) {
	var since time.Time
	if day := cmd.String("since"); day != "" {
		var err error
		if since, err = time.ParseInLocation(time.DateOnly, day, time.UTC); err != nil {
			return nil, usagef("--since %s: must be a day such as 2026-01-31", day)
		}
	}
	var ids []string
	for _, prefix := range cmd.StringSlice("session") {
		id, err := db.Find(ctx, prefix)
		if err != nil {
			return nil, storeError(err)
		}
		ids = append(ids, id)
	}
	all, err := db.Sessions(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	return slices.DeleteFunc(all, func(s store.SessionInfo) bool {
		return dated(s.Session).Before(since) || len(ids) > 0 && !slices.Contains(ids, s.ID)
	}), nil
}

// archived is what became of the sessions.
type archived struct {
	Written  []string `json:"written"`
	Repaired []string `json:"repaired"` // were there, but damaged
	Present  int      `json:"present"`
	Running  int      `json:"running"` // left out
}

func (a *app) archiveTo(ctx context.Context, cmd *cli.Command, db *store.Store, sessions []store.SessionInfo) error {
	dir := cmd.String("to")
	have, err := analyze.SessionsIn(dir)
	if err != nil {
		return fmt.Errorf("dataset %s: %w", dir, err)
	}
	sum := archived{Written: []string{}, Repaired: []string{}}
	var failed []error
	for _, s := range sessions {
		err := a.archiveOne(ctx, db, s, dir, slices.Contains(have, s.ID), &sum)
		if err != nil && (ctx.Err() != nil || diskFull(err)) {
			return err
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(sum.Written)+len(sum.Repaired)+sum.Present > 0 {
		if err := analyze.Bundle(ctx, dir, false); err != nil { // the sessions are there without it
			fmt.Fprintf(a.err, "tokwatt: %v\n", err)
		}
	}
	if cmd.Bool("json") {
		if err := a.printJSON(sum); err != nil {
			return err
		}
	} else if len(failed) < len(sessions) {
		a.printArchived(sum, dir)
	}
	return notArchived(failed)
}

// archiveOne writes a session where it is not there as the store has it.
func (a *app) archiveOne(ctx context.Context, db *store.Store, s store.SessionInfo, dir string, there bool, sum *archived) error {
	if s.Running {
		sum.Running++
		return nil
	}
	m, damage := analyze.ReadManifest(dir, s.ID)
	if m != nil {
		damage = m.Verify(dir)
	} else if damage == nil && there {
		damage = errors.New("it has no manifest")
	}
	if m != nil && damage == nil && m.Current(records(s)) {
		sum.Present++
		return nil
	}
	ok, err := a.export(ctx, db, s, dir, true)
	switch {
	case err != nil || !ok:
		return err
	case damage != nil:
		sum.Repaired = append(sum.Repaired, s.ID)
	default:
		sum.Written = append(sum.Written, s.ID)
	}
	return nil
}

// diskFull reports whether an error is of the disk, and the next session's would be
// the same.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

// notArchived says why sessions were left out, the first of them in full.
func notArchived(failed []error) error {
	if len(failed) < 2 {
		return errors.Join(failed...)
	}
	return fmt.Errorf("%s not archived: %w", plural(int64(len(failed)), "session"), failed[0])
}

func (a *app) printArchived(sum archived, dir string) {
	fmt.Fprintf(a.out, "%s written to %s, %d already there", plural(int64(len(sum.Written)), "session"), dir, sum.Present)
	if n := len(sum.Repaired); n > 0 {
		fmt.Fprintf(a.out, ", %d repaired", n)
	}
	if sum.Running > 0 {
		fmt.Fprintf(a.out, ", %d still running left out", sum.Running)
	}
	fmt.Fprintln(a.out)
}
