package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/collect/calibrate"
	"tokwatt/collect/host"
	"tokwatt/power"
	sensors "tokwatt/power/local"
	"tokwatt/store"
)

func (a *app) calibrate() *cli.Command {
	return &cli.Command{
		Name:  "calibrate",
		Usage: "how wrong this client's own times are on this host",
		Description: `Measures a server of its own, a process whose times are known, as collect
would, and compares. Takes some 15 s; what else runs on this host counts. The
store keeps the newest result, and every session that follows a copy of it.`,
		Flags: []cli.Flag{
			&intsFlag{Name: "concurrency", Usage: "`N,…` streams at once (1,8,32)", DefaultText: "1,8,32"},
			&cli.IntFlag{Name: "requests", Usage: "`N` at least, per number of streams (100; fewer: no p99)", Value: calibrate.DefaultRequests, Validator: atLeast(2)},
			&cli.BoolFlag{Name: "power", Usage: "measure twice: what reading the sensors costs, too"},
			jsonFlag(),
		},
		Metadata: examples("tokwatt calibrate --concurrency 1,8 --requests 10", "tokwatt calibrate --concurrency 4 --requests 8 --json"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			opts := calibrate.Options{Streams: ints(cmd, "concurrency"), Requests: int64(cmd.Int("requests"))}
			for _, n := range opts.Streams {
				if n < 1 || n > maxCalibrated {
					return usagef("--concurrency %d: must be from 1 to %d", n, maxCalibrated)
				}
			}
			return a.runCalibration(ctx, cmd, opts)
		},
	}
}

// maxCalibrated is the most streams that a calibration takes: each is three
// open files on this host, of which few have more than 4096.
const maxCalibrated = 1000

func (a *app) runCalibration(ctx context.Context, cmd *cli.Command, opts calibrate.Options) error {
	db, err := openStore(cmd)
	if err != nil {
		return err
	}
	name := host.Describe(ctx).Name
	if _, err := latestCalibration(ctx, db, name); err != nil { // before it costs time
		return storeError(err)
	}
	if cmd.Bool("power") {
		if opts.Sources, err = readableSensors(ctx); err != nil {
			return err
		}
		defer sensors.Close(opts.Sources)
	}
	bar := newProgress(a.err)
	defer bar.done()
	level := int64(0)
	opts.Notify = func(streams, done, planned int64) {
		at, text := collect.Progress{Done: done, Planned: planned}, "with "+plural(streams, "stream")
		if streams == level { // a line for each level, where there is no bar
			bar.at(at, text)
			return
		}
		level = streams
		bar.step(at, text)
	}
	res, err := calibrate.Run(ctx, opts)
	if err != nil {
		return err
	}
	text, err := json.Marshal(res)
	if err != nil {
		return err
	}
	kept := db.PutCalibration(context.WithoutCancel(ctx), name, string(text))
	bar.done()
	if err := a.printCalibration(res, cmd.Bool("json")); err != nil || kept == nil {
		return err
	}
	return storeError(kept)
}

// latestCalibration is the newest result of this host, empty where there is
// none.
func latestCalibration(ctx context.Context, db *store.Store, host string) (string, error) {
	text, err := db.Calibration(ctx, host)
	if errors.Is(err, store.ErrMissing) {
		return "", nil
	}
	return text, err
}

func (a *app) printCalibration(res calibrate.Result, asJSON bool) error {
	if asJSON {
		return a.printJSON(res)
	}
	a.printLevels(res.Levels)
	who := "as each read returned"
	if res.Stamps == collect.StampKernel {
		who = "by the kernel"
	}
	fmt.Fprintf(a.out, levelsLegend, who)
	if text := calibrationVerdict(res.Levels); text != "" {
		fmt.Fprintln(a.out, folded(text))
	}
	if p := res.Power; p != nil {
		fmt.Fprintf(a.out, "\nthe same while sensors are read: %s\n", strings.Join(p.Sources, ", "))
		a.printLevels(p.Levels)
		fmt.Fprintf(a.out, "reading them takes %s s of CPU in %s s, %.1f %% of a core: %s\nwhat programs that sources run take is not in it\n",
			sig(p.CPUS), sig(p.WallS), 100*p.CPUS/max(p.WallS, 1e-9), plural(int64(p.Samples), "reading"))
	}
	return nil
}

// levelsLegend has a line for each column.
const levelsLegend = `in ms, where nothing else is said; arrivals are stamped %s
TTFT error: the first token as this client says it, less when it was sent; p99
interval error: the same of the mean time between tokens
gap sd: the spread of single gaps, as said here and as the server made them
spread: from the first request of a batch to the last, all meant to be at once
CPU: seconds that this client takes for 1000 tokens
`

// calibrationVerdict says which times the worst median error leaves exact to a
// hundredth.
func calibrationVerdict(levels []calibrate.Level) string {
	var worst *calibrate.Level
	for i, l := range levels {
		if l.TTFTErrP50MS != nil && (worst == nil || math.Abs(*l.TTFTErrP50MS) > math.Abs(*worst.TTFTErrP50MS)) {
			worst = &levels[i]
		}
	}
	if worst == nil {
		return ""
	}
	off := math.Abs(*worst.TTFTErrP50MS)
	return fmt.Sprintf("median TTFT error %s ms (%s, the worst): under 1 %% of any TTFT over %s ms", sig(off), plural(worst.Streams, "stream"), sig(100*off))
}

func (a *app) printLevels(levels []calibrate.Level) {
	t := newTable(a.out, "streams", "n", "TTFT\nerror", "\np99", "interval\nerror", "gap sd\nsaid", "\ntrue", "spread\nµs", "CPU\ns/1k tok")
	rightAligned(t, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	for _, l := range levels {
		t.AppendRow([]any{l.Streams, l.Requests, micro(l.TTFTErrP50MS), micro(l.TTFTErrP99MS), micro(l.ITLErrMeanMS),
			micro(l.GapSDMS), micro(l.GapSDTrueMS), figure(l.SpreadUS), micro(l.CPUS)})
	}
	t.Render()
}

// readableSensors are this machine's, as collect reads them.
func readableSensors(ctx context.Context) ([]power.Source, error) {
	sources, err := sensors.Sources(ctx, nil)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(sources, func(s power.Source) bool { return sensors.Readable(s.Probe(ctx)) }) {
		return nil, errors.Join(&coded{exitNothing, errors.New("no power can be read here, so reading it costs nothing: `tokwatt power --once` says why")}, sensors.Close(sources))
	}
	return sources, nil
}

// micro prints ms to the microsecond: below it a stamp says nothing.
func micro(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *v)
}

// ownError says in one line how wrong this client's times are at a
// concurrency, by a stored calibration; empty where that does not say.
func ownError(calibration string, concurrency int64) string {
	var res calibrate.Result
	if json.Unmarshal([]byte(calibration), &res) != nil || len(res.Levels) == 0 {
		return "" // none, or a newer tokwatt's
	}
	level := res.Levels[0]
	for _, l := range res.Levels { // the nearest that is not smaller, else the largest
		if level.Streams < concurrency && l.Streams > level.Streams || l.Streams >= concurrency && l.Streams < level.Streams {
			level = l
		}
	}
	return fmt.Sprintf("this client's own error: TTFT %s ms, intervals %s ms (%s, %s)",
		micro(level.TTFTErrP50MS), micro(level.ITLErrMeanMS), plural(level.Streams, "stream"), res.At.Local().Format(time.DateOnly))
}
