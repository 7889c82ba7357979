package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	sensors "tokwatt/power/local"
	"tokwatt/store"
)

func (a *app) collect() *cli.Command {
	return &cli.Command{
		Name:  "collect",
		Usage: "run a bench and store everything",
		Flags: collectFlags(),
		Metadata: examples(
			"tokwatt collect --engine reference --pp 64 --tg 16 --concurrency 1,2",
			"tokwatt collect --engine reference --pp 128,512 --tg 64 --dry-run",
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			b, err := a.newBench(ctx, cmd)
			defer b.close()
			if err != nil {
				return err
			}
			if err := sensors.Check(powerNames(b.session)); err != nil {
				return usagef("--power: %w", err)
			}
			if b.session.has("dry-run") {
				return a.dryRun(ctx, b)
			}
			return a.measure(ctx, b)
		},
	}
}

// bench is all that a session measures.
type bench struct {
	cmd     *cli.Command
	session options // the flags of the session as a whole
	plans   []*plan
	stored  stored        // what the session keeps of them
	past    *collect.Past // what was measured before; nil: a new session
	out     *outFile      // --json-out
	release func()        // ends the claim on the session; nil: there is none
}

// close lets go of the session and of the results file.
func (b *bench) close() {
	if b == nil {
		return
	}
	b.out.Close()
	if b.release != nil {
		b.release()
	}
}

// newBench reads a command line, and the suite or the stored session that it
// names.
func (a *app) newBench(ctx context.Context, cmd *cli.Command) (*bench, error) {
	given := optionsOf(cmd)
	session, _ := given.split()
	b := &bench{cmd: cmd, session: session}
	switch {
	case cmd.IsSet("resume"):
		return b, a.resume(ctx, b, given)
	case cmd.IsSet("suite"):
		return b, a.suite(b, given)
	}
	p, err := newPlan(ctx, cmd)
	if err != nil {
		return nil, err
	}
	b.plans, b.stored = []*plan{p}, stored{options: given.kept()}
	return b, nil
}

// suite makes a plan of each run of a suite; what the command line sets holds
// for all of them.
func (a *app) suite(b *bench, given options) error {
	s, err := readSuite(b.cmd.String("suite"))
	if err != nil {
		return usage(err)
	}
	session, run := given.split()
	b.session = s.options.over(session)
	b.stored = stored{options: b.session.kept()}
	for i, r := range s.Runs {
		r = r.over(run)
		if err := a.addPlan(b, r); err != nil {
			return usagef("--suite, run %d: %w", i+1, err)
		}
		b.stored.Runs = append(b.stored.Runs, r.kept())
	}
	return nil
}

// Flags that may be given when a session is resumed: what is not stored, and
// what is not measured.
var resumable = []string{"resume", "db", "url", "host", "port", "header", "api-key-env", "json", "json-out", "stdout", "dry-run"}

// resume makes the plans of a stored session again.
func (a *app) resume(ctx context.Context, b *bench, given options) error {
	for name := range given {
		if !slices.Contains(resumable, name) {
			return usagef("--%s can't be changed when a session is resumed: leave it out, or start a new session", name)
		}
	}
	db, err := openStore(b.cmd)
	if err != nil {
		return err
	}
	id, err := db.Find(ctx, b.cmd.String("resume"))
	if err != nil {
		return storeError(err)
	}
	if !b.cmd.Bool("dry-run") {
		if b.release, err = claim(ctx, db, id); err != nil {
			return err
		}
	}
	if b.past, err = collect.ReadPast(db.Records(ctx, id)); err != nil {
		return storeError(err)
	}
	s, err := readStored(b.past.Session.Options)
	if err != nil {
		return usagef("session %s can't be resumed: %w", shortID(id), err)
	}
	before, single := s.options.split()
	b.session = before.over(b.session)
	if len(s.Runs) == 0 {
		s.Runs = []options{single}
	}
	_, run := given.split()
	for _, r := range s.Runs {
		if run["url"] != nil || run["host"] != nil { // one address in the place of another
			r = r.without("url", "host", "port")
		}
		if err := a.addPlan(b, r.over(run)); err != nil {
			return fmt.Errorf("session %s can't be resumed: %w", shortID(id), err)
		}
	}
	return nil
}

// claim makes this process the one that measures a session.
func claim(ctx context.Context, db *store.Store, id string) (release func(), err error) {
	release, err = db.Claim(ctx, id)
	switch {
	case errors.Is(err, store.ErrClaimed):
		return nil, usagef("session %s is being measured right now: stop it, or wait for its end", shortID(id))
	case err != nil && ctx.Err() == nil:
		return nil, storeError(err)
	}
	return release, err
}

// addPlan reads options as if they were a command line.
func (a *app) addPlan(b *bench, o options) error {
	var p *plan
	cmd := &cli.Command{
		Name: "collect", Flags: collectFlags(), HideHelp: true, HideVersion: true,
		Writer: a.err, ErrWriter: a.err, OnUsageError: onUsageError,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Action: func(ctx context.Context, cmd *cli.Command) (err error) {
			p, err = newPlan(ctx, cmd)
			return err
		},
	}
	// A context of its own: see again.
	err := cmd.Run(context.Background(), append([]string{"collect"}, o.args()...))
	if err == nil {
		b.plans = append(b.plans, p)
	}
	return err
}
