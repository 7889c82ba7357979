package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/plot"
)

// figures are the kinds of plot.
var figures = map[string]func([]analyze.Summary, plot.Options) (*plot.Figure, error){
	"scaling": plot.Scaling,
	"latency": plot.Latency,
}

func (a *app) plot() *cli.Command {
	return &cli.Command{
		Name:      "plot",
		Usage:     "draw a picture of the newest session or those named",
		ArgsUsage: "KIND [ID…|last]",
		Description: `scaling   prefill and generation rate against prompt length or concurrency
latency   time to first token and between tokens, per case`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "`FILE` .png, .svg or .pdf (KIND.png)"},
			datasetFlag(),
			&cli.StringFlag{Name: "x", Usage: "`AXIS` pp or concurrency (the one that varies)"},
			&cli.StringSliceFlag{Name: "y", Usage: "`METRIC` may be repeated, a panel each"},
			&cli.StringSliceFlag{Name: "by", Usage: "`KEY` what tells the lines apart: engine, model_id, pp, …"},
			&cli.StringSliceFlag{Name: "where", Usage: "`KEY=VALUE` only those cases"},
			&cli.StringFlag{Name: "log", Usage: "`AXES` logarithmic: x, y, xy or none (where needed)"},
		},
		Metadata: examples("tokwatt plot scaling --out scaling.png", "tokwatt plot latency --out latency.svg last"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			kind := cmd.Args().First()
			draw, ok := figures[kind]
			if !ok {
				return usagef("there is no plot %q: take scaling or latency", kind)
			}
			out := cmd.String("out")
			if out == "" {
				out = kind + ".png"
			}
			format, err := plot.FormatOf(out)
			if err != nil {
				return usage(err)
			}
			rows, err := a.plotted(ctx, cmd)
			if err != nil {
				return err
			}
			figure, err := draw(rows, plot.Options{X: cmd.String("x"), Y: cmd.StringSlice("y"), By: cmd.StringSlice("by"), Log: cmd.String("log")})
			if err != nil {
				return usage(err)
			}
			if err := writeOut(cmd, "out", out, func(w io.Writer) error { return figure.Write(w, format) }); err != nil {
				return err
			}
			fmt.Fprintln(a.out, out)
			return nil
		},
	}
}

// plotted are the summaries that the arguments and --where choose.
func (a *app) plotted(ctx context.Context, cmd *cli.Command) (rows []analyze.Summary, err error) {
	db, ids, done, err := a.askSessions(ctx, cmd, cmd.Args().Tail())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	rows, err = db.Summaries(ctx, duck.SummaryFilter{Sessions: ids, Points: true})
	if err != nil {
		return nil, err
	}
	for _, cond := range cmd.StringSlice("where") {
		key, want, _ := strings.Cut(cond, "=")
		have, ok := conditions[key]
		if !ok {
			return nil, usagef("--where %s: must be KEY=VALUE with a key of %s", cond, strings.Join(slices.Sorted(maps.Keys(conditions)), ", "))
		}
		rows = slices.DeleteFunc(rows, func(s analyze.Summary) bool { return have(s) != want })
	}
	return rows, nil
}

// conditions are the keys of --where.
var conditions = map[string]func(analyze.Summary) string{
	"engine":           func(s analyze.Summary) string { return s.Engine },
	"engine_version":   func(s analyze.Summary) string { return s.EngineVersion },
	"model_id":         func(s analyze.Summary) string { return s.ModelID },
	"quantization":     func(s analyze.Summary) string { return s.Quantization },
	"host":             func(s analyze.Summary) string { return s.Host },
	"cache_mode":       func(s analyze.Summary) string { return s.CacheMode },
	"prefix_cache_hit": func(s analyze.Summary) string { return s.PrefixCacheHit },
	"prompt_kind":      func(s analyze.Summary) string { return s.PromptKind },
	"tg":               func(s analyze.Summary) string { return strconv.FormatInt(s.TG, 10) },
	"concurrency":      func(s analyze.Summary) string { return strconv.FormatInt(s.Concurrency, 10) },
	"pp": func(s analyze.Summary) string {
		if s.PP == nil {
			return ""
		}
		return strconv.FormatInt(*s.PP, 10)
	},
}
