package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"tokwatt/collect"
	"tokwatt/collect/host"
	sensors "tokwatt/power/local"
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
	untold   []error // those of them that the user has not read yet
}

// measure runs the bench. Records are committed as they come, so an end by any
// means loses at most the batch in flight.
func (a *app) measure(ctx context.Context, b *bench) error {
	if err := b.openResults(); err != nil {
		return err
	}
	db, err := openStore(b.cmd)
	if err != nil {
		return err
	}
	sessions, err := db.Sessions(ctx) // before anything costly is started
	if err != nil && !errors.Is(err, store.ErrMissing) {
		return storeError(err)
	}
	for _, s := range sessions {
		if s.Running && (b.past == nil || s.ID != b.past.Session.ID) {
			fmt.Fprintf(a.err, "warning: session %s is being measured on this host: both will be slower than alone\n", shortID(s.ID))
		}
	}
	id, err := a.collectInto(ctx, db, b)
	var c *coded
	nothing := errors.As(err, &c) && c.code != exitFailures && c.code != exitInterrupted
	if id != "" && !nothing && !b.session.has("json") && !b.session.has("stdout") {
		fmt.Fprintf(a.err, "\nsession %s in %s\ntokwatt summary %s\n", id, db.Path(), shortID(id))
		if errors.As(err, &c) && c.code == exitInterrupted {
			fmt.Fprintf(a.err, "tokwatt collect --resume %s\n", shortID(id))
		}
	}
	return err
}

// collectInto measures b into db, prints the closing lines, and returns the
// session's id.
func (a *app) collectInto(ctx context.Context, db *store.Store, b *bench) (string, error) {
	id, err := b.begin(ctx, db)
	if err != nil {
		return "", err
	}
	progress := newProgress(a.err)
	defer progress.done()
	jobs, err := a.jobs(ctx, b, func(line string) { progress.say("%s", line) })
	if err != nil {
		return "", err
	}
	runner, err := a.runner(ctx, id, b)
	if err != nil {
		return "", err
	}
	if runner.Session.Calibration, err = latestCalibration(ctx, db, runner.Session.Host.Name); err != nil {
		return "", storeError(err)
	}
	if runner.Sources, err = openSensors(ctx, b.session, progress.say); err != nil {
		return "", err
	}
	defer sensors.Close(runner.Sources)
	m := &measurement{app: a, db: db, session: id, progress: progress}
	if err := m.recall(ctx, b); err != nil {
		return "", err
	}
	runner.Notify = m.progress.notify
	release, err := host.KeepAwake(ctx)
	if err != nil {
		progress.say("warning: %v", err)
	}
	defer release()
	err = m.run(ctx, runner, jobs...)
	m.progress.done()
	m.closing.finish()
	if err != nil {
		return m.session, err
	}
	if m.finished() {
		m.end, m.lost, m.untold = cmp.Or(m.end, b.past.End), nil, nil
		fmt.Fprintln(a.err, collect.ErrNothingLeft)
	}
	if m.end == nil {
		return "", m.unmeasured(ctx)
	}
	defer context.AfterFunc(ctx, b.out.giveUp)()
	err, verdict := m.results(context.WithoutCancel(ctx), b), m.verdict(ctx)
	if err != nil && verdict != nil {
		fmt.Fprintln(a.err, "tokwatt:", err)
	}
	return m.session, cmp.Or(verdict, err)
}

// begin names the session and claims it, which finds a store that can't be
// written before anything is started.
func (b *bench) begin(ctx context.Context, db *store.Store) (id string, err error) {
	if b.past != nil {
		return b.past.Session.ID, nil // claimed before that was read
	}
	fresh, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	b.release, err = claim(ctx, db, fresh.String())
	return fresh.String(), err
}

// jobs are the plans with the drivers that carry them out; what is no result
// goes to tell.
func (a *app) jobs(ctx context.Context, b *bench, tell func(string)) ([]collect.Job, error) {
	var out []collect.Job
	for _, p := range b.plans {
		driver, said, err := p.target.driver(ctx, tell)
		if err != nil {
			return nil, err
		}
		if said != "" {
			tell(said)
		}
		p.prompts.tell = tell
		prompts := func(t collect.TargetInfo, e collect.Engine, fresh bool) (collect.Prompter, string) {
			return p.prompts.of(ctx, t, e, fresh)
		}
		out = append(out, collect.Job{Driver: driver, Spec: p.spec, Prompts: prompts})
	}
	return out, nil
}

// recall gives the closing lines what was measured before.
func (m *measurement) recall(ctx context.Context, b *bench) error {
	if b.past == nil {
		return nil
	}
	for rec, err := range m.db.Records(ctx, m.session) {
		if err != nil {
			return storeError(err)
		}
		m.closing.add(rec)
	}
	return nil
}

// finished reports whether all of a resumed session was measured before.
func (m *measurement) finished() bool {
	return len(m.lost) == 1 && errors.Is(m.lost[0], collect.ErrNothingLeft)
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

// runner makes the runner of a bench.
func (a *app) runner(ctx context.Context, id string, b *bench) (*collect.Runner, error) {
	kept, err := b.stored.document()
	if err != nil {
		return nil, err
	}
	interval, err := b.session.duration("metrics-interval")
	if err != nil {
		return nil, err
	}
	return &collect.Runner{
		Session: collect.Session{
			ID: id, Profile: string(b.plans[0].profileName()), Options: kept,
			Label: b.session.text("label"), Tags: b.session.list("tag"), Note: b.session.text("note"),
			Host: host.Describe(ctx),
		},
		Segment:     collect.Segment{ToolVersion: toolVersion(), BootID: host.BootID(), PID: int64(os.Getpid())},
		Past:        b.past,
		NoSensors:   b.session.has("no-system-metrics"),
		SampleEvery: cmp.Or(interval, b.plans[0].profile.SampleEvery()),
		Heat:        host.Heat(ctx),
	}, nil
}

// run stores all records of the run.
func (m *measurement) run(ctx context.Context, runner *collect.Runner, jobs ...collect.Job) error {
	for rec, err := range runner.Run(ctx, jobs...) {
		if err != nil {
			m.lost = append(m.lost, err)
			if m.begun && ctx.Err() == nil {
				m.progress.say("%v", err)
			} else {
				m.untold = append(m.untold, err)
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
	case m.end.Status == collect.StatusFailed && len(m.untold) > 0:
		return &coded{exitNothing, fmt.Errorf("nothing was measured: %w", m.untold[0])}
	case m.end.Status == collect.StatusFailed && len(m.lost) > 0:
		return &coded{exitNothing, fmt.Errorf("nothing was measured: `tokwatt show %s` has the reasons too", shortID(m.session))}
	case m.end.Status == collect.StatusFailed:
		return &coded{exitNothing, fmt.Errorf("nothing was measured: every request failed; `tokwatt show %s` has the reasons", shortID(m.session))}
	case m.closing.failed > 0:
		return &coded{exitFailures, fmt.Errorf("%d of %s failed; `tokwatt show %s` has the reasons", m.closing.failed, plural(m.closing.requests, "request"), shortID(m.session))}
	case m.end.NotRun > 0:
		return &coded{exitFailures, fmt.Errorf("%s not run", plural(m.end.NotRun, "batch"))}
	}
	return nil
}
