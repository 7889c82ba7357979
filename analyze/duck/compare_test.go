//go:build cgo

package duck

import (
	"slices"
	"strconv"
	"testing"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
)

// TestKeys: summaries and groups have the same keys, each with the value that
// the view runs has in the column of its name.
func TestKeys(t *testing.T) {
	root := t.TempDir()
	for s := range analyzetest.Fleet(3, 2, analyzetest.Options{Targets: 4, PP: []int64{128, 512}, Repeats: 2, Tokens: 6}) {
		export(t, root, s)
	}
	db := open(t, Options{Roots: []string{root}})
	summaries, err := db.Summaries(t.Context(), SummaryFilter{})
	if err != nil {
		t.Fatal(err)
	}
	groups, err := db.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range analyze.GroupKeys() {
		some := false
		for _, s := range summaries {
			if _, ok := s.Keys[key]; !ok {
				t.Fatalf("summaries lack the key %s", key)
			}
			some = some || s.Keys[key] != ""
			same := func(g analyze.Summary) bool { return g.SessionID == s.SessionID && g.Keys[key] == s.Keys[key] }
			if key != "prefix_cache_hit" && !slices.ContainsFunc(groups, same) {
				t.Errorf("no group of session %s has %s %q", s.SessionID, key, s.Keys[key])
			}
		}
		if !some && !slices.Contains([]string{"label", "import_tool", "depth", "power_mode", "on_battery", "eos_ban", "prompt_hash", "placement_sharding", "placement_instance_meta", "placement_nodes"}, key) {
			t.Errorf("no row has %s: the test shows less than it should", key)
		}
	}
	if len(groups) < 3*4*2 || summaries[0].Keys["tool_version"] == "" || summaries[0].Keys["formula_version"] != strconv.Itoa(analyze.FormulaVersion) {
		t.Errorf("%d groups, versions %q and %q", len(groups), summaries[0].Keys["tool_version"], summaries[0].Keys["formula_version"])
	}
}

// TestKeysAreColumns: each key but tool_version is a column of runs and of
// summary, and of batch_runs but for the kind of cache hit, which is a request's.
func TestKeysAreColumns(t *testing.T) {
	db := open(t, Options{Roots: []string{t.TempDir()}})
	for _, view := range []string{"runs", "batch_runs", "summary"} {
		rows, err := db.Query(t.Context(), "from "+view)
		if err != nil {
			t.Fatal(err)
		}
		names := rows.Names()
		rows.Close()
		for _, key := range analyze.GroupKeys() {
			ofRequest := key == "prefix_cache_hit" && view == "batch_runs"
			if key != "tool_version" && !ofRequest && !slices.Contains(names, key) {
				t.Errorf("%s has no column %s", view, key)
			}
		}
	}
}
