package main

import (
	"context"
	"slices"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

// caseConditions are those of --where.
func caseConditions(cmd *cli.Command) (analyze.Conditions, error) {
	var wanted analyze.Conditions
	for _, cond := range cmd.StringSlice("where") {
		by, err := parseConditions(cond)
		if err != nil {
			return nil, usagef("--where %w", err)
		}
		wanted = append(wanted, by...)
	}
	return wanted, nil
}

// narrowTo is the filter for the cases that may meet the conditions, so that no
// others are computed; unchanged where there is none, for then all are needed to
// say why.
func narrowTo(ctx context.Context, db *duck.DB, f duck.SummaryFilter, wanted analyze.Conditions) (duck.SummaryFilter, error) {
	groups, err := db.Groups(ctx)
	if err != nil {
		return f, err
	}
	var ids []string
	var cases []int64
	for _, g := range meeting(groups, f.Sessions, wanted) {
		ids, cases = append(ids, g.SessionID), append(cases, g.CaseID)
	}
	if len(ids) > 0 {
		slices.Sort(cases)
		f.Sessions, f.Cases = slices.Compact(ids), slices.Compact(cases)
	}
	return f, nil
}

// kept are the cases that --where keeps; where it keeps none, the error says
// what there is. Of a session without cases the figure says why.
func kept[C any](cases []C, wanted analyze.Conditions, summary func(*C) *analyze.Summary) ([]C, error) {
	var left []C
	var all []analyze.Summary
	for i := range cases {
		s := summary(&cases[i])
		all = append(all, *s)
		if wanted.Match(s) {
			left = append(left, cases[i])
		}
	}
	if len(left) == 0 && len(all) > 0 {
		return nil, unmet(all, wanted)
	}
	return left, nil
}
