package main

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/plot"
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

// powerConditions are what --where chooses of a session: sensors by name, the
// time by number.
func powerConditions(cmd *cli.Command) (plot.PowerOptions, error) {
	var o plot.PowerOptions
	words := map[string]*string{"node": &o.Node, "source": &o.Source, "scope": &o.Scope}
	numbers := map[string]*int64{"target_id": &o.Target, "case_id": &o.Case, "batch_id": &o.Batch}
	for _, cond := range cmd.StringSlice("where") {
		key, value, _ := strings.Cut(cond, "=")
		switch word, number := words[key], numbers[key]; {
		case word != nil && value != "":
			*word = value
		case number != nil:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 1 {
				return o, usagef("--where %s: must be a number from 1 on, as `tokwatt query` shows it", cond)
			}
			*number = n
		default:
			return o, usagef("--where %s: must be KEY=VALUE with a key of %s, %s", cond, keysOf(words), keysOf(numbers))
		}
	}
	return o, nil
}
