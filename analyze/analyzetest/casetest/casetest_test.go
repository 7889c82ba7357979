package casetest

import (
	"encoding/json"
	"testing"
)

// TestMatches shows for each form of expectation something that meets it and
// something that does not.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want      string
		good, bad any
	}{
		{`null`, nil, 0.0},
		{`0`, 0.0, nil},
		{`2`, 2, 2.1},
		{`50`, 50.00001, 50.001},
		{`"ok"`, "ok", "failed"},
		{`false`, false, true},
		{`{"min": 1, "max": 2}`, 2.0, 2.01},
		{`{"min": 1}`, 3.0, 0.9},
		{`{"max": 1}`, 1.0, nil},
		{`{"any_of": [null, {"min": 3, "max": 4}]}`, nil, 5.0},
		{`{"any_of": ["reset", "truncated"]}`, "reset", "stall"},
		{`{"not": 0}`, nil, 0.0},
		{`{"not_null": true}`, 0.0, nil},
		{`{"contains": "while"}`, "a while", "nothing"},
		{`{"length": 3}`, "äöü", "äö"},
		{`{"has": ["a"], "has_not": ["b"]}`, []string{"a"}, []string{"a", "b"}},
		{`{"has": ["a"]}`, []string{"b", "a"}, []string(nil)},
		{`{"has_not": ["a"]}`, []string(nil), []string{"a"}},
	} {
		if !Matches(json.RawMessage(c.want), c.good) {
			t.Errorf("%v does not meet %s", c.good, c.want)
		}
		if Matches(json.RawMessage(c.want), c.bad) {
			t.Errorf("%v meets %s", c.bad, c.want)
		}
	}
	for _, nonsense := range []string{`{`, `[1]`, `{"suggest": 1}`} {
		if Matches(json.RawMessage(nonsense), 1.0) {
			t.Errorf("1 meets %s", nonsense)
		}
	}
}

func TestDifferences(t *testing.T) {
	expect := func(s string) map[string]json.RawMessage {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(s), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	cols := map[string]any{"a": 1.0, "b": nil}
	for _, c := range []struct {
		expect      string
		wrong, late int
	}{
		{`{"a": 1, "b": null}`, 0, 0},
		{`{"a": 2, "b": 0}`, 2, 0},
		{`{"a": {"min": 2, "max": 3}}`, 0, 1},
		{`{"nobody_knows": null}`, 1, 0},
		{`{"any_of": [{"a": 2}, {"a": 1}], "b": null}`, 0, 0},
		{`{"any_of": [{"a": 2, "b": 3}, {"a": 5}]}`, 1, 0},
		{`{"any_of": 3}`, 1, 0},
	} {
		wrong, late := Differences(expect(c.expect), cols)
		if len(wrong) != c.wrong || len(late) != c.late {
			t.Errorf("%s: wrong %q, late %q", c.expect, wrong, late)
		}
	}
}
