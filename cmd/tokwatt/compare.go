package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

func (a *app) compare() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "hold one selection of runs against another, case by case",
		ArgsUsage: "A B",
		Description: `A and B are sessions (an id's beginning, last, several joined by +), conditions
(engine=exo,model_id=…), or both (last,engine=exo). B is told against A: the
change of the medians with a 95 % interval, and a rank test over the batches,
which needs 4 a side. With --fail-on the exit code is 1 where B is worse by
more: the whole interval is beyond the limit, and p holds with Holm's correction
for all tests made, so that at most 1 in 20 pairs of like runs fails; or where
more of B's batches lost requests, by more and than by chance. It is 3 where too
few batches could show that: 6 a side do for 23 tests, 7 for 85; --metric makes
fewer.`,
		Flags: []cli.Flag{
			&wordsFlag{Name: "metric", Usage: "`LIST` which figures, by their names in tokwatt metrics"},
			&cli.StringFlag{Name: "fail-on", Usage: "`PERCENT` exit 1 where B is worse by more, such as 5%"},
			datasetFlag(),
			&cli.StringFlag{Name: "format", Value: "table", Usage: "`NAME` table (default), markdown, csv or json"},
			jsonFlag(),
		},
		Metadata: examples(
			"tokwatt compare last,engine=mlx_lm last,engine=llama.cpp",
			"tokwatt compare --metric ttft_ms --fail-on 5% last,pp=512 last,pp=128",
		),
		Action: a.compareArgs,
	}
}

func (a *app) compareArgs(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 2 {
		return usagef("compare takes two selections, A and B, and here are %d: `tokwatt compare --help` shows how it is called", cmd.Args().Len())
	}
	format, err := answerFormat(cmd)
	if err != nil {
		return err
	}
	metrics, err := metricsNamed(cmd.StringSlice("metric"))
	if err != nil {
		return err
	}
	limit, err := failOn(cmd, metrics)
	if err != nil {
		return err
	}
	c, err := a.compareSelections(ctx, cmd, cmd.Args().Slice(), metrics)
	if err != nil {
		return err
	}
	// A reader that has seen enough, such as head, does not lift the verdict.
	return errors.Join(a.writeComparison(c, format), judged(c.set, limit))
}

// comparison is a set with the two selections that it is of.
type comparison struct {
	a, b selection
	set  *analyze.CompareSet
}

