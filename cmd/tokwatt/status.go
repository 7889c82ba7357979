package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/store"
)

func (a *app) status() *cli.Command {
	return &cli.Command{
		Name:     "status",
		Usage:    "a bench that is running now: where it is, how long it will take",
		Flags:    []cli.Flag{jsonFlag()},
		Metadata: examples("tokwatt status", "tokwatt status --json"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			all, err := a.sessions(ctx, cmd)
			if err != nil {
				return err
			}
			var active []listed
			for _, s := range all {
				if s.Running && s.Segment != nil {
					active = append(active, s)
				}
			}
			if cmd.Bool("json") {
				return a.listJSON(active)
			}
			if len(active) == 0 {
				fmt.Fprintln(a.out, "nothing is running")
			}
			for _, s := range active {
				fmt.Fprintf(a.out, "%s  %d of %d batches, %d requests, %d failed%s\n",
					shortID(s.ID), s.Batches, s.Planned, s.Requests, s.Failed, remaining(s.SessionInfo))
			}
			return nil
		},
	}
}

// remaining estimates how long the rest takes, from the batches so far of the
// process that runs: those of earlier segments were not measured in its time.
func remaining(s store.SessionInfo) string {
	here := s.Batches - (s.Planned - s.Segment.PlannedBatches)
	if here <= 0 || s.Batches >= s.Planned {
		return ""
	}
	spent := s.LastActivity.Sub(s.Segment.StartedAt)
	rest := spent/time.Duration(here)*time.Duration(s.Planned-s.Batches) - time.Since(s.LastActivity)
	return fmt.Sprintf(", about %v left", max(rest, 0).Round(time.Second))
}
