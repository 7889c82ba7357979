package plot

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tokwatt/analyze"
)

// key is one thing by which cases differ.
type key struct {
	name   string
	role   role
	text   func(*analyze.Summary) string          // as it stands in names; empty: nothing to say
	number func(*analyze.Summary) (float64, bool) // nil where the key is a word
}

// role says when a key takes part in telling series apart by itself.
type role int

const (
	subject role = iota // what is measured: where it varies
	matrix              // the point of the matrix: where it varies
	version             // of the engine: only where one engine has two
	length              // tg, which often goes along with pp: only where two cases would fall on one point
	origin              // where the row is from: likewise
)

// allKeys lists the keys in the order in which they stand in names.
func allKeys() []key {
	word := func(name string, r role, text func(*analyze.Summary) string) key {
		return key{name: name, role: r, text: text}
	}
	number := func(name, prefix string, r role, v func(*analyze.Summary) *int64) key {
		return key{name, r,
			func(s *analyze.Summary) string {
				if n := v(s); n != nil {
					return prefix + " " + strconv.FormatInt(*n, 10)
				}
				return ""
			},
			func(s *analyze.Summary) (float64, bool) {
				if n := v(s); n != nil {
					return float64(*n), true
				}
				return 0, false
			}}
	}
	return []key{
		word("engine", subject, func(s *analyze.Summary) string { return s.Engine }),
		word("engine_version", version, func(s *analyze.Summary) string { return s.EngineVersion }),
		word("model_id", subject, func(s *analyze.Summary) string { return s.ModelID }),
		word("quantization", subject, func(s *analyze.Summary) string { return s.Quantization }),
		word("placement_sharding", subject, func(s *analyze.Summary) string { return s.Sharding }),
		word("placement_instance_meta", subject, func(s *analyze.Summary) string { return s.InstanceMeta }),
		{"placement_nodes", subject, nodes, func(s *analyze.Summary) (float64, bool) { n := len(s.Nodes); return float64(n), n > 0 }},
		word("host", subject, func(s *analyze.Summary) string { return s.Host }),
		number("pp", "pp", matrix, func(s *analyze.Summary) *int64 { return s.PP }),
		number("depth", "depth", matrix, depth),
		number("tg", "tg", length, func(s *analyze.Summary) *int64 { return &s.TG }),
		number("concurrency", "concurrency", matrix, func(s *analyze.Summary) *int64 { return &s.Concurrency }),
		word("cache_mode", matrix, func(s *analyze.Summary) string { return suffixed(s.CacheMode, "cache") }),
		word("prefix_cache_hit", matrix, func(s *analyze.Summary) string {
			return suffixed(strings.Replace(s.PrefixCacheHit, "none", "no", 1), "hit")
		}),
		word("prompt_kind", matrix, promptKind),
		word("prompt", matrix, prompt),
		word("node_names", origin, func(s *analyze.Summary) string { return strings.Join(s.Nodes, " + ") }),
		word("session_id", origin, func(s *analyze.Summary) string { return "session " + shortID(s.SessionID) }),
		word("target_id", origin, func(s *analyze.Summary) string { return "target " + strconv.FormatInt(s.TargetID, 10) }),
	}
}

// nodes is how many machines a placement has: their names would fill the
// legend, and are in it only where two placements have nothing else that tells
// them apart.
func nodes(s *analyze.Summary) string {
	switch n := len(s.Nodes); n {
	case 0:
		return ""
	case 1:
		return "1 node"
	default:
		return strconv.Itoa(n) + " nodes"
	}
}

// depth is how many tokens the context held before the prompt.
func depth(s *analyze.Summary) *int64 {
	if n, err := strconv.ParseInt(s.Keys["depth"], 10, 64); err == nil {
		return &n
	}
	return nil
}

// ownPrompt is the key of Summary.Keys in which rowsOf puts analyze.OwnPrompts.
const ownPrompt = "prompt"

// prompt is empty where the kind of the prompt says all.
func prompt(s *analyze.Summary) string {
	if s.Keys[ownPrompt] == "own" {
		return ""
	}
	return s.Keys[ownPrompt]
}

