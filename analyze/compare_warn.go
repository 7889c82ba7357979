package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// hiddenKeys are what may differ between two sides without anybody asking for
// it, and change the figures; with what no value of them means.
var hiddenKeys = []struct{ key, none string }{
	{"host", "unknown"}, {"hw_chip", "unknown"}, {"os_name", "unknown"}, {"os_version", "unknown"},
	{"power_mode", "unknown"}, {"on_battery", "unknown"},
	{"model_quantization", "unknown"}, {"model_format", "unknown"}, {"engine_version", "unknown"}, {"endpoint", "none"},
	{"streaming", "unknown"}, {settingsKey, "none"}, {"cold_method", "none"}, {"eos_ban", "none"},
	{"prompt_source", "unknown"}, {"tokens_source", "none"}, {"prompt_tps_source", "none"}, {"generation_tps_source", "none"},
	{"import_tool", "none, tokwatt measured it"}, {"tool_version", "unknown"}, {"formula_version", "unknown"},
}

// warn says what differs in the matched cases besides what was asked for.
func (m *matching) warn() {
	for _, h := range hiddenKeys {
		if m.excused(h.key) {
			continue
		}
		m.set.Warnings = append(m.set.Warnings, m.differences(h.key, h.none)...)
	}
	m.warnOfTargets()
	m.warnOfLabels()
	m.warnOfFailures()
	m.warnOfMetrics()
}

// manyWays is in how many ways the cases may differ in one key until they are told
// together.
const manyWays = 2

// differences says how the matched cases differ in a key, and in how many of them.
func (m *matching) differences(key, none string) []string {
	var texts []string
	var a, b []Summary
	cases := map[string]int{}
	for _, g := range m.groups {
		text := difference(key, none, valuesOf(g.a, key), valuesOf(g.b, key))
		if text == "" {
			continue
		}
		if cases[text] == 0 {
			texts = append(texts, text)
		}
		cases[text]++
		a, b = append(a, g.a...), append(b, g.b...)
	}
	if len(texts) > manyWays {
		n := 0
		for _, k := range cases {
			n += k
		}
		return []string{fmt.Sprintf("%s differs in %d of %d cases, not in the same way: A %s, B %s", key, n, len(m.groups), worded(valuesOf(a, key), none), worded(valuesOf(b, key), none))}
	}
	for i, text := range texts {
		if n := cases[text]; n < len(m.groups) {
			texts[i] = fmt.Sprintf("%s (in %d of %d cases)", text, n, len(m.groups))
		}
	}
	return texts
}

// excused reports whether a difference in the key is what was asked for, or goes
// without saying: other engines have other versions and addresses.
func (m *matching) excused(key string) bool {
	if m.selectedBy(key) {
		return true
	}
	engines := slices.ContainsFunc(m.set.Compared, func(k CaseKey) bool { return k.Key == "engine" })
	return key == "endpoint" || engines && key == "engine_version" || slices.Contains(m.keys, key)
}

// difference is empty where both sides have one value, the same.
func difference(key, none string, a, b []string) string {
	switch wa, wb := worded(a, none), worded(b, none); {
	case wa != wb:
		return fmt.Sprintf("%s differs: A %s, B %s", key, wa, wb)
	case len(a) > 1:
		return fmt.Sprintf("%s varies within both sides: %s", key, wa)
	}
	return ""
}

// worded lists values in order, with a word for the empty one.
func worded(values []string, none string) string {
	var out []string
	for _, v := range values {
		out = append(out, cmp.Or(v, none))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// warnOfLabels says that models are taken for one because of a label.
func (m *matching) warnOfLabels() {
	var a, b []Summary
	for _, g := range m.groups {
		a, b = append(a, g.a...), append(b, g.b...)
	}
	ids := func(rows []Summary) []string { return valuesOf(rows, "model_id") }
	if m.selectedBy(modelKey) || len(a) == 0 || share(ids(a), ids(b)) || !share(valuesOf(a, modelKey), valuesOf(b, modelKey)) {
		return
	}
	m.set.Warnings = append(m.set.Warnings, fmt.Sprintf("one model by its label %s: A %s, B %s",
		listed(valuesOf(a, modelKey)), listed(ids(a)), listed(ids(b))))
}

// warnOfFailures says that a side lost requests, which are in no figure.
func (m *matching) warnOfFailures() {
	var a, b, allA, allB int64
	for _, g := range m.groups {
		for _, s := range g.a {
			a, allA = a+s.NFailed+s.NInvalid, allA+s.NOK+s.NFailed+s.NInvalid
		}
		for _, s := range g.b {
			b, allB = b+s.NFailed+s.NInvalid, allB+s.NOK+s.NFailed+s.NInvalid
		}
	}
	if a+b > 0 {
		m.set.Warnings = append(m.set.Warnings, fmt.Sprintf("requests that failed or are invalid: A %d of %d, B %d of %d", a, allA, b, allB))
	}
}

// warnOfMetrics says which metrics one side alone has.
func (m *matching) warnOfMetrics() {
	for _, metric := range m.metrics {
		var a, b int
		for _, g := range m.groups {
			a, b = a+newSide(g.a, metric.Name).N, b+newSide(g.b, metric.Name).N
		}
		if (a == 0) != (b == 0) {
			side := "A"
			if b == 0 {
				side = "B"
			}
			m.set.Warnings = append(m.set.Warnings, side+" has no "+metric.Name+": not compared")
		}
	}
}

// listed is worded, in the order of the rows.
func listed(values []string) string {
	var out []string
	for _, v := range values {
		out = append(out, cmp.Or(v, "none"))
	}
	return strings.Join(out, ", ")
}
