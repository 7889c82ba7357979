package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCompletion asks bash, with the script that the program prints.
func TestCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	db := fixture(t)
	script := tokwatt(t, "", "completion", "bash").out
	for typed, want := range map[string]string{
		"pl":              "plot",
		"plot ":           "scaling latency itl energy power compare history",
		"collect --conc":  "--concurrency",
		"show ":           "last 019bc119-0100 019bc119-eb60",
		"show 019bc119-e": "019bc119-eb60",
		"summary --perc":  "--percentiles",

		"summary --format ":  "table markdown csv json",
		"compare --format m": "markdown",
		"plot itl --th":      "--theme",
		"list --d":           "--dataset --db",
		"archive sql --db":   "--db",

		"archive sql --dialect ":        "duckdb spark trino clickhouse",
		"collect --profile ":            "exo asiai",
		"collect --profile a":           "asiai",
		"collect --repeat 1 --engine o": "ollama openai",
		"serve --engine ":               "auto mlx reference",
		"query --format j":              "json jsonl",
		"export --format ":              strings.Join(exportNames, " "),
		"collect --resume ":             "last 019bc119-0100 019bc119-eb60",
		"compare --metric ttft":         "ttft_ms ttft_client_ms",
		"compare l":                     "last label=",
		"compare last engine":           "engine= engine_version=",
		"compare last,engine":           "last,engine= last,engine_version=",
		"compare last pp=512,t":         "pp=512,tags= pp=512,tool_version= pp=512,tg=",
		"compare engine = ":             "llama.cpp mlx_lm reference",
		"compare engine = m":            "mlx_lm",
		"compare last,engine = ll":      "llama.cpp",
		"compare last no_key = ":        "",
		"compare label = ":              "",
		"compare last last,pp=":         "last,pp=128 last,pp=4096 last,pp=512",
		"plot latency --where pp = 5":   "512",
		"plot latency --where model_i":  "model_id=",
	} {
		words := append([]string{"tokwatt"}, strings.Split(typed, " ")...)
		ask := script + `tokwatt() { "$TOKWATT_TEST_BINARY" "$@"; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tokwatt; echo "${COMPREPLY[@]}"`
		cmd := exec.Command(bash, append([]string{"--norc", "-c", ask, "bash"}, words...)...)
		self := command(t.Context())
		cmd.Env = append(self.Env, "TOKWATT_DB="+db, "TOKWATT_TEST_BINARY="+self.Path)
		out, err := cmd.CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != want {
			t.Errorf("%q completes to %q, %v, want %q", typed, got, err, want)
		}
	}
}
