package plot

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// warningNotes are the warnings of a comparison as sentences of a figure, whose
// readers know no columns: those have names here.
func warningNotes(warnings []string) []string {
	var notes []string
	for _, w := range warnings {
		w = flagged.ReplaceAllString(w, "$1: ")
		if key, rest, ok := strings.Cut(w, " "); ok && strings.Contains(key, "_") {
			w = hiddenName(key) + " " + rest
		}
		if side, name, ok := strings.Cut(w, " has no "); ok {
			if name, tail, ok := strings.Cut(name, ":"); ok {
				w = side + " has no figure for “" + labelOf(name) + "”:" + tail
			}
		}
		first, size := utf8.DecodeRuneInString(w)
		notes = append(notes, string(unicode.ToUpper(first))+strings.TrimSuffix(w[size:], ".")+".")
	}
	return notes
}

// flagged is the name of a flag before what it says in words.
var flagged = regexp.MustCompile(`^([AB]: [0-9]+ requests?) with [a-z_]+: `)

func labelOf(name string) string {
	if m, err := metricNamed(name); err == nil {
		return m.Label
	}
	return name
}

// hiddenName says in words what a column has.
func hiddenName(column string) string {
	name, ok := map[string]string{
		"hw_chip":               "the chip",
		"os_name":               "the operating system",
		"os_version":            "the system's version",
		"on_battery":            "running on battery",
		"eos_ban":               "keeping on until the wanted length",
		"cold_method":           "how caches were kept cold",
		"prompt_source":         "where prompts came from",
		"tokens_source":         "who counted the tokens",
		"prompt_tps_source":     "who timed the prefill rate",
		"generation_tps_source": "who timed the generation rate",
		"import_tool":           "the tool imported from",
		"tool_version":          "tokwatt's version",
		"formula_version":       "the version of the formulas",
		"model_quantization":    "the quantization",
	}[column]
	if !ok {
		return "the " + strings.ReplaceAll(column, "_", " ")
	}
	return name
}
