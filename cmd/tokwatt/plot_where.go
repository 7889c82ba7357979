package main

import (
	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
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
