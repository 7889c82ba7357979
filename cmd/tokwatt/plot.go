package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/plot"
)

// drawing makes the figure that a command line wants.
type drawing func(ctx context.Context, cmd *cli.Command) (*plot.Figure, error)

func (a *app) plot() *cli.Command {
	return &cli.Command{
		Name:  "plot",
		Usage: "draw a picture of the newest session or those named",
		Description: `Each kind of picture is a command, whose --help has its flags: PNG at 200 dpi,
SVG with its font inside, or PDF, by the name after --out; --theme dark for dark
pages. What cannot be drawn is refused with the reason.`,
		Commands: []*cli.Command{
			a.plotScaling(), a.plotLatency(), a.plotITL(), a.plotEnergy(), a.plotPower(), a.plotCompare(), a.plotHistory(),
		},
		Metadata: examples("tokwatt plot scaling --out scaling.png", "tokwatt plot power --out power.svg last"),
		Action:   noKind,
	}
}

// noKind answers a call without a kind, or with one that does not exist.
func noKind(_ context.Context, cmd *cli.Command) error {
	var kinds []string
	for _, c := range cmd.Commands {
		kinds = append(kinds, c.Name)
	}
	name := cmd.Args().First()
	if name == "" {
		return usagef("plot what? Take %s", alternatives(kinds))
	}
	return noSuchCommand(cmd, name)
}

// kind is the command of one kind of picture.
func (a *app) kind(name, usage, args string, draw drawing, flags ...cli.Flag) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: args,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "`FILE` .png, .svg or .pdf (" + name + ".png)"},
			&cli.StringFlag{Name: "theme", Usage: "`NAME` light (default) or dark"},
			datasetFlag(),
		}, flags...),
		Action: func(ctx context.Context, cmd *cli.Command) error { return a.drawPlot(ctx, cmd, draw) },
	}
}

// The flags that kinds share.
func xFlag() cli.Flag {
	return &cli.StringFlag{Name: "x", Usage: "`AXIS` pp, concurrency or nodes (the first that varies)"}
}

// yFlag answers to --metric too, as compare calls it.
func yFlag(without string) cli.Flag {
	return &cli.StringSliceFlag{Name: "y", Aliases: []string{"metric"}, Usage: "`METRIC` a panel each (" + without + ")"}
}

func byFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "by", Usage: "`KEY` what tells the series apart: engine, model_id, pp, …"}
}

func whereFlag(usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: "where", Usage: "`KEY=VALUE` " + usage}
}

func logFlag(axes string) cli.Flag {
	return &cli.StringFlag{Name: "log", Usage: "`AXES` logarithmic: " + axes}
}

const onlyCases = "only those cases: engine=exo, pp=512, …"

// plotValues are the values of the flags of plot that take one of a few words,
// for completion.
func plotValues(flag string) []string {
	switch flag {
	case "theme":
		var names []string
		for _, t := range plot.Themes() {
			names = append(names, string(t))
		}
		return names
	case "x":
		return []string{"pp", "concurrency", "nodes"}
	case "log":
		return []string{"x", "y", "xy", "none"}
	case "by":
		return plot.Keys()
	case "y", "metric":
		var names []string
		for _, m := range analyze.Metrics() {
			names = append(names, m.Name)
		}
		return names
	}
	return nil
}

func (a *app) drawPlot(ctx context.Context, cmd *cli.Command, draw drawing) error {
	out := cmd.String("out")
	if out == "" {
		out = cmd.Name + ".png"
	}
	format, err := plot.FormatOf(out)
	if err != nil {
		return usage(err)
	}
	theme, err := plot.ThemeNamed(cmd.String("theme"))
	if err != nil {
		return usage(err)
	}
	figure, err := draw(ctx, cmd)
	if err != nil {
		return err
	}
	figure.Theme = theme
	if err := writeOut(cmd, "out", out, func(w io.Writer) error { return figure.Write(w, format) }); err != nil {
		return err
	}
	fmt.Fprintln(a.out, out)
	return nil
}

// ofSessions is a drawing that asks SQL of the sessions named, or of the newest.
func (a *app) ofSessions(draw func(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) (*plot.Figure, error)) drawing {
	return func(ctx context.Context, cmd *cli.Command) (f *plot.Figure, err error) {
		db, ids, done, err := a.askSessions(ctx, cmd, cmd.Args().Slice())
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, done()) }()
		return draw(ctx, cmd, db, ids)
	}
}

// plotOptions are those of figures that are made of cases.
func plotOptions(cmd *cli.Command) (plot.Options, error) {
	_, err := metricsNamed(cmd.StringSlice("y"))
	return plot.Options{X: cmd.String("x"), Y: cmd.StringSlice("y"), By: cmd.StringSlice("by"), Log: cmd.String("log")}, err
}

// asUsage marks what a figure refuses as the caller's.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usage(err)
}
