package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/collect"
	"tokwatt/plot/report"
)

func (a *app) reportPage() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "one page about a session: tables, plots, how it was measured",
		ArgsUsage: "[ID|last]",
		Description: `One HTML file with all it needs inside, to keep, to send or to print: it is
read without a network and runs no script. Its colours are light or dark as the
reader's are. What cannot be drawn is said in one sentence.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Value: "report.html", Usage: "`FILE` where to write (report.html); - for stdout"},
			datasetFlag(),
		},
		Metadata: examples("tokwatt report last", "tokwatt report --out mac.html"),
		Action:   a.writeReport,
	}
}

func (a *app) writeReport(ctx context.Context, cmd *cli.Command) (err error) {
	if n := cmd.Args().Len(); n > 1 {
		return usagef("report is of one session, and here are %d: name one", n)
	}
	out := cmp.Or(cmd.String("out"), "report.html")
	var file *outFile
	if out != "-" {
		if file, err = openOut(cmd, "out", out); err != nil {
			return err
		}
		defer file.Close()
		if e := ending(out); !slices.Contains([]string{"html", "htm", ""}, e) {
			return usagef("--out %s: a report is HTML: name a file that ends with .html, and print that as PDF from a browser where you need one", out)
		}
	}
	page, err := a.reportOf(ctx, cmd)
	if err != nil {
		return err
	}
	if file == nil {
		return page.Write(a.out)
	}
	if err := file.write(func(w io.Writer) error { return page.Write(w) }); err != nil {
		return err
	}
	fmt.Fprintln(a.out, out)
	return nil
}

// reportOf makes the page of the session that a command line names.
func (a *app) reportOf(ctx context.Context, cmd *cli.Command) (page *report.Page, err error) {
	db, ids, done, err := a.askSessions(ctx, cmd, cmd.Args().Slice())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	r := &reporter{db: db, id: ids[0]}
	return r.page(ctx)
}

// reporter asks SQL for what a page says of a session.
type reporter struct {
	db *duck.DB
	id string // whole

	session   answer
	segments  answer
	targets   answer
	cases     answer
	summaries []analyze.EnergyCase
	requested int64 // requests, warm-ups too

	sensors    []*collect.Sensors
	unmeasured []string // what was not, and why, in sentences
}

func (r *reporter) page(ctx context.Context) (*report.Page, error) {
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	p := &report.Page{Title: r.title(), Lead: r.lead(), Footer: fmt.Sprintf("Written by tokwatt %s from session %s; schema %d, formulas %d.",
		toolVersion(), r.id, analyze.SchemaVersion, analyze.FormulaVersion)}
	for _, section := range []func(context.Context) (report.Section, error){
		r.results, r.plots, r.course, r.failures, r.allFigures, r.requests, r.method, r.machine, r.again, r.definitions,
	} {
		s, err := section(ctx)
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, s)
	}
	return p, nil
}

// read asks for what several sections need.
func (r *reporter) read(ctx context.Context) (err error) {
	for _, q := range []struct {
		to    *answer
		table string
		order string
	}{
		{&r.session, "sessions", "session_id"}, {&r.segments, "segments", "segment"},
		{&r.targets, "targets", "target_id"}, {&r.cases, "cases", "case_id"},
	} {
		if *q.to, err = r.ask(ctx, "select * from "+q.table+" where "+r.of()+" order by "+q.order); err != nil {
			return err
		}
	}
	if len(r.session.rows) == 0 {
		return &coded{exitStore, fmt.Errorf("session %s has no row in table sessions: `tokwatt check` says why", shortID(r.id))}
	}
	if err = r.readSegments(); err != nil {
		return err
	}
	total, err := r.ask(ctx, "select count(*) as n from requests where "+r.of())
	if err != nil {
		return err
	}
	r.requested, _ = total.value(0, "n").(int64)
	r.summaries, err = r.db.EnergyCases(ctx, duck.SummaryFilter{Sessions: []string{r.id}, Points: true})
	return err
}

// readSegments reads what the segments say of sensors and of what was not
// measured.
func (r *reporter) readSegments() error {
	for i := range r.segments.rows {
		segment, _ := r.segments.value(i, "segment").(int64)
		sensors, err := analyze.SensorsOf(segment, r.segments.text(i, "sensors_json"))
		if err != nil {
			return err
		}
		r.sensors = append(r.sensors, sensors...)
	}
	lost, err := lostIn(r.segments)
	r.unmeasured = unmeasured(lost)
	return err
}

// of is the condition that picks the session.
func (r *reporter) of() string { return ofSessions([]string{r.id}) }

func (r *reporter) ask(ctx context.Context, sql string) (answer, error) {
	return askAll(ctx, r.db, sql)
}
