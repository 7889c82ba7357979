//go:build cgo

package duck

import (
	"testing"

	"tokwatt/analyze/analyzetest"
)

// TestTextOfOthersInSQL: what a file that was imported says of its host ends no
// query and adds nothing to one.
func TestTextOfOthersInSQL(t *testing.T) {
	for _, host := range []string{"plain", "it's", "\x00", "a\x00b\x00", "'\x00' or true --", `\'`, "é\n\x1b"} {
		root := t.TempDir()
		o := analyzetest.Options{Seed: 3, Host: host}
		export(t, root, o)
		db := open(t, Options{Roots: []string{root}})
		got, err := db.Summaries(t.Context(), SummaryFilter{Sessions: []string{o.ID()}})
		if err != nil || len(got) == 0 || got[0].Host != host {
			t.Errorf("host %q: %d cases, %v", host, len(got), err)
		}
		if text := column(t, db, "select "+quote(host)); len(text) != 1 || text[0] != host {
			t.Errorf("%q gives %q", quote(host), text)
		}
	}
}
