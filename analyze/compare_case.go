package analyze

import (
	"fmt"
	"slices"
	"strings"
)

// valuesOf are the different ones of a key, in the order of the rows.
func valuesOf(rows []Summary, key string) []string {
	var out []string
	for _, s := range rows {
		if v := s.Keys[key]; !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(v string) bool { return slices.Contains(b, v) })
}

// varyingIn are the keys in which rows differ; of the settings those that tell
// cases apart which the others don't.
func varyingIn(rows []Summary, keys []string) []string {
	vary := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return len(valuesOf(rows, k)) < 2 })
	names := slices.DeleteFunc(slices.Clone(vary), func(k string) bool { return slices.Contains(settingKeys, k) })
	for _, k := range settingKeys {
		if slices.Contains(vary, k) && tuples(rows, append(slices.Clone(names), k)) > tuples(rows, names) {
			names = append(names, k)
		}
	}
	return names
}

// tuples counts the different values of some keys together.
func tuples(rows []Summary, keys []string) int {
	seen := map[string]bool{}
	for _, s := range rows {
		seen[tuple(s, keys)] = true
	}
	return len(seen)
}

// tuple is a row's place among the cases that the keys make.
func tuple(s Summary, keys []string) string {
	var b strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&b, "%q,", s.Keys[key])
	}
	return b.String()
}

func keysOf(s Summary, keys []string) []CaseKey {
	out := []CaseKey{}
	for _, k := range keys {
		out = append(out, CaseKey{k, s.Keys[k]})
	}
	return out
}

// CaseName is a case in words, such as "pp 512, tg 128"; empty keys are those of
// the only case.
func CaseName(keys []CaseKey) string {
	var parts []string
	for _, k := range keys {
		switch {
		case k.Value == "":
		case slices.Contains([]string{"pp", "depth", "tg", "concurrency"}, k.Key):
			parts = append(parts, k.Key+" "+k.Value)
		case k.Key == "placement_nodes":
			parts = append(parts, "nodes "+k.Value)
		case k.Key == "prompt_hash":
			parts = append(parts, "text "+k.Value[:min(8, len(k.Value))])
		case k.Key == "cache_mode":
			parts = append(parts, k.Value+" cache")
		case k.Key == "prefix_cache_hit":
			parts = append(parts, strings.Replace(k.Value, "none", "no", 1)+" hit")
		case k.Key == "streaming":
			parts = append(parts, map[string]string{"true": "streamed", "false": "not streamed"}[k.Value])
		default:
			parts = append(parts, k.Value)
		}
	}
	if len(parts) == 0 {
		return "the only case"
	}
	return strings.Join(parts, ", ")
}
