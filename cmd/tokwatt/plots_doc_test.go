package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// largestPicture is how large a picture of the documentation may be.
const largestPicture = 80_000

// TestPlotsInDocs runs the commands of docs/plots.md: there is one of each kind,
// and each draws the picture that stands below it, byte for byte, but for those
// that need more than the fixture has: package plot draws them.
func TestPlotsInDocs(t *testing.T) {
	needsSQL(t)
	docs := filepath.Join(here, "..", "..", "docs")
	text, err := os.ReadFile(filepath.Join(docs, "plots.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("TOKWATT_DB", fixture(t))
	if err := os.MkdirAll("docs/plots", 0o755); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for line := range strings.Lines(string(text)) {
		command, isCommand := strings.CutPrefix(line, "    tokwatt plot ")
		if !isCommand {
			continue
		}
		args := words(command)
		kinds = append(kinds, args[0])
		if got := tokwatt(t, "", append([]string{"plot"}, args...)...); got.code != 0 {
			t.Errorf("%s: exit %d: %s", strings.TrimSpace(line), got.code, got.err)
			continue
		}
		if args[0] == "itl" || args[0] == "history" {
			continue
		}
		checkPicture(t, filepath.Join("docs", "plots", args[0]+".png"), filepath.Join(docs, "plots", args[0]+".png"))
	}
	if want := []string{"scaling", "latency", "itl", "energy", "power", "compare", "history"}; !slices.Equal(kinds, want) {
		t.Errorf("the kinds are %q, want %q", kinds, want)
	}
}

func checkPicture(t *testing.T, drawn, kept string) {
	t.Helper()
	got, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) > largestPicture {
		t.Errorf("%s has %d bytes, over %d", drawn, len(got), largestPicture)
	}
	if *update {
		if err := os.WriteFile(kept, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(kept); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the command draws (%v); -update draws it anew", kept, err)
	}
}
