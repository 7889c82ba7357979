package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"tokwatt/collect/host"
	"tokwatt/power"
	sensors "tokwatt/power/local"
)

func (a *app) power() *cli.Command {
	return &cli.Command{
		Name:      "power",
		Usage:     "watch the sensors of this machine; say why what can't be read",
		ArgsUsage: "[SOURCE…]",
		Description: `Sources are ioreport, macmon and powermetrics under macOS, nvidia, rapl and
amdgpu under Linux, battery under both; without one, what this machine has.
Counters of energy are shown as the power since the reading before. The exit
code is 3 where no power can be read.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "once", Usage: "one reading of everything, and why what can't be read"},
			&secondsFlag{Name: "interval", Value: time.Second, Usage: "`TIME` between readings (1s; 100ms at least)"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON document; with --once"},
		},
		Metadata: examples("tokwatt power --once", "tokwatt power --once --json"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			interval, once := cmd.Duration("interval"), cmd.Bool("once")
			switch {
			case interval < 100*time.Millisecond:
				return usagef("--interval %v: must be 100ms at least", interval)
			case cmd.Bool("json") && !once:
				return usagef("--json is for one reading: add --once")
			}
			sources, err := sensors.Sources(ctx, names(cmd.Args().Slice()...))
			if err != nil {
				return usage(err)
			}
			defer sensors.Close(sources)
			m := newMeter(ctx, sources, interval)
			if once {
				return a.readOnce(ctx, m, cmd.Bool("json"))
			}
			return a.watch(ctx, m)
		},
	}
}

// errNoPower says that there was nothing to read. Why stands above it.
var errNoPower = &coded{exitNothing, errors.New("no power can be read here")}

// readOnce prints one reading of everything. A counter makes power only
// with a second reading, and some sensors publish every other second.
func (a *app) readOnce(ctx context.Context, m *meter, asJSON bool) error {
	for until := time.Now().Add(m.patience()); ; {
		m.round(ctx)
		if ctx.Err() != nil {
			return &coded{code: exitInterrupted}
		}
		if m.complete() || time.Now().After(until) {
			break
		}
		wait(ctx, m.interval)
	}
	var err error
	if asJSON {
		err = a.printJSON(m.document(host.Describe(ctx).Name))
	} else {
		a.printGauges(m)
	}
	if err == nil && !m.power() {
		err = errNoPower
	}
	return err
}

// watch shows what is read until the user has seen enough: in place on a
// terminal, else a line for each reading.
func (a *app) watch(ctx context.Context, m *meter) error {
	if !m.hopeful() {
		a.printGauges(m)
		return errNoPower
	}
	var place *screen
	if w, ok := a.out.(*checkedWriter); ok && w.plain && os.Getenv("TERM") != "dumb" {
		place = &screen{w: w.w}
	}
	m.round(ctx)
	for {
		wait(ctx, m.interval)
		if ctx.Err() != nil {
			return &coded{code: exitInterrupted}
		}
		m.round(ctx)
		lines := []string{m.line(time.Now())}
		if place != nil {
			lines = place.next(m.table())
		}
		for _, l := range lines {
			if _, err := fmt.Fprintln(a.out, l); err != nil {
				return err
			}
		}
	}
}

// printGauges lists everything, and below it in full why what can't be read.
func (a *app) printGauges(m *meter) {
	for _, l := range m.table() {
		fmt.Fprintln(a.out, l)
	}
	var last string
	for _, g := range m.gauges {
		reason, note := g.null(m.now)
		if said := g.Source + ": " + note; reason != "" && note != "" && said != last {
			last = said
			fmt.Fprintln(a.out, said)
		}
	}
}

// wait waits for d or the end of ctx.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// screen is a terminal whose newest lines are drawn over.
type screen struct {
	w     io.Writer
	lines int
}

// next clears what was drawn, and is as many of the lines as the terminal has,
// to be drawn in its place.
func (s *screen) next(lines []string) []string {
	if f, ok := s.w.(*os.File); ok {
		if _, high, err := term.GetSize(int(f.Fd())); err == nil && high > 1 && len(lines) > high-1 {
			lines = lines[:high-1]
		}
	}
	if s.lines > 0 {
		fmt.Fprintf(s.w, "\x1b[%dA\x1b[J", s.lines)
	}
	s.lines = len(lines)
	return lines
}

// scopeOf names the part of the machine that a channel is about.
func scopeOf(c power.Channel) string {
	if c.Scope == "" {
		return "–"
	}
	return string(c.Scope)
}
