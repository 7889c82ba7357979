package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"tokwatt/collect"
	"tokwatt/collect/host"
	"tokwatt/store"
)

// measurement is a run of collect under way: it stores what the runner yields
// and remembers what the closing lines need.
type measurement struct {
	*app
	db       *store.Store
	session  string
	progress *progress
	closing  closing
	begun    bool // a record has been stored
	end      *collect.End
	lost     []error // targets that were not measured, or not to their end
}

// measure runs the bench. Records are committed as they come, so an end by any
// means loses at most the batch in flight.
func (a *app) measure(ctx context.Context, p *plan) error {
	db, err := openStore(p.cmd)
	if err != nil {
		return err
	}
	sessions, err := db.Sessions(ctx) // before anything costly is started
	if err != nil && !errors.Is(err, store.ErrMissing) {
		return storeError(err)
	}
	for _, s := range sessions {
		if running(s) {
			fmt.Fprintf(a.err, "warning: session %s is being measured on this host: both will be slower than alone\n", shortID(s.ID))
		}
	}
	id, err := a.collectInto(ctx, db, p, p.cmd.Bool("json"))
	var c *coded
	nothing := errors.As(err, &c) && c.code != exitFailures && c.code != exitInterrupted
	if id != "" && !nothing && !p.cmd.Bool("json") {
		fmt.Fprintf(a.err, "\nsession %s in %s\ntokwatt summary %s\n", id, db.Path(), shortID(id))
	}
	return err
}

// collectInto measures p into db, prints the closing lines, and returns the
// session's id.
func (a *app) collectInto(ctx context.Context, db *store.Store, p *plan, asJSON bool) (string, error) {
	driver, said, err := p.target.driver(ctx)
	if err != nil {
		return "", err
	}
	if said != "" {
		fmt.Fprintln(a.err, said)
	}
	runner, err := p.runner(ctx)
	if err != nil {
		return "", err
	}
	m := &measurement{app: a, db: db, session: runner.Session.ID, progress: newProgress(a.err)}
	runner.Notify = m.progress.notify
	err = m.run(ctx, runner, collect.Job{Driver: driver, Spec: p.spec})
	m.progress.done()
	m.closing.finish()
	if err != nil {
		return m.session, err
	}
	if m.end == nil {
		return "", m.unmeasured(ctx)
	}
	if asJSON {
		if err := a.printJSON(m.closing.document(m.session, m.end)); err != nil {
			return m.session, err
		}
	} else {
		m.closing.write(a.out)
	}
	return m.session, m.verdict(ctx)
}

// unmeasured is the verdict on a run that found nothing to measure: what the
// user can mend before anything starts, and a server that does not answer.
func (m *measurement) unmeasured(ctx context.Context) error {
	if ctx.Err() != nil {
		return &coded{exitInterrupted, errors.New("interrupted before anything was measured")}
	}
	if len(m.lost) == 0 {
		return &coded{exitNothing, errors.New("nothing was measured: no target was found")}
	}
	var f *collect.Failure
	if errors.As(m.lost[0], &f) {
		return &coded{exitNothing, fmt.Errorf("nothing was measured: %w", m.lost[0])}
	}
	return usage(m.lost[0])
}

// runner makes the runner for a plan.
func (p *plan) runner(ctx context.Context) (*collect.Runner, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	tags := p.cmd.StringSlice("tag")
	return &collect.Runner{
		Session: collect.Session{
			ID: id.String(), Profile: "default", Options: p.options(),
			Label: p.cmd.String("label"), Tags: tags, Note: p.cmd.String("note"),
			Host: host.Describe(ctx),
		},
		Segment: collect.Segment{ToolVersion: toolVersion(), BootID: host.BootID(), PID: int64(os.Getpid())},
		Prompts: p.prompts,
	}, nil
}

// run stores all records of the run.
func (m *measurement) run(ctx context.Context, runner *collect.Runner, jobs ...collect.Job) error {
	for rec, err := range runner.Run(ctx, jobs...) {
		if err != nil {
			m.lost = append(m.lost, err)
			if m.begun && ctx.Err() == nil {
				m.progress.say("%v", err)
			}
			continue
		}
		m.begun = true
		m.closing.add(rec)
		if end, ok := rec.(*collect.End); ok {
			m.end = end
		}
		if err := m.put(ctx, rec); err != nil {
			return storeError(err)
		}
	}
	return nil
}

// put commits a record. Another process may hold the store for a while: then
// the record is kept and tried again, until the user gives up.
func (m *measurement) put(ctx context.Context, rec collect.Record) error {
	for {
		err := m.db.Put(context.WithoutCancel(ctx), m.session, rec)
		if !errors.Is(err, store.ErrLocked) || ctx.Err() != nil {
			return err
		}
		m.progress.say("%v; nothing is lost, trying again", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// verdict is the exit code of the run.
func (m *measurement) verdict(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return &coded{exitInterrupted, fmt.Errorf("interrupted: %s not run, all that was measured is kept", plural(m.end.NotRun, "batch"))}
	case m.end.Status == collect.StatusFailed && len(m.lost) > 0:
		return &coded{exitNothing, fmt.Errorf("nothing was measured: %w", m.lost[0])}
	case m.end.Status == collect.StatusFailed:
		return &coded{exitNothing, fmt.Errorf("nothing was measured: every request failed; `tokwatt show %s` has the reasons", shortID(m.session))}
	case m.closing.failed > 0:
		return &coded{exitFailures, fmt.Errorf("%d of %s failed; `tokwatt show %s` has the reasons", m.closing.failed, plural(m.closing.requests, "request"), shortID(m.session))}
	case m.end.NotRun > 0:
		return &coded{exitFailures, fmt.Errorf("%s not run", plural(m.end.NotRun, "batch"))}
	}
	return nil
}

// dryRun shows what would be measured. It sends no request that costs a token.
func (a *app) dryRun(ctx context.Context, p *plan) error {
	driver, said, err := p.target.driver(ctx)
	if err != nil {
		return err
	}
	if said != "" {
		fmt.Fprintln(a.err, said)
	}
	shapes := p.spec.Shapes()
	var targets []collect.TargetInfo
	for t, err := range driver.Targets(ctx, p.spec) {
		if err != nil {
			return (&measurement{lost: []error{err}}).unmeasured(ctx)
		}
		info, err := t.Describe(ctx)
		if err != nil {
			return (&measurement{lost: []error{err}}).unmeasured(ctx)
		}
		targets = append(targets, info)
	}
	batches := len(targets) * len(shapes) * p.spec.Repeat
	if p.cmd.Bool("json") {
		return a.printJSON(map[string]any{"targets": targets, "shapes": shapes, "batches": batches})
	}
	for _, t := range targets {
		fmt.Fprintf(a.out, "%s  %s %s\n", t.ModelID, t.Engine, t.EngineVersion)
	}
	for _, s := range shapes {
		fmt.Fprintf(a.out, "  pp %s  tg %d  concurrency %d\n", shapePP(s), s.TG, s.Concurrency)
	}
	fmt.Fprintf(a.out, "%s: %s × %s × %s\n", plural(int64(batches), "batch"), plural(int64(len(targets)), "target"),
		plural(int64(len(shapes)), "case"), plural(int64(p.spec.Repeat), "repeat"))
	return nil
}

func shapePP(s collect.Shape) string {
	if s.PP == 0 {
		return "own"
	}
	return fmt.Sprint(s.PP)
}
