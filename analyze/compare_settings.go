package analyze

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// samplingKey is the column of Summary.Keys with a target's settings as JSON;
// settingsKey those of them that tell its rows from others of its engine and model.
const (
	samplingKey = "sampling_json"
	settingsKey = "settings"
)

// Settings are the values of a target's sampling_json by their paths, such as
// n_threads or options.num_ctx; a list is one value, and what is no object has
// none.
func Settings(text string) map[string]string {
	out := map[string]string{}
	var tree map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &tree) != nil {
		return out
	}
	for key, value := range tree {
		inner := Settings(string(value))
		for path, v := range inner {
			out[key+"."+path] = v
		}
		if len(inner) == 0 {
			out[key] = strings.Trim(string(value), `"`)
		}
	}
	return out
}

// nameSettings puts into the keys in what the targets of an engine and model
// differ: each engine has settings of its own, some are the model's, and what all
// have alike tells nothing.
func (m *matching) nameSettings() {
	like := map[string][]Summary{}
	for _, s := range slices.Concat(m.a.Rows, m.b.Rows) {
		key := tuple(s, []string{"engine", "model_id"})
		like[key] = append(like[key], s)
	}
	for _, rows := range like {
		names := DifferingSettings(valuesOf(rows, samplingKey))
		for _, s := range rows {
			s.Keys[settingsKey] = SettingWords(s.Keys[samplingKey], names)
		}
	}
}

// SettingWords are some of a target's settings, as people read them: those that
// it has of the paths, in their order.
func SettingWords(text string, paths []string) string {
	values := Settings(text)
	var words []string
	for _, path := range paths {
		if v, ok := values[path]; ok {
			words = append(words, path+"="+v)
		}
	}
	return strings.Join(words, " ")
}

// DifferingSettings are the paths that several targets' sampling_json have
// different values of, in order.
func DifferingSettings(texts []string) []string {
	var of []map[string]string
	paths := map[string]bool{}
	for _, text := range texts {
		values := Settings(text)
		of = append(of, values)
		for path := range values {
			paths[path] = true
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(paths)), func(path string) bool {
		return !slices.ContainsFunc(of, func(values map[string]string) bool { return values[path] != of[0][path] })
	})
}

// warnOfTargets says that targets of one session, with settings of their own, are
// taken together in a side, because the other has none of these.
func (m *matching) warnOfTargets() {
	for i, side := range []string{"A", "B"} {
		said := map[string]bool{}
		for _, g := range m.groups {
			for _, id := range valuesOf([][]Summary{g.a, g.b}[i], "session_id") {
				rows := slices.DeleteFunc(slices.Clone([][]Summary{g.a, g.b}[i]), func(s Summary) bool { return s.Keys["session_id"] != id })
				names := DifferingSettings(valuesOf(rows, samplingKey))
				if len(names) == 0 || said[id] {
					continue
				}
				said[id] = true
				m.set.Warnings = append(m.set.Warnings, fmt.Sprintf("%s takes %d targets of session %s together that differ in %s",
					side, targetsOf(rows), id, strings.Join(names, ", ")))
			}
		}
	}
}

func targetsOf(rows []Summary) int {
	seen := map[int64]bool{}
	for _, s := range rows {
		seen[s.TargetID] = true
	}
	return len(seen)
}
