package analyze

import (
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
	{"streaming", "unknown"}, {"cold_method", "none"}, {"eos_ban", "none"},
	{"prompt_source", "unknown"}, {"tokens_source", "none"}, {"prompt_tps_source", "none"}, {"generation_tps_source", "none"},
	{"import_tool", "none, tokwatt measured it"}, {"tool_version", "unknown"}, {"formula_version", "unknown"},
}

// warn says what differs in the matched cases besides what was asked for.
func (m *matching) warn() {
	for _, h := range hiddenKeys {
		if m.excused(h.key) {
			continue
		}
		var texts []string
		cases := map[string]int{}
		for _, g := range m.groups {
			text := difference(h.key, h.none, valuesOf(g.a, h.key), valuesOf(g.b, h.key))
			if text != "" && cases[text] == 0 {
				texts = append(texts, text)
			}
			cases[text]++
		}
		for _, text := range texts {
			if n := cases[text]; n < len(m.groups) {
				text = fmt.Sprintf("%s (in %d of %d cases)", text, n, len(m.groups))
			}
			m.set.Warnings = append(m.set.Warnings, text)
		}
	}
	m.warnOfLabels()
	m.warnOfFailures()
	m.warnOfMetrics()
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
	word := func(values []string) string {
		var out []string
		for _, v := range values {
			if v == "" {
				v = none
			}
			out = append(out, v)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	switch wa, wb := word(a), word(b); {
	case wa != wb:
		return fmt.Sprintf("%s differs: A %s, B %s", key, wa, wb)
	case len(a) > 1:
		return fmt.Sprintf("%s varies within both sides: %s", key, wa)
	}
	return ""
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

func listed(values []string) string {
	var out []string
	for _, v := range values {
		if v == "" {
			v = "none"
		}
		out = append(out, v)
	}
	return strings.Join(out, ", ")
}
