package main

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze/duck"
	"tokwatt/plot"
)

func (a *app) plotPower() *cli.Command {
	c := a.kind("power", "power over the time of one session, and what ran meanwhile", "[ID|last]", a.ofSessions(powerFigure),
		whereFlag("node, source, scope; target_id, case_id, batch_id"))
	c.Description = `A panel per node, a line per scope of its sensors; behind them prefill and
generation of each batch. Lines break where nothing is known.`
	c.Metadata = examples("tokwatt plot power last", "tokwatt plot power --where scope=gpu --where batch_id=3 --out gpu.svg")
	return c
}

func (a *app) plotITL() *cli.Command {
	c := a.kind("itl", "the answers of one batch as they arrived, stalls marked", "[ID|last]", a.ofSessions(itlFigure),
		whereFlag("target_id, case_id, batch_id, request_id"))
	c.Description = `A lane per stream with each arrival of output, and the gap before each below.
Of the batches that --where leaves, the one with the longest gap is drawn.`
	c.Metadata = examples("tokwatt plot itl last", "tokwatt plot itl --where batch_id=3 --theme dark --out batch.svg")
	return c
}

func powerFigure(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) (*plot.Figure, error) {
	if err := ofOneSession(cmd, ids); err != nil {
		return nil, err
	}
	var o plot.PowerOptions
	if err := parts(cmd, map[string]*string{"node": &o.Node, "source": &o.Source, "scope": &o.Scope},
		map[string]*int64{"target_id": &o.Target, "case_id": &o.Case, "batch_id": &o.Batch}); err != nil {
		return nil, err
	}
	s, err := db.PowerSession(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	f, err := plot.Power(s, o)
	return f, asUsage(err)
}

func itlFigure(ctx context.Context, cmd *cli.Command, db *duck.DB, ids []string) (*plot.Figure, error) {
	if err := ofOneSession(cmd, ids); err != nil {
		return nil, err
	}
	f := duck.StreamFilter{Session: ids[0]}
	if err := parts(cmd, nil, map[string]*int64{"target_id": &f.Target, "case_id": &f.Case, "batch_id": &f.Batch, "request_id": &f.Request}); err != nil {
		return nil, err
	}
	b, err := db.Streams(ctx, f)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, usagef("session %s has no such batch: `tokwatt query \"select batch_id, request_id, itl_max_ms from runs\"` lists them", shortID(ids[0]))
	}
	figure, err := plot.ITL(*b)
	return figure, asUsage(err)
}

func ofOneSession(cmd *cli.Command, ids []string) error {
	if len(ids) > 1 {
		return usagef("plot %s is of one session, and here are %d: name one", cmd.Name, len(ids))
	}
	return nil
}

// parts reads what --where chooses of a session: some keys take words, others
// numbers.
func parts(cmd *cli.Command, words map[string]*string, numbers map[string]*int64) error {
	for _, cond := range cmd.StringSlice("where") {
		key, value, _ := strings.Cut(cond, "=")
		switch word, number := words[key], numbers[key]; {
		case word != nil && value != "":
			*word = value
		case number != nil:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 1 {
				return usagef("--where %s: must be a number from 1 on, as `tokwatt query` shows it", cond)
			}
			*number = n
		default:
			return usagef("--where %s: plot %s chooses by %s, each as KEY=VALUE", cond, cmd.Name, alternatives(slices.Concat(slices.Sorted(maps.Keys(words)), slices.Sorted(maps.Keys(numbers)))))
		}
	}
	return nil
}
