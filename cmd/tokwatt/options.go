package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"
)

// options are flags by name with their values: a list for those that may be
// repeated, a bool for switches. A command line, a run of a suite and a stored
// session all come down to them.
type options map[string]any

// optionsOf are the flags that were set on a command line.
func optionsOf(cmd *cli.Command) options {
	o := options{}
	for _, name := range cmd.LocalFlagNames() {
		if !cmd.IsSet(name) || name == "no-stream" { // stream says it
			continue
		}
		v := cmd.Value(name)
		if d, ok := v.(time.Duration); ok {
			v = d.String()
		}
		o[name] = v
	}
	return o
}

// over is o with what other sets in its place.
func (o options) over(other options) options {
	out := maps.Clone(o)
	if out == nil {
		out = options{}
	}
	maps.Copy(out, other)
	return out
}

// has reports whether a switch is on.
func (o options) has(name string) bool { return o[name] == true }

// text is a flag's value, empty where it is not set.
func (o options) text(name string) string {
	if all := o.list(name); len(all) > 0 {
		return all[0]
	}
	return ""
}

// list are the values of a flag that may be repeated.
func (o options) list(name string) []string {
	if o[name] == nil {
		return nil
	}
	return items(o[name])
}

// duration is a flag's value; 0 where it is not set.
func (o options) duration(name string) (time.Duration, error) {
	if o[name] == nil {
		return 0, nil
	}
	d, err := seconds(o.text(name))
	if err != nil {
		return 0, usagef("--%s %s: must be a duration with its unit, such as 500ms or 3s", name, o.text(name))
	}
	return d, nil
}

// split parts the flags of a whole session from those of one run.
func (o options) split() (session, run options) {
	session, run = options{}, options{}
	for name, v := range o {
		if slices.Contains(sessionFlags, name) {
			session[name] = v
		} else {
			run[name] = v
		}
	}
	return session, run
}

// without is o less some flags.
func (o options) without(names ...string) options {
	out := maps.Clone(o)
	maps.DeleteFunc(out, func(name string, _ any) bool { return slices.Contains(names, name) })
	return out
}

// args are the options as a command line.
func (o options) args() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(o)) {
		switch v := o[name].(type) {
		case bool:
			switch {
			case name == "stream" && !v:
				out = append(out, "--no-stream")
			case name == "stream":
				out = append(out, "--stream")
			case v:
				out = append(out, "--"+name+"=true")
			}
		default:
			for _, one := range items(v) {
				out = append(out, "--"+name+"="+one)
			}
		}
	}
	return out
}

// items are the values of a list, or the one value that v is.
func items(v any) []string {
	switch v := v.(type) {
	case []string:
		return v
	case []int64:
		out := make([]string, len(v))
		for i, n := range v {
			out[i] = strconv.FormatInt(n, 10)
		}
		return out
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, items(one)...)
		}
		return out
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	}
	return []string{fmt.Sprint(v)}
}

// kept is what a session keeps of the options: nothing secret, nothing of how
// its result was printed.
func (o options) kept() options {
	out := o.without("json", "db", "header", "json-out", "stdout", "dry-run", "resume", "suite")
	if out["url"] != nil {
		out["url"] = withoutSecrets(out.text("url"))
	}
	return out
}

// stored is the form in which a session keeps its options.
type stored struct {
	options
	Runs []options
}

// document is the JSON of a session's options: the flags of the session, and
// those of each run where it was a suite.
func (s stored) document() (string, error) {
	doc := maps.Clone(s.options)
	if len(s.Runs) > 0 {
		doc["runs"] = s.Runs
	}
	b, err := json.Marshal(doc)
	return string(b), err
}

// readStored reads it back.
func readStored(doc string) (stored, error) {
	var s stored
	if err := json.Unmarshal([]byte(doc), &s.options); err != nil {
		return s, fmt.Errorf("its options can't be read: %w", err)
	}
	if s.options["runs"] == nil {
		return s, nil
	}
	var runs struct{ Runs []options }
	if err := json.Unmarshal([]byte(doc), &runs); err != nil {
		return s, fmt.Errorf("its runs can't be read: %w", err)
	}
	s.Runs = runs.Runs
	delete(s.options, "runs")
	return s, nil
}
