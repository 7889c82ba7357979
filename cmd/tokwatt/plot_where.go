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
	conds := cmd.StringSlice("where")
	for _, cond := range conds {
		if key, _, _ := strings.Cut(cond, "="); conditions[key] == nil || key == cond {
			return nil, usagef("--where %s: must be KEY=VALUE with a key of %s", cond, keysOf(conditions))
		}
	}
	return func(s analyze.Summary) bool {
		for _, cond := range conds {
			key, want, _ := strings.Cut(cond, "=")
			if conditions[key](s) != want {
				return false
			}
		}
		return true
	}, nil
}

// conditions are the keys of --where for cases.
var conditions = map[string]func(analyze.Summary) string{
	"engine":                  func(s analyze.Summary) string { return s.Engine },
	"engine_version":          func(s analyze.Summary) string { return s.EngineVersion },
	"model_id":                func(s analyze.Summary) string { return s.ModelID },
	"quantization":            func(s analyze.Summary) string { return s.Quantization },
	"placement_sharding":      func(s analyze.Summary) string { return s.Sharding },
	"placement_instance_meta": func(s analyze.Summary) string { return s.InstanceMeta },
	"placement_nodes":         func(s analyze.Summary) string { return strconv.Itoa(len(s.Nodes)) },
	"host":                    func(s analyze.Summary) string { return s.Host },
	"cache_mode":              func(s analyze.Summary) string { return s.CacheMode },
	"prefix_cache_hit":        func(s analyze.Summary) string { return s.PrefixCacheHit },
	"prompt_kind":             func(s analyze.Summary) string { return s.PromptKind },
	"tg":                      func(s analyze.Summary) string { return strconv.FormatInt(s.TG, 10) },
	"concurrency":             func(s analyze.Summary) string { return strconv.FormatInt(s.Concurrency, 10) },
	"pp": func(s analyze.Summary) string {
		if s.PP == nil {
			return ""
		}
		return strconv.FormatInt(*s.PP, 10)
	},
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
