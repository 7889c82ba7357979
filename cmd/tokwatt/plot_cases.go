package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/plot"
)

const sessionArgs = "[ID…|last]"

func (a *app) plotScaling() *cli.Command {
	c := a.kind("scaling", "rates against prompt length, concurrency or nodes", sessionArgs, a.ofSessions(ofSummaries(plot.Scaling)),
		xFlag(), yFlag("prompt_tps and generation_tps"), byFlag(), whereFlag(onlyCases), logFlag("x, y, xy or none (where needed)"))
	c.Description = `A panel per metric, a line per engine, model and whatever else varies: medians
over batches, from 6 of them on with a 95 % interval, and each batch faintly.`
	c.Metadata = examples("tokwatt plot scaling last",
		"tokwatt plot scaling --x concurrency --y agg_wall_tps --where pp=512 --theme dark --out load.svg")
	return c
}

func (a *app) plotLatency() *cli.Command {
	c := a.kind("latency", "time to first token and between tokens, per case", sessionArgs, a.ofSessions(ofSummaries(plot.Latency)),
		yFlag("ttft_ms and itl_p50_ms"), byFlag(), whereFlag(onlyCases), logFlag("x or none (where needed)"))
	c.Description = `A lane per case: each batch as a dot, the median with its interval, from 10
batches on a box of the middle half, and the requests' 90th and 99th percentile
where there are enough of them. --by says what the colours are.`
	c.Metadata = examples("tokwatt plot latency last", "tokwatt plot latency --y ttft_client_ms --by engine --log x --out ttft.pdf")
	return c
}

func (a *app) plotEnergy() *cli.Command {
	c := a.kind("energy", "energy per token against prompt length, concurrency or nodes", sessionArgs, a.ofSessions(energyFigure),
		xFlag(), yFlag("j_per_output_token"), byFlag(), whereFlag(onlyCases), logFlag("x, y, xy or none (where needed)"))
	c.Description = `A panel per metric and scope of the sensors. Whiskers are the bounds that the
readings set to the energy; hollow marks have none. Batches without a figure are
counted with the reason.`
	c.Metadata = examples("tokwatt plot energy last", "tokwatt plot energy --y j_per_total_token --x concurrency --where pp=512 --out energy.svg")
	return c
}

// ofSummaries draws a figure that is made of summaries.
func ofSummaries(draw func([]analyze.Summary, plot.Options) (*plot.Figure, error)) func(context.Context, *cli.Command, *duck.DB, []string) (*plot.Figure, error) {
	return func(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) (*plot.Figure, error) {
		rows, opt, err := chosenCases(ctx, cmd, db, ids)
		if err != nil {
			return nil, err
		}
		f, err := draw(rows, opt)
		return f, asUsage(err)
	}
}

// chosenCases are the summaries that --where keeps, with their batches.
func chosenCases(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) ([]analyze.Summary, plot.Options, error) {
	read := func(f duck.SummaryFilter) ([]analyze.Summary, error) {
		f.Points = true
		return db.Summaries(ctx, f)
	}
	return chosen(ctx, cmd, db, ids, read, func(s *analyze.Summary) *analyze.Summary { return s })
}

// chosen are the cases that --where keeps, and the options of their figure. The
// flags are read before anything is asked.
func chosen[C any](ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string, read func(duck.SummaryFilter) ([]C, error),
	summary func(*C) *analyze.Summary) ([]C, plot.Options, error) {
	opt, err := plotOptions(cmd)
	if err != nil {
		return nil, opt, err
	}
	wanted, err := caseConditions(cmd)
	if err != nil {
		return nil, opt, err
	}
	f := duck.SummaryFilter{Sessions: ids}
	if len(wanted) > 0 {
		if f, err = narrowTo(ctx, db, f, wanted); err != nil {
			return nil, opt, err
		}
	}
	cases, err := read(f)
	if err != nil {
		return nil, opt, err
	}
	cases, err = kept(cases, wanted, summary)
	return cases, opt, err
}

func energyFigure(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) (*plot.Figure, error) {
	read := func(f duck.SummaryFilter) ([]analyze.EnergyCase, error) { return db.EnergyCases(ctx, f) }
	cases, opt, err := chosen(ctx, cmd, db, ids, read, func(c *analyze.EnergyCase) *analyze.Summary { return &c.Summary })
	if err != nil {
		return nil, err
	}
	f, err := plot.Energy(cases, opt)
	return f, asUsage(err)
}

func (a *app) plotHistory() *cli.Command {
	c := a.kind("history", "a metric over sessions, with the versions that changed", "[ID…]", a.historyFigure,
		yFlag("generation_tps"), byFlag(), whereFlag(onlyCases), logFlag("y or none (none)"))
	c.Description = `All sessions, or those named, in the order of time. Above the picture stand the
versions of tokwatt, of the engines and of the operating system where they
changed, with an upright line at each change.`
	c.Metadata = examples("tokwatt plot history --where pp=512,concurrency=1", "tokwatt plot history --y ttft_ms --by engine --where pp=128,concurrency=1 --out ttft.png")
	return c
}

// historyFigure draws all sessions where none is named.
func (a *app) historyFigure(ctx context.Context, cmd *cli.Command) (f *plot.Figure, err error) {
	var db *duck.DB
	var ids []string
	var done func() error
	if cmd.Args().Present() {
		db, ids, done, err = a.askSessions(ctx, cmd, cmd.Args().Slice())
	} else {
		db, done, err = a.sql(ctx, cmd)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	rows, opt, err := chosenCases(ctx, cmd, db, ids)
	if err != nil {
		return nil, err
	}
	versions, err := db.SessionVersions(ctx, ids)
	if err != nil {
		return nil, err
	}
	f, err = plot.History(rows, versions, opt)
	return f, asUsage(err)
}

func (a *app) plotCompare() *cli.Command {
	c := a.kind("compare", "one selection of runs against another, case by case", "A B", a.compareFigure,
		yFlag("the headline figures"))
	c.Description = `A and B are selections as compare takes them. A row per case: the change of B
against A with its 95 % interval, coloured where the rank test shows a
difference, and beside it the medians, the batches and the test's p.`
	c.Metadata = examples("tokwatt plot compare last,engine=mlx_lm last,engine=llama.cpp",
		"tokwatt plot compare --y ttft_ms --out ttft.svg last,pp=512 last,pp=128")
	return c
}

func (a *app) compareFigure(ctx context.Context, cmd *cli.Command) (*plot.Figure, error) {
	if n := cmd.Args().Len(); n != 2 {
		return nil, usagef("plot compare takes two selections, A and B, and here are %d: `tokwatt plot compare --help` shows how it is called", n)
	}
	metrics, err := metricsNamed(cmd.StringSlice("y"))
	if err != nil {
		return nil, err
	}
	c, err := a.compareSelections(ctx, cmd, cmd.Args().Slice(), metrics)
	if err != nil {
		return nil, err
	}
	f, err := plot.Compare(*c.set, c.a.name(), c.b.name())
	return f, asUsage(err)
}
