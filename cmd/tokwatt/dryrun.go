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
	Batches int64           `json:"batches"`
	Shapes  []collect.Shape `json:"shapes"`
}

// dryRun shows what would be measured. It sends no request that changes or
// costs anything.
func (a *app) dryRun(ctx context.Context, b *bench) error {
	jobs, err := a.jobs(ctx, b, func(line string) { fmt.Fprintln(a.err, line) })
	if err != nil {
		return err
	}
	var targets []dryTarget
	batches := int64(0)
	for i, job := range jobs {
		for t, err := range job.Driver.Targets(ctx, job.Spec) {
			if err != nil {
				return (&measurement{lost: []error{err}}).unmeasured(ctx)
			}
			info, err := t.Describe(ctx)
			if err != nil {
				return (&measurement{lost: []error{err}}).unmeasured(ctx)
			}
			shapes := job.Spec.Shapes()
			n := int64(len(shapes) * b.plans[i].repeats())
			targets = append(targets, dryTarget{info, n, shapes})
			batches += n
		}
	}
	if b.session.has("json") {
		return a.printJSON(map[string]any{"targets": targets, "batches": batches})
	}
	for _, t := range targets {
		a.dryLines(t)
	}
	fmt.Fprintf(a.out, "%s in all\n", plural(batches, "batch"))
	return nil
}

func (a *app) dryLines(t dryTarget) {
	fmt.Fprintln(a.out, strings.Join(strings.Fields(strings.Join([]string{t.ModelID, "", t.Engine, t.EngineVersion, t.Sharding, t.InstanceMeta, strings.Join(t.Nodes, ",")}, " ")), " "))
	for _, s := range t.Shapes {
		fmt.Fprintf(a.out, "  pp %s  tg %d  concurrency %d\n", shapePP(s), s.TG, s.Concurrency)
	}
	fmt.Fprintf(a.out, "  %s × %s = %s\n", plural(int64(len(t.Shapes)), "case"), plural(t.Batches/int64(len(t.Shapes)), "repeat"), plural(t.Batches, "batch"))
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
