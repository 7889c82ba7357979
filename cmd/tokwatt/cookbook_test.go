package main

import (
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tokwatt/analyze"
	"tokwatt/analyze/analyzetest"
	"tokwatt/collect"
)

// question is a query of the cookbook with the answer that stands there, if
// one does.
var question = regexp.MustCompile("(?s)```sql\n(.*?)```\n(?:\n```text\n(.*?)```\n)?")

// TestCookbook runs each query of docs/cookbook.md and holds what it prints to
// the answer that stands there; -update writes the answers anew.
func TestCookbook(t *testing.T) {
	needsSQL(t)
	path := filepath.Join(here, "..", "..", "docs", "cookbook.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for o, records := range cookbookSessions() {
		if _, err := analyze.Export(t.Context(), records, root, analyze.ExportOptions{}); err != nil {
			t.Fatalf("%s: %v", o.ID(), err)
		}
	}
	asked := 0
	answered := question.ReplaceAllFunc(page, func(block []byte) []byte {
		asked++
		m := question.FindSubmatch(block)
		got := tokwatt(t, "", "query", "--dataset", root, string(m[1]))
		if got.code != 0 || strings.Count(got.out, "\n") < 3 {
			t.Errorf("question %d: exit %d, %s%s", asked, got.code, got.out, got.err)
		}
		text := trimLines(got.out)
		if !*update && text != string(m[2]) {
			t.Errorf("question %d: -update writes the answers anew\n--- got\n%s\n--- want\n%s", asked, text, m[2])
		}
		return []byte("```sql\n" + string(m[1]) + "```\n\n```text\n" + text + "```\n")
	})
	if asked != 20 {
		t.Errorf("the cookbook answers %d questions, want 20", asked)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(path, answered, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// trimLines leaves out the spaces that fill up a table's last column.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// cookbookSessions are three days of two hosts of different chips, of which
// the first gets a new system before the last day, and a session of a cluster.
func cookbookSessions() iter.Seq2[analyzetest.Options, iter.Seq2[collect.Record, error]] {
	return func(yield func(analyzetest.Options, iter.Seq2[collect.Record, error]) bool) {
		o := analyzetest.Options{Seed: 20, PP: []int64{128, 512, 2048}, Power: true}
		for s := range analyzetest.Fleet(2, 3, o) {
			if !yield(s, changed(s, func(rec collect.Record) {
				session, ok := rec.(*collect.Session)
				switch {
				case ok && s.Host != "mac-0":
					session.Host.Chip = "Apple M2"
				case ok && s.Start.Day() >= 17:
					session.Host.OSVersion = "26.2"
				}
			})) {
				return
			}
		}
		cluster := analyzetest.Options{Seed: 21, Host: "mac-0", Start: time.Date(2026, 1, 18, 9, 0, 0, 0, time.UTC), PP: []int64{512}, Clean: true}
		yield(cluster, changed(cluster, func(rec collect.Record) {
			if t, ok := rec.(*collect.TargetInfo); ok {
				t.Engine, t.ModelID, t.ServedModel, t.Sharding, t.InstanceMeta = "exo", "demo-8b", "org/demo-8b", "Pipeline", "MlxRing"
				t.Nodes = []string{"node-a", "node-b", "node-c"}[:t.TargetID]
			}
		}))
	}
}

// changed are the records of a session, each changed before it is handed out.
func changed(o analyzetest.Options, change func(collect.Record)) iter.Seq2[collect.Record, error] {
	return func(yield func(collect.Record, error) bool) {
		for rec, err := range analyzetest.Records(o) {
			if err == nil {
				change(rec)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}
