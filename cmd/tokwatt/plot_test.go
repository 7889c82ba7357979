package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tokwatt/collect"
)

// TestPlotEnergyAndPower draws both in all formats, from a store whose session
// has sensors, and says what is wrong where they can't be drawn.
func TestPlotEnergyAndPower(t *testing.T) {
	needsSQL(t)
	db, dir := fixture(t), t.TempDir()
	silent := storeOf(t, kindsOf(collect.TargetInfo{Engine: "e", Driver: "openai", ModelID: "m"}, func(*collect.Request) {}, []float64{10, 12})...)
	for _, c := range []struct {
		name, store string
		args        []string
		code        int
		want        string
	}{
		{"power", db, []string{"power", "--out", "p.png"}, 0, "p.png\n"},
		{"power of a sensor and a batch", db, []string{"power", "--out", "p.svg", "--where", "scope=gpu", "--where", "batch_id=3"}, 0, "p.svg\n"},
		{"energy", db, []string{"energy", "--out", "e.pdf"}, 0, "e.pdf\n"},
		{"energy of all tokens by concurrency", db, []string{"energy", "--out", "e.svg", "--y", "j_per_total_token", "--x", "concurrency", "--where", "pp=512"}, 0, "e.svg\n"},
		{"power without sensors", silent, []string{"power"}, exitUsage, "has no readings of power: collect with --power auto"},
		{"energy without sensors", silent, []string{"energy", "--x", "concurrency"}, exitUsage, "no batch has j_per_output_token: 2 × off (no sensor was read); collect with --power auto"},
		{"power of two sessions", db, []string{"power", "last", "last"}, exitUsage, "one session, and here are 2"},
		{"power with an axis", db, []string{"power", "--y", "gpu"}, exitUsage, "--y does not go with power"},
		{"power with a word for a number", db, []string{"power", "--where", "batch_id=x"}, exitUsage, "must be a number"},
		{"power of no such key", db, []string{"power", "--where", "pp=512"}, exitUsage, "node, scope, source, batch_id, case_id, target_id"},
		{"power of no such sensor", db, []string{"power", "--where", "scope=wall"}, exitUsage, "scope=gpu"},
		{"energy of a rate", db, []string{"energy", "--y", "prompt_tps"}, exitUsage, "prompt_tps is no figure of energy"},
	} {
		args := append([]string{"plot", "--db", c.store}, c.args...)
		if i := strings.Index(strings.Join(args, " "), "--out"); i >= 0 {
			for k := range args {
				if k > 0 && args[k-1] == "--out" {
					args[k] = filepath.Join(dir, args[k])
				}
			}
		}
		r := tokwatt(t, "", args...)
		if r.code != c.code || !strings.Contains(r.out+r.err, c.want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", c.name, r.code, c.code, c.want, r.out, r.err)
		}
	}
	if svg, _ := os.ReadFile(filepath.Join(dir, "p.svg")); !strings.Contains(string(svg), ">gpu<") || strings.Contains(string(svg), ">system<") {
		t.Error("the power of the GPU alone is not what was drawn")
	}
	if svg, _ := os.ReadFile(filepath.Join(dir, "e.svg")); !strings.Contains(string(svg), "scope system") || !strings.Contains(string(svg), "indicative") {
		t.Error("the energy does not name its scope, or that it is indicative")
	}
}