// compareSelections compares two arguments, such as those of compare, by the
// headline figures where no metrics are named.
func (a *app) compareSelections(ctx context.Context, cmd *cli.Command, texts []string, metrics []analyze.Metric) (c *comparison, err error) {
	if !duck.Available {
		return nil, usage(duck.ErrUnavailable)
	}
	chosen, err := a.selections(ctx, cmd, texts)
	if err != nil {
		return nil, err
	}
	ids := slices.Concat(chosen[0].ids, chosen[1].ids)
	db, done, err := a.sql(ctx, cmd, ids...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	cases, err := casesOf(ctx, db, chosen)
	if err != nil {
		return nil, err
	}
	all, err := db.Summaries(ctx, duck.SummaryFilter{Sessions: ids, Cases: cases, Points: true})
	if err != nil {
		return nil, err
	}
	var sides [2]analyze.Selected
	for i, s := range chosen {
		rows, err := s.rowsOf(all)
		if err != nil {
			return nil, err
		}
		sides[i] = analyze.Selected{By: s.by, Rows: rows}
	}
	if len(metrics) == 0 {
		metrics = usual(slices.Concat(sides[0].Rows, sides[1].Rows))
	}
	if err := addSettings(ctx, db, ids, sides); err != nil {
		return nil, err
	}
	set, err := analyze.Compare(sides[0], sides[1], metrics)
	if err != nil {
		return nil, usage(err)
	}
	if len(set.Pairs) == 0 {
		return nil, nothingCommon(chosen, sides, set, metrics)
	}
	more, err := doubts(ctx, db, ids, sides, metrics)
	if err != nil {
		return nil, err
	}
	if set.Losses, err = losses(ctx, db, ids, set); err != nil {
		return nil, err
	}
	set.Warnings = append(set.Warnings, append(averages(sides), more...)...)
	return &comparison{chosen[0], chosen[1], set}, nil
}

// averages says which sides have no single runs, where another form of their file
// would: of mean and sd alone, without their n, there is no test.
func averages(sides [2]analyze.Selected) []string {
	var of []string
	for i, side := range sides {
		if slices.ContainsFunc(side.Rows, func(s analyze.Summary) bool { return s.Keys["import_tool"] == "llama-bench" && s.NBatches == 1 }) {
			of = append(of, "AB"[i:i+1])
		}
	}
	if len(of) == 0 {
		return nil
	}
	return []string{"averages of llama-bench, which tell no number of runs, in " + strings.Join(of, " and ") + ": its -o json and -o jsonl have each run, and -r sets how many"}
}

// nothingCommon says why there is nothing to compare, and which selections are
// compared in spite of what keeps them apart.
func nothingCommon(chosen []selection, sides [2]analyze.Selected, set *analyze.CompareSet, metrics []analyze.Metric) error {
	if len(set.OnlyA) == 0 || len(set.OnlyB) == 0 {
		var names []string
		for _, m := range metrics {
			names = append(names, m.Name)
		}
		return &coded{exitNothing, fmt.Errorf("%s: not on both sides: `tokwatt summary` shows what each has", firstOf(names))}
	}
	text := fmt.Sprintf("A and B have no case in common: A has %s; B has %s", firstOf(set.OnlyA), firstOf(set.OnlyB))
	if len(set.Apart) == 0 {
		return usagef("%s", text)
	}
	var differ []string
	for _, k := range set.Apart {
		differ = append(differ, k.Key+" ("+valueList(k.A)+" against "+valueList(k.B)+")")
	}
	by := mostInCommon(sides, set.Apart)
	return usagef("%s. They differ in %s; chosen by that they are compared: `tokwatt compare %s %s`",
		text, strings.Join(differ, ", "), quoted(chosen[0].with(by[0])), quoted(chosen[1].with(by[1])))
}

func valueList(values []string) string {
	var words []string
	for _, v := range values {
		words = append(words, cmp.Or(v, "no value"))
	}
	return strings.Join(words, ", ")
}

// firstOf lists the first of many.
func firstOf(list []string) string {
	const most = 6
	if n := len(list) - most; n > 0 {
		return strings.Join(list[:most], "; ") + fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(list, "; ")
}

// usual are the figures of summary's table, and of those that stand in for the
// generation rate the ones that a case without it has.
func usual(rows []analyze.Summary) []analyze.Metric {
	var out []analyze.Metric
	for _, shown := range shownMetrics() {
		instead := slices.ContainsFunc(withoutGen, func(m shownMetric) bool { return m.name == shown.name })
		if instead && !slices.ContainsFunc(rows, func(s analyze.Summary) bool { return s.Stats[shown.name].N > 0 && !hasGen(s) }) {
			continue
		}
		if m, ok := analyze.MetricNamed(shown.name); ok {
			out = append(out, m)
		}
	}
	return out
}

// metricsNamed are those of the names, each once.
func metricsNamed(names []string) ([]analyze.Metric, error) {
	var out []analyze.Metric
	for _, name := range names {
		m, ok := analyze.MetricNamed(name)
		if !ok {
			return nil, usagef("there is no metric %q: %s", name, metricHint(name))
		}
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out, nil
}

func metricHint(name string) string {
	var words []string
	for _, m := range analyze.Metrics() {
		words = append(words, m.Name)
	}
	hint := "`tokwatt metrics` lists them"
	if near := analyze.Nearest(name, words); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return hint
}

// failOn reads a percentage as a share; NaN where none was given. A limit that a
// script leaves empty is none that anything could fail.
func failOn(cmd *cli.Command, metrics []analyze.Metric) (float64, error) {
	if !cmd.IsSet("fail-on") {
		return math.NaN(), nil
	}
	text := cmd.String("fail-on")
	number, ok := strings.CutSuffix(text, "%")
	limit, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || !(limit >= 0 && limit <= 1e6) {
		return 0, usagef("--fail-on %q: must be a percentage such as 5%%", text)
	}
	if len(metrics) > 0 && !slices.ContainsFunc(metrics, func(m analyze.Metric) bool { return m.Better != "" }) {
		return 0, usagef("--fail-on: %s is neither better high nor low, so that nothing can be worse", metrics[0].Name)
	}
	return limit / 100, nil
}

// judged is the verdict that the exit code tells: 1 where B is worse by more
// than the limit, else 3 where something could not be judged. A gate lets pass
// only what was tested.
func judged(set *analyze.CompareSet, limit float64) error {
	if math.IsNaN(limit) {
		return nil
	}
	var worse, open []string
	for i, verdict := range set.Gate(limit) {
		c := set.Pairs[i]
		name := c.Metric.Name + ", " + analyze.CaseName(c.Case)
		switch verdict {
		case analyze.GateWorse:
			worse = append(worse, name+" ("+change(c.Change)+")")
		case analyze.GateOpen:
			open = append(open, name+" ("+why(c)+")")
		}
	}
	if set.Losses.Worse(limit) {
		worse = append(worse, lostMore(set.Losses))
	}
	switch {
	case len(worse) > 0:
		return &coded{exitFailures, fmt.Errorf("worse by more than %s %%: %s", strconv.FormatFloat(100*limit, 'g', 6, 64), firstOf(worse))}
	case len(open) > 0:
		return &coded{exitNothing, fmt.Errorf("not enough runs to judge by (%d batches a side are needed for %s): %s; collect with a higher --repeat, or name fewer figures, that each batch has, with --metric",
			analyze.GateRuns(set.Tests), plural(int64(set.Tests), "test"), firstOf(open))}
	}
	return nil
}

func lostMore(l analyze.Losses) string {
	return fmt.Sprintf("requests lost in %d of %d batches, against %d of %d", l.B.Failed, l.B.Batches, l.A.Failed, l.A.Batches)
}

// why is what keeps a comparison from being judged.
func why(c analyze.Comparison) string {
	if c.Verdict == analyze.VerdictNoRatio {
		return "a value that is not above 0"
	}
	return fmt.Sprintf("n %d/%d", c.A.N, c.B.N)
}
