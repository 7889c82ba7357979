package main

import (
	"context"
	"fmt"
	"strings"

	"tokwatt/collect"
)

// dryTarget is a target as --dry-run shows it.
type dryTarget struct {
	collect.TargetInfo
	Batches int64              `json:"batches"` // that are left
	Cases   []collect.RestCase `json:"cases"`
}

// dryRun shows what would be measured, of a session that is resumed what is
// left. It sends no request that changes or costs anything. A target that
// can't be found hides no other.
func (a *app) dryRun(ctx context.Context, b *bench) error {
	jobs, err := a.jobs(ctx, b, func(line string) { fmt.Fprintln(a.err, line) })
	if err != nil {
		return err
	}
	rest, err := collect.Left(ctx, b.past, jobs...)
	if err != nil {
		return err
	}
	targets, batches := []dryTarget{}, int64(0)
	var lost []error
	for _, r := range rest {
		if r.Err != nil {
			lost = append(lost, r.Err)
			a.missing(r, len(jobs) > 1)
			continue
		}
		targets = append(targets, dryTarget{r.Target, r.Batches(), r.Cases})
		batches += r.Batches()
	}
	if len(targets) == 0 {
		return (&measurement{lost: lost}).unmeasured(ctx)
	}
	if b.session.has("json") {
		return a.printJSON(map[string]any{"targets": targets, "batches": batches})
	}
	for _, t := range targets {
		a.dryLines(t)
	}
	fmt.Fprintf(a.out, "%s in all%s\n", plural(batches, "batch"), map[bool]string{true: " left"}[b.past != nil])
	return nil
}

// missing says why a target is not among those to be measured.
func (a *app) missing(r collect.Rest, suite bool) {
	if suite {
		fmt.Fprintf(a.err, "run %d: ", r.Job+1)
	}
	fmt.Fprintln(a.err, r.Err)
}

func (a *app) dryLines(t dryTarget) {
	fmt.Fprintln(a.out, strings.Join(strings.Fields(strings.Join([]string{t.ModelID, "", t.Engine, t.EngineVersion, t.Sharding, t.InstanceMeta, strings.Join(t.Nodes, ",")}, " ")), " "))
	for _, c := range t.Cases {
		if c.Batches > 0 {
			fmt.Fprintf(a.out, "  pp %s  tg %d  concurrency %d: %s\n", shapePP(c.Shape), c.TG, c.Concurrency, plural(c.Batches, "batch"))
		}
	}
}

func shapePP(s collect.Shape) string {
	switch {
	case s.PP > 0:
		return fmt.Sprint(s.PP)
	case s.Prompt.Kind != "":
		return s.Prompt.Kind
	}
	return "own"
}
