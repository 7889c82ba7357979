package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/plot"
)

// drawing makes a figure of the sessions with the ids, as the flags want it.
type drawing func(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) (*plot.Figure, error)

// figures are the kinds of plot.
var figures = map[string]drawing{
	"scaling": ofSummaries(plot.Scaling),
	"latency": ofSummaries(plot.Latency),
	"energy":  energyFigure,
	"power":   powerFigure,
}

func (a *app) plot() *cli.Command {
	return &cli.Command{
		Name:      "plot",
		Usage:     "draw a picture of the newest session or those named",
		ArgsUsage: "KIND [ID…|last]",
		Description: `scaling   prefill and generation rate against prompt length or concurrency
latency   time to first token and between tokens, per case
energy    energy per token against prompt length or concurrency, with its bounds
power     power over the time of one session, and the phases of its batches`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "`FILE` .png, .svg or .pdf (KIND.png)"},
			datasetFlag(),
			&cli.StringFlag{Name: "x", Usage: "`AXIS` pp or concurrency (the one that varies)"},
			&cli.StringSliceFlag{Name: "y", Usage: "`METRIC` may be repeated, a panel each"},
			&cli.StringSliceFlag{Name: "by", Usage: "`KEY` what tells the lines apart: engine, model_id, pp, …"},
			&cli.StringSliceFlag{Name: "where", Usage: "`KEY=VALUE` only those cases; power: node, scope, batch_id, …"},
			&cli.StringFlag{Name: "log", Usage: "`AXES` logarithmic: x, y, xy or none (where needed)"},
		},
		Metadata: examples("tokwatt plot scaling --out scaling.png", "tokwatt plot power --out power.svg last"),
		Action:   a.drawPlot,
	}
}

func (a *app) drawPlot(ctx context.Context, cmd *cli.Command) error {
	kind := cmd.Args().First()
	draw, ok := figures[kind]
	if !ok {
		return usagef("there is no plot %q: take %s", kind, alternatives([]string{"scaling", "latency", "energy", "power"}))
	}
	out := cmd.String("out")
	if out == "" {
		out = kind + ".png"
	}
	format, err := plot.FormatOf(out)
	if err != nil {
		return usage(err)
	}
	figure, err := a.figure(ctx, cmd, draw)
	if err != nil {
		return err
	}
	if err := writeOut(cmd, "out", out, func(w io.Writer) error { return figure.Write(w, format) }); err != nil {
		return err
	}
	fmt.Fprintln(a.out, out)
	return nil
}

// figure draws what the arguments choose.
func (a *app) figure(ctx context.Context, cmd *cli.Command, draw drawing) (f *plot.Figure, err error) {
	db, ids, done, err := a.askSessions(ctx, cmd, cmd.Args().Tail())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	return draw(ctx, cmd, db, ids)
}

// plotOptions are those of figures that are made of cases.
func plotOptions(cmd *cli.Command) plot.Options {
	return plot.Options{X: cmd.String("x"), Y: cmd.StringSlice("y"), By: cmd.StringSlice("by"), Log: cmd.String("log")}
}

// ofSummaries is the drawing of a figure that is made of summaries.
func ofSummaries(draw func([]analyze.Summary, plot.Options) (*plot.Figure, error)) drawing {
	return func(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) (*plot.Figure, error) {
		rows, err := db.Summaries(ctx, duck.SummaryFilter{Sessions: ids, Points: true})
		if err != nil {
			return nil, err
		}
		keep, err := caseConditions(cmd)
		if err != nil {
			return nil, err
		}
		f, err := draw(slices.DeleteFunc(rows, func(s analyze.Summary) bool { return !keep(s) }), plotOptions(cmd))
		return f, asUsage(err)
	}
}

func energyFigure(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) (*plot.Figure, error) {
	cases, err := db.EnergyCases(ctx, duck.SummaryFilter{Sessions: ids})
	if err != nil {
		return nil, err
	}
	keep, err := caseConditions(cmd)
	if err != nil {
		return nil, err
	}
	f, err := plot.Energy(slices.DeleteFunc(cases, func(c analyze.EnergyCase) bool { return !keep(c.Summary) }), plotOptions(cmd))
	return f, asUsage(err)
}

func powerFigure(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) (*plot.Figure, error) {
	if len(ids) > 1 {
		return nil, usagef("power is of one session, and here are %d: name one", len(ids))
	}
	for _, name := range []string{"x", "y", "by", "log"} {
		if cmd.IsSet(name) {
			return nil, usagef("--%s does not go with power, which is watts over time: --where chooses what is shown", name)
		}
	}
	opt, err := powerConditions(cmd)
	if err != nil {
		return nil, err
	}
	s, err := db.PowerSession(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	f, err := plot.Power(s, opt)
	return f, asUsage(err)
}

// asUsage marks what a figure refuses as the caller's.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usage(err)
}

// keysOf lists the keys of conditions for a message.
func keysOf[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }
