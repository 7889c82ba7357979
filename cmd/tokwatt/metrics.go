package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
)

func (a *app) metrics() *cli.Command {
	return &cli.Command{
		Name:     "metrics",
		Usage:    "every figure: its name, unit and rule",
		Flags:    []cli.Flag{jsonFlag()},
		Metadata: examples("tokwatt metrics", "tokwatt metrics --json"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			if cmd.Bool("json") {
				return a.printJSON(analyze.Metrics())
			}
			t := newTable(a.out, "name", "unit", "better", "rule")
			wrapped(t, 4, 34)
			for _, m := range analyze.Metrics() {
				t.AppendRow([]any{m.Name, m.Unit, m.Better, m.Rule})
			}
			t.Render()
			return nil
		},
	}
}