// promptKind is empty for the kind that pp and tg say all of, and where the
// prompt itself is named.
func promptKind(s *analyze.Summary) string {
	switch {
	case s.PromptKind == "sized" || prompt(s) != "":
		return ""
	case s.PromptKind == "none":
		return "no prompt"
	}
	return suffixed(s.PromptKind, "prompts")
}

func suffixed(word, suffix string) string {
	if word == "" {
		return ""
	}
	return word + " " + suffix
}

// shortID shortens a UUIDv7 to its 48 bits of time: sessions that start in
// different milliseconds stay apart, and commands take the prefix as an id.
func shortID(id string) string {
	if len(id) > 13 {
		return id[:13]
	}
	return id
}

// Keys returns the names that Options.By takes.
func Keys() []string {
	var names []string
	for _, k := range allKeys() {
		names = append(names, k.name)
	}
	return names
}

// pick returns the keys of the given names.
func pick(names []string) ([]key, error) {
	var keys []key
	for _, name := range names {
		i := slices.IndexFunc(allKeys(), func(k key) bool { return k.name == name })
		if i < 0 {
			return nil, fmt.Errorf("cases cannot be grouped by %q: the keys are %s", name, strings.Join(Keys(), ", "))
		}
		keys = append(keys, allKeys()[i])
	}
	return keys, nil
}

// without returns the keys that are not among the names.
func without(keys []key, names ...string) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return slices.Contains(names, k.name) })
}

// tuple is the row's place among the groups that the keys make.
func tuple(keys []key, s *analyze.Summary) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%q,", k.text(s))
	}
	return b.String()
}

// classes counts the groups that the keys make of the rows.
func classes(keys []key, rows []*analyze.Summary) int {
	seen := map[string]bool{}
	for _, s := range rows {
		seen[tuple(keys, s)] = true
	}
	return len(seen)
}

// varying returns the keys in which the rows differ.
func varying(keys []key, rows []*analyze.Summary) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return classes([]key{k}, rows) == 1 })
}

// refines tells whether k splits a group that the keys make.
func refines(keys []key, k key, rows []*analyze.Summary) bool {
	return classes(append(slices.Clip(keys), k), rows) > classes(keys, rows)
}

// title names a row by the keys.
func title(keys []key, s *analyze.Summary) string {
	var parts []string
	engine := false
	for _, k := range keys {
		t := k.text(s)
		switch {
		case t == "":
		case k.role == version && engine:
			parts[len(parts)-1] += " " + t
		default:
			parts = append(parts, t)
		}
		engine = k.name == "engine"
	}
	return strings.Join(parts, " · ")
}

// group is the rows that the same values of some keys belong to.
type group struct {
	name string
	rows []*analyze.Summary
}

// groups splits rows by the keys, ordered by number where a key is one, else
// by first appearance.
func groups(keys []key, rows []*analyze.Summary) []group {
	rank := map[string]int{}
	for _, s := range rows {
		for _, k := range keys {
			if _, ok := rank[k.name+k.text(s)]; !ok {
				rank[k.name+k.text(s)] = len(rank)
			}
		}
	}
	byTuple := map[string]*group{}
	var list []*group
	for _, s := range rows {
		t := tuple(keys, s)
		if byTuple[t] == nil {
			byTuple[t] = &group{name: title(keys, s)}
			list = append(list, byTuple[t])
		}
		byTuple[t].rows = append(byTuple[t].rows, s)
	}
	slices.SortStableFunc(list, func(a, b *group) int {
		for _, k := range keys {
			if c := compareBy(k, rank, a.rows[0], b.rows[0]); c != 0 {
				return c
			}
		}
		return 0
	})
	out := make([]group, len(list))
	for i, g := range list {
		out[i] = *g
	}
	return out
}

func compareBy(k key, rank map[string]int, a, b *analyze.Summary) int {
	if k.number == nil {
		return cmp.Compare(rank[k.name+k.text(a)], rank[k.name+k.text(b)])
	}
	x, _ := k.number(a)
	y, _ := k.number(b)
	return cmp.Compare(x, y)
}

// common names what all rows share, for the subtitle.
func common(keys []key, rows []*analyze.Summary) string {
	var same []key
	for _, k := range keys {
		if k.role != origin && classes([]key{k}, rows) == 1 {
			same = append(same, k)
		}
	}
	return title(same, rows[0])
}
