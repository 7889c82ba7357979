package analyze_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"tokwatt/analyze"
)

// of is a row of a target with settings of its own.
func of(session string, target int64, rate float64, settings string) analyze.Summary {
	s := row(session, 10*target, rate, "")
	s.TargetID, s.Keys["sampling_json"] = target, settings
	return s
}

// TestTargetsWithSettings: targets that differ in a setting are compared each with
// its like, or it is said that they are thrown together.
func TestTargetsWithSettings(t *testing.T) {
	one, two, four := `{"n_batch":512,"n_threads":1}`, `{"n_batch":512,"n_threads":2}`, `{"n_batch":512,"n_threads":4}`
	for _, c := range []struct {
		name            string
		a, b            analyze.Selected
		pairs, warnings string
	}{
		{"in both", side("", of("1", 1, 50, one), of("1", 2, 80, two)), side("", of("2", 1, 80, two), of("2", 2, 50, one)),
			"n_threads=1: 6/6 same, n_threads=2: 6/6 same", ""},
		{"none of the other's", side("", of("1", 1, 50, one), of("1", 2, 80, two)), side("", of("2", 1, 80, four)),
			"the only case: 12/6 same", "settings differs: A n_threads=1, n_threads=2, B n_threads=4; A takes 2 targets of session 1 together that differ in n_threads"},
		{"one each", side("", of("1", 1, 50, one)), side("", of("2", 1, 50, two)), "the only case: 6/6 same", "settings differs: A n_threads=1, B n_threads=2"},
		{"alike", side("", of("1", 1, 50, one)), side("", of("2", 1, 50, one)), "the only case: 6/6 same", ""},
		{"unknown on a side", side("", of("1", 1, 50, one)), side("", of("2", 1, 50, "")), "the only case: 6/6 same", "settings differs: A n_batch=512 n_threads=1, B none"},
	} {
		set, err := analyze.Compare(c.a, c.b, rate)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var pairs []string
		for _, p := range set.Pairs {
			pairs = append(pairs, fmt.Sprintf("%s: %d/%d %s", analyze.CaseName(p.Case), p.A.N, p.B.N, p.Verdict))
		}
		if got := strings.Join(pairs, ", "); got != c.pairs {
			t.Errorf("%s: %s, want %s", c.name, got, c.pairs)
		}
		if got := strings.Join(set.Warnings, "; "); got != c.warnings {
			t.Errorf("%s: %s, want %s", c.name, got, c.warnings)
		}
	}
}

func TestSettings(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"": {}, "[1]": {}, "null": {}, `{"a":1,"b":{"c":"x","d":{"e":false}},"l":[1,2]}`: {"a": "1", "b.c": "x", "b.d.e": "false", "l": "[1,2]"},
	} {
		if got := analyze.Settings(text); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
