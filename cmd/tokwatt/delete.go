package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/store"
)

func (a *app) delete() *cli.Command {
	return &cli.Command{
		Name:      "delete",
		Usage:     "take sessions out of the store, after asking",
		ArgsUsage: "[ID…]",
		Description: `The file keeps its size, and what comes next fills it, until --compact. Archives
keep what they have.`,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "older-than", Usage: "`D` those that began longer ago: 720h"},
			&cli.BoolFlag{Name: "yes", Usage: "don't ask"},
			&cli.BoolFlag{Name: "compact", Usage: "give the freed space back; alone: only that"},
		},
		Metadata: examples("tokwatt delete --yes last", "tokwatt delete --older-than 720h --yes --compact"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			db, err := openStore(cmd)
			if err != nil {
				return err
			}
			doomed, err := a.doomedSessions(ctx, cmd, db)
			if err != nil {
				return err
			}
			if err := a.deleteThem(ctx, cmd, db, doomed); err != nil {
				return err
			}
			if cmd.Bool("compact") {
				if err := db.Compact(ctx); err != nil {
					return storeError(err)
				}
			}
			return nil
		},
	}
}

// doomedSessions are those that the ids and --older-than name.
func (a *app) doomedSessions(ctx context.Context, cmd *cli.Command, db *store.Store) ([]listed, error) {
	age := cmd.Duration("older-than")
	if !cmd.Args().Present() && age <= 0 && !cmd.Bool("compact") {
		return nil, usagef("delete needs session ids or --older-than: `tokwatt list` shows the ids")
	}
	named := map[string]bool{}
	for _, prefix := range cmd.Args().Slice() {
		id, err := db.Find(ctx, prefix)
		if err != nil {
			return nil, storeError(err)
		}
		named[id] = true
	}
	all, err := a.storedSessions(ctx, cmd)
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, s := range all {
		if named[s.ID] || age > 0 && time.Since(dated(s.Session)) > age {
			out = append(out, s)
		}
	}
	return out, nil
}

func (a *app) deleteThem(ctx context.Context, cmd *cli.Command, db *store.Store, doomed []listed) error {
	if len(doomed) == 0 {
		fmt.Fprintln(a.out, "no session deleted")
		return nil
	}
	var ids []string
	for _, s := range doomed {
		release, err := db.Claim(ctx, s.ID) // nobody goes on with it meanwhile
		if errors.Is(err, store.ErrClaimed) {
			return usagef("session %s is being measured: stop it first", shortID(s.ID))
		} else if err != nil {
			return storeError(err)
		}
		defer release()
		ids = append(ids, s.ID)
	}
	if !cmd.Bool("yes") {
		a.listTable(doomed)
		fmt.Fprintf(a.out, "delete %s for good? [y/N] ", plural(int64(len(doomed)), "session"))
		answer, _ := bufio.NewReader(a.in).ReadString('\n')
		if strings.ToLower(strings.TrimSpace(answer)) != "y" {
			fmt.Fprintln(a.out, "no session deleted")
			return nil
		}
	}
	if err := db.Delete(ctx, ids...); err != nil {
		return storeError(err)
	}
	fmt.Fprintf(a.out, "%s deleted\n", plural(int64(len(ids)), "session"))
	return nil
}

// dated is when a session began, or else when it was imported.
func dated(s *collect.Session) time.Time {
	if s.StartedAt.IsZero() && s.Imported != nil {
		return s.Imported.ImportedAt
	}
	return s.StartedAt
}
