package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
)

func (a *app) metrics() *cli.Command {
	return &cli.Command{
		Name:     "metrics",
		Usage:    "every figure and flag: its unit and rule, its meaning",
		Flags:    []cli.Flag{jsonFlag()},
		Metadata: examples("tokwatt metrics", "tokwatt metrics --json"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			if cmd.Bool("json") {
				return a.printJSON(map[string]any{"metrics": analyze.Metrics(), "flags": analyze.Flags(), "marks": analyze.Marks()})
			}
			t := newTable(a.out, "name", "unit", "better", "what it is: rule")
			wrapped(t, 4, 34)
			for _, m := range analyze.Metrics() {
				t.AppendRow([]any{m.Name, m.Unit, m.Better, m.Label + ": " + m.Rule})
			}
			t.Render()
			fmt.Fprintln(a.out)
			t = newTable(a.out, "flag", "meaning")
			wrapped(t, 2, 56)
			for _, f := range analyze.Flags() {
				t.AppendRow([]any{f.Name, f.Meaning})
			}
			t.Render()
			for _, m := range analyze.Marks() {
				fmt.Fprintf(a.out, "%s of %s: %s\n", m.Column, m.Driver, m.Meaning)
			}
			return nil
		},
	}
}
