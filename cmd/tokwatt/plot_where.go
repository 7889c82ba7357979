package main

import (
	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
)

// caseConditions tells which cases --where keeps.
func caseConditions(cmd *cli.Command) (func(analyze.Summary) bool, error) {
	var wanted analyze.Conditions
	for _, cond := range cmd.StringSlice("where") {
		by, err := parseConditions(cond)
		if err != nil {
			return nil, usagef("--where %w", err)
		}
		wanted = append(wanted, by...)
	}
	return func(s analyze.Summary) bool { return wanted.Match(&s) }, nil
}
