package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tokwatt/collect"
)

// TestPlotKinds draws what is not made of summaries alone, from a store whose session
// has sensors, and says what is wrong where they can't be drawn.
func TestPlotKinds(t *testing.T) {
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
		{"energy without sensors", silent, []string{"energy", "--x", "concurrency"}, exitUsage, "no batch has j_per_output_token: 2 × no sensor was read; collect with --power auto"},
		{"power of two sessions", db, []string{"power", "last", "last"}, exitUsage, "one session, and here are 2"},
		{"power with an axis", db, []string{"power", "--y", "gpu"}, exitUsage, "power has no flag -y: `tokwatt plot power --help`"},
		{"power with a word for a number", db, []string{"power", "--where", "batch_id=x"}, exitUsage, "must be a number"},
		{"power of no such key", db, []string{"power", "--where", "pp=512"}, exitUsage, "plot power chooses by node, scope, source, batch_id, case_id or target_id"},
		{"power of no such sensor", db, []string{"power", "--where", "scope=wall"}, exitUsage, "scope=gpu"},
		{"itl", db, []string{"itl", "--out", "i.svg", "--theme", "dark"}, 0, "i.svg\n"},
		{"itl of no such batch", db, []string{"itl", "--where", "batch_id=999"}, exitUsage, "has no such batch"},
		{"itl of a case's key", db, []string{"itl", "--where", "pp=512"}, exitUsage, "plot itl chooses by batch_id, case_id, request_id or target_id"},
		{"history", db, []string{"history", "--out", "h.png", "--where", "pp=512,concurrency=1"}, 0, "h.png\n"},
		{"history of one session", db, []string{"history", "last"}, exitUsage, "a history needs two sessions"},
		{"compare", db, []string{"compare", "--out", "c.svg", "last,engine=mlx_lm", "last,engine=llama.cpp"}, 0, "c.svg\n"},
		{"compare of one side", db, []string{"compare", "last"}, exitUsage, "takes two selections"},
		{"a mistyped metric", db, []string{"scaling", "--y", "prompt_tsp"}, exitUsage, "did you mean prompt_tps?"},
		{"a metric of history", db, []string{"history", "--y", "ttft"}, exitUsage, "there is no metric \"ttft\""},
		{"a mistyped theme", db, []string{"scaling", "--theme", "drak"}, exitUsage, "take light or dark"},
		{"no kind", db, nil, exitUsage, "scaling, latency, itl, energy, power, compare or history"},
		{"no such kind", db, []string{"scalling"}, exitUsage, `there is no command "plot scalling": did you mean scaling?`},
		{"no such kind with its flags", db, []string{"scalin", "--out", "x.png"}, exitUsage, `there is no command "plot scalin": did you mean scaling?`},
		{"a metric as compare has it", db, []string{"scaling", "--metric", "ttft_ms", "--out", "m.svg"}, 0, "m.svg\n"},
		{"no metric at all", db, []string{"scaling", "--metric", "foo"}, exitUsage, "there is no metric \"foo\": `tokwatt metrics`"},
		{"a key without a value", db, []string{"scaling", "--where", "pp"}, exitUsage, "--where pp: must be pp=VALUE"},
		{"a value that is not there", db, []string{"scaling", "--where", "pp=1"}, exitUsage, "no case has pp=1: there is 128, 4096, 512"},
		{"a value of energy that is not there", db, []string{"energy", "--where", "pp=1"}, exitUsage, "no case has pp=1: there is 128, 4096, 512"},
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
	if svg, _ := os.ReadFile(filepath.Join(dir, "i.svg")); !strings.Contains(string(svg), "Gap before output (ms)") || !strings.Contains(string(svg), "#16181C") {
		t.Error("the batch's gaps are not drawn on a dark page")
	}
	if svg, _ := os.ReadFile(filepath.Join(dir, "c.svg")); !strings.Contains(string(svg), ">change<") {
		t.Error("the comparison has no column of changes")
	}
	if svg, _ := os.ReadFile(filepath.Join(dir, "e.svg")); !strings.Contains(string(svg), "scope system") || !strings.Contains(string(svg), "indicative") {
		t.Error("the energy does not name its scope, or that it is indicative")
	}
}

// TestPlotOfNodes: what exo measured on one to four machines, as its results have
// it, has an axis of nodes; figures of one metric are a column wide.
func TestPlotOfNodes(t *testing.T) {
	needsSQL(t)
	var runs []string
	for _, nodes := range []int{1, 2, 4} {
		for repeat := range 6 {
			runs = append(runs, fmt.Sprintf(`{"elapsed_s": 2, "stats": {"prompt_tps": %d, "generation_tps": %d, "prompt_tokens": 512, "generation_tokens": 128},
				"power_usage": {"elapsed_seconds": 1.9, "nodes": [], "total_energy_joules": %d}, "model_id": "org/model", "placement_sharding": "Tensor",
				"placement_instance_meta": "MlxJaccl", "placement_nodes": %d, "instance_id": "i", "pp_tokens": 512, "tg": 128, "repeat_index": %d, "concurrency": 1}`,
				1800*nodes+repeat, 40+nodes, 200*nodes+repeat, nodes, repeat))
		}
	}
	t.Chdir(t.TempDir())
	t.Setenv("TOKWATT_DB", "t.db")
	file := `{"runs": [` + strings.Join(runs, ",") + `], "cluster": {"nodeIdentities": {}}, "system_metrics": {}}`
	if err := os.WriteFile("exo.json", []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := tokwatt(t, "", "import", "exo.json"); got.code != 0 {
		t.Fatal(got.err)
	}
	for _, args := range [][]string{{"scaling"}, {"energy", "--x", "nodes"}, {"scaling", "--x", "nodes", "--y", "generation_tps"}} {
		if got := tokwatt(t, "", slices.Concat([]string{"plot"}, args, []string{"--out", "n.svg"})...); got.code != 0 {
			t.Errorf("%q: %s", args, got.err)
			continue
		}
		svg, err := os.ReadFile("n.svg")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"nodes<", ">Nodes<", ">1<", ">2<", ">4<", "Median of 6 batches per point"} {
			if !bytes.Contains(svg, []byte(want)) {
				t.Errorf("%q: no %s", args, want)
			}
		}
		if narrow := bytes.Contains(svg, []byte(`width="240.94pt"`)); narrow != (len(args) > 1) {
			t.Errorf("%q: a column wide: %v", args, narrow)
		}
	}
}
