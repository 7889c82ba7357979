package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/analyze"
)

// TestMostInCommon: of the values that keep two sides apart those are proposed
// under which most is compared, whichever row comes first.
func TestMostInCommon(t *testing.T) {
	row := func(session, cache, hit, pp string, n int64) analyze.Summary {
		return analyze.Summary{SessionID: session, NOK: n, Keys: map[string]string{"session_id": session, "engine": "e", "cache_mode": cache, "prefix_cache_hit": hit, "pp": pp}}
	}
	a := []analyze.Summary{row("a", "cold", "", "128", 6), row("a", "cold", "", "512", 6)}
	for name, b := range map[string][]analyze.Summary{
		"first":  {row("b", "prefix", "none", "128", 5), row("b", "prefix", "none", "512", 5), row("b", "prefix", "exact", "128", 1)},
		"last":   {row("b", "prefix", "exact", "128", 1), row("b", "prefix", "none", "128", 5), row("b", "prefix", "none", "512", 5)},
		"common": {row("b", "prefix", "exact", "2048", 90), row("b", "prefix", "none", "128", 2)},
	} {
		sides := [2]analyze.Selected{{Rows: a}, {Rows: b}}
		got := mostInCommon(sides, []analyze.KeyValues{{Key: "prefix_cache_hit"}})
		if text := fmt.Sprint(got); text != "[[prefix_cache_hit=] [prefix_cache_hit=none]]" {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestProposalIsCompared: what is proposed where nothing is in common does compare.
func TestProposalIsCompared(t *testing.T) {
	needsSQL(t)
	db := fixture(t)
	r := tokwatt(t, "", "compare", "--db", db, "last,cache_mode=cold,engine=llama.cpp,pp=4096", "last,cache_mode=prefix")
	_, proposal, found := strings.Cut(r.err, "`tokwatt compare ")
	if r.code != exitUsage || !found {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	args := strings.Fields(strings.ReplaceAll(strings.TrimRight(proposal, "`\n"), "'", ""))
	if r := tokwatt(t, "", append([]string{"compare", "--db", db}, args...)...); r.code != exitOK {
		t.Errorf("%q: exit %d: %s", args, r.code, r.err)
	}
	if r := tokwatt(t, "", "compare", "--db", db, "--metric", "mixed_tps", "last,pp=128", "last~1,pp=128"); r.code == exitOK || !strings.HasPrefix(r.err, "tokwatt: mixed_tps: ") {
		t.Errorf("a figure that no side has: exit %d: %s", r.code, r.err)
	}
}

// TestCompareTargetsWithSettings: an import whose targets differ in their threads
// alone is not thrown together unsaid.
func TestCompareTargetsWithSettings(t *testing.T) {
	needsSQL(t)
	text, err := os.ReadFile("../../collect/exchange/testdata/import/llama-bench-bde7cd3.json")
	if err != nil {
		t.Fatal(err)
	}
	db, dir := filepath.Join(t.TempDir(), "t.db"), t.TempDir()
	four := strings.NewReplacer(`"n_threads": 1,`, `"n_threads": 4,`, "T10:35", "T12:35").Replace(string(text))
	for i, content := range []string{string(text), strings.ReplaceAll(string(text), "T10:35", "T11:35"), strings.ReplaceAll(four, `"n_threads": 2,`, `"n_threads": 4,`)} {
		file := filepath.Join(dir, fmt.Sprint(i, ".json"))
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := tokwatt(t, "", "import", "--db", db, file); r.code != exitOK {
			t.Fatalf("import: exit %d: %s", r.code, r.err)
		}
	}
	if r := tokwatt(t, "", "compare", "--db", db, "last~2", "last~1"); r.code != exitOK || !strings.Contains(r.out, "n_threads=2") || strings.Contains(r.out, "mind: settings") {
		t.Errorf("of the same settings: exit %d\n%s%s", r.code, r.out, r.err)
	}
	r := tokwatt(t, "", "compare", "--db", db, "last~1", "last")
	if out := flat(r.out); r.code != exitOK || !strings.Contains(out, "mind: A takes 2 targets of session ") || !strings.Contains(out, "together that differ in n_threads") {
		t.Errorf("of others: exit %d\n%s%s", r.code, r.out, r.err)
	}
	r = tokwatt(t, "", "summary", "--db", db, "last~2")
	for _, n := range []string{"1", "2"} {
		if got := strings.Count(flat(r.out), "set apart from other targets by n_threads="+n); r.code != exitOK || got != 2 {
			t.Errorf("summary: exit %d, n_threads=%s %d times\n%s%s", r.code, n, got, r.out, r.err)
		}
	}
}
