package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/urfave/cli/v3"
)

// readSuite reads a suite: the keys are the names of flags; those at the top
// hold for each [[run]] that does not set its own.
func readSuite(file string) (stored, error) {
	var s stored
	raw, err := os.ReadFile(file)
	if err != nil {
		return s, fmt.Errorf("--suite: %w", err)
	}
	if _, err := toml.Decode(string(raw), &s.options); err != nil {
		return s, fmt.Errorf("--suite %s: %s", file, strings.TrimPrefix(err.Error(), "toml: "))
	}
	runs, ok := s.options["run"].([]map[string]any)
	if !ok || len(runs) == 0 {
		return s, fmt.Errorf("--suite %s has no [[run]]: it needs one for each target or matrix", file)
	}
	delete(s.options, "run")
	if err := s.options.fromSuite("suite", "resume"); err != nil {
		return s, fmt.Errorf("--suite %s: %w", file, err)
	}
	top, shared := s.options.split()
	for i, r := range runs {
		if err := options(r).fromSuite(sessionFlags...); err != nil {
			return s, fmt.Errorf("--suite %s, run %d: %w", file, i+1, err)
		}
		s.Runs = append(s.Runs, shared.over(r))
	}
	s.options = top
	return s, nil
}

// fromSuite holds that each key is a flag of collect, not one of those refused,
// and that its value is one that the flag takes.
func (o options) fromSuite(refused ...string) error {
	if err := o.noStream(); err != nil {
		return err
	}
	flags := collectFlags()
	for _, name := range slices.Sorted(maps.Keys(o)) {
		i := slices.IndexFunc(flags, func(f cli.Flag) bool { return f.Names()[0] == name })
		switch {
		case name == "db":
			return fmt.Errorf("%q can't be set in a suite: name the store with --db", name)
		case i < 0:
			return fmt.Errorf("%q is no flag of collect: %s", name, didYouMean(nearestFlag(flags, name), "tokwatt collect"))
		case slices.Contains(refused, name):
			return fmt.Errorf("%q can't be set here: it is one for the whole session", name)
		}
		if wants := misfit(flags[i], o[name]); wants != "" {
			return fmt.Errorf("%q must be %s", name, wants)
		}
	}
	return o.parse()
}

// noStream makes no-stream, which is the other side of a flag, that flag.
func (o options) noStream() error {
	v, given := o["no-stream"]
	if !given {
		return nil
	}
	off, ok := v.(bool)
	if !ok {
		return fmt.Errorf("%q must be %s", "no-stream", wantsBool)
	}
	if _, both := o["stream"]; both {
		return fmt.Errorf("%q and %q exclude each other: give one of them", "stream", "no-stream")
	}
	delete(o, "no-stream")
	o["stream"] = !off
	return nil
}

const wantsBool = "true or false, without quotes"

// misfit says what value a flag takes where v has another shape.
func misfit(f cli.Flag, v any) string {
	switch f.(type) {
	case *cli.BoolFlag, *cli.BoolWithInverseFlag:
		if _, ok := v.(bool); !ok {
			return wantsBool
		}
		return ""
	case *intsFlag, *wordsFlag, *textsFlag:
		all, many := v.([]any)
		if !many {
			all = []any{v}
		}
		if len(all) == 0 || slices.ContainsFunc(all, notScalar) {
			return "a value or a list of values, and not an empty one"
		}
		return ""
	}
	if notScalar(v) {
		return "one value: a number or a text in quotes"
	}
	return ""
}

// notScalar reports whether v is neither a text nor a number.
func notScalar(v any) bool {
	switch v.(type) {
	case string, int64, float64:
		return false
	}
	return true
}

// parse reads the options as a command line and forgets them: the error is what
// a flag has against its value.
func (o options) parse() error {
	cmd := &cli.Command{
		Name: "collect", Flags: collectFlags(), HideHelp: true, HideVersion: true, OnUsageError: onUsageError,
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Action:         func(context.Context, *cli.Command) error { return nil },
	}
	return cmd.Run(context.Background(), append([]string{"collect"}, o.args()...))
}
