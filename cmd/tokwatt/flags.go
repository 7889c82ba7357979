package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/collect"
	sensors "tokwatt/power/local"
)

// The categories whose flags the help screen joins into a paragraph: they are
// many, and known to who needs them.
const (
	categoryAccess = "access"
	categoryTime   = "time (500ms, 3s, 2h; a mere number is seconds; 0 is none)"
	categoryExo    = "exo (names and defaults are exo-bench's)"
	categoryRun    = "run"
)

// collectFlags are the flags of collect, by what they are about.
func collectFlags() []cli.Flag {
	var all []cli.Flag
	for _, of := range [][]cli.Flag{targetFlags(), matrixFlags(), protocolFlags(), timeFlags(), exoFlags(), runFlags()} {
		all = append(all, of...)
	}
	return all
}

func targetFlags() []cli.Flag {
	const c = "target"
	return []cli.Flag{
		&cli.StringFlag{Category: c, Name: "engine", Value: "auto", Usage: "`NAME` auto, exo, mlx, ollama, openai or reference (auto)"},
		&cli.StringFlag{Category: c, Name: "url", Usage: "`URL` the server: http://127.0.0.1:8080, with or without /v1"},
		&textsFlag{Category: c, Name: "model", Usage: "`ID` or a folder or synthetic:SHAPE; may be repeated"},
		&cli.StringFlag{Category: categoryAccess, Name: "library", Usage: "`FILE` MLX's"},
		&cli.StringFlag{Category: categoryAccess, Name: "host", Usage: "`HOST`"},
		&cli.IntFlag{Category: categoryAccess, Name: "port", Usage: "`N` instead of --url"},
		&cli.StringFlag{Category: categoryAccess, Name: "api-key-env", Usage: "`NAME` of the variable that holds the API key"},
		&textsFlag{Category: categoryAccess, Name: "header", Usage: "`K=V` never stored"},
	}
}

func matrixFlags() []cli.Flag {
	const c = "matrix"
	return []cli.Flag{
		&intsFlag{Category: c, Name: "pp", Usage: "`LIST` prompt lengths in tokens: 128,512"},
		&intsFlag{Category: c, Name: "tg", Usage: "`LIST` tokens wanted; own prompts without it: a limit of 128"},
		&cli.BoolFlag{Category: c, Name: "all-combinations", Usage: "each --pp with each --tg (as many of both: in pairs)"},
		&intsFlag{Category: c, Name: "concurrency", Usage: "`LIST` requests released together (1)"},
		&cli.IntFlag{Category: c, Name: "repeat", Usage: "`N` batches of each case (6; exo 1, asiai 3)", Validator: atLeast(1)},
		&cli.IntFlag{Category: c, Name: "warmup", Usage: "`N` discarded batches before a target's first (1; exo 0)", Validator: atLeast(0)},
		&cli.StringFlag{Category: c, Name: "order", Usage: "`ORDER` interleaved (default: heat drifts) or listed"},
		&textsFlag{Category: c, Name: "prompt", Usage: "`TEXT` to send instead of sized prompts; may be repeated"},
		&textsFlag{Category: c, Name: "prompt-file", Usage: "`FILE` with such a text; may be repeated"},
		&wordsFlag{Category: c, Name: "prompt-kind", Usage: "`LIST` code,tool_call,reasoning,long_gen,context_fill"},
		&cli.IntFlag{Category: c, Name: "context-size", Usage: "`N` about as many tokens in context_fill prompts (4096)"},
	}
}

func protocolFlags() []cli.Flag {
	const c = "protocol"
	return []cli.Flag{
		&cli.StringFlag{Category: c, Name: "profile", Usage: "`NAME` all defaults as exo-bench's (exo) or asiai's (asiai)"},
		&cli.BoolFlag{Category: c, Name: "use-prefix-cache", Usage: "let the server reuse earlier prompts"},
		&cli.BoolWithInverseFlag{Category: c, Name: "stream", Usage: "stream the answers (--no-stream: don't)"},
		&cli.StringFlag{Category: c, Name: "atom", Usage: "`TEXT` what sized prompts repeat (\" a\" or what fits; exo \"a \")"},
		&cli.StringFlag{Category: c, Name: "tokenizer", Usage: "`DIR` the model's folder, .gguf or hub id; server: ask it"},
		&cli.IntFlag{Category: c, Name: "seed", Usage: "`N` sent where the server takes it (42; named profiles none)"},
		&cli.FloatFlag{Category: c, Name: "temperature", Usage: "`X` sampling temperature (0; exo: the server's)"},
	}
}

func timeFlags() []cli.Flag {
	const c = categoryTime
	return []cli.Flag{
		&secondsFlag{Category: c, Name: "timeout", Usage: "whole request (2h)"},
		&secondsFlag{Category: c, Name: "first-timeout", Usage: "first output (30m)"},
		&secondsFlag{Category: c, Name: "stall-timeout", Usage: "next output (2m)"},
		&secondsFlag{Category: c, Name: "pause", Usage: "before batches (1s)"},
		&secondsFlag{Category: c, Name: "group-pause", Usage: "between rounds (1s)"},
		&secondsFlag{Category: c, Name: "target-pause", Usage: "between targets (0; asiai 5s)"},
		&secondsFlag{Category: c, Name: "metrics-interval", Usage: "of sensors (what each gives cheaply; exo 1s)"},
	}
}

func exoFlags() []cli.Flag {
	const c = categoryExo
	return []cli.Flag{
		&cli.StringFlag{Category: c, Name: "instance-meta", Usage: "ring|jaccl|both"},
		&cli.StringFlag{Category: c, Name: "sharding", Usage: "pipeline|tensor|both"},
		&cli.IntFlag{Category: c, Name: "min-nodes"},
		&cli.IntFlag{Category: c, Name: "max-nodes"},
		&secondsFlag{Category: c, Name: "settle-timeout"},
		&cli.BoolFlag{Category: c, Name: "reuse-instance"},
		&cli.BoolFlag{Category: c, Name: "skip-pipeline-jaccl"},
		&cli.BoolFlag{Category: c, Name: "skip-tensor-ring"},
		&cli.BoolFlag{Category: c, Name: "force-download"},
		&cli.BoolFlag{Category: c, Name: "danger-delete-downloads"},
	}
}

func runFlags() []cli.Flag {
	const c = categoryRun
	return []cli.Flag{
		&cli.StringFlag{Category: c, Name: "suite", Usage: "`FILE`.toml of several runs"},
		&cli.StringFlag{Category: c, Name: "resume", Usage: "`ID` (or last) go on with what is left or failed"},
		&cli.BoolFlag{Category: c, Name: "dry-run", Usage: "show what would run"},
		&cli.StringFlag{Category: c, Name: "label", Usage: "`NAME` for models called differently"},
		&textsFlag{Category: c, Name: "tag", Usage: "`TAG`"},
		&cli.StringFlag{Category: c, Name: "note", Usage: "`TEXT`"},
		&cli.BoolFlag{Category: c, Name: "no-system-metrics", Usage: "read no sensors"},
		&wordsFlag{Category: c, Name: "power", Usage: "`LIST` of sources, or off (auto)"},
		&cli.BoolFlag{Category: c, Name: "no-idle", Usage: "no quiet 10 s"},
		&cli.StringFlag{Category: c, Name: "json-out", Usage: "`FILE` exo-bench's results file"},
		&cli.BoolFlag{Category: c, Name: "stdout", Usage: "print it"},
		&cli.BoolFlag{Category: c, Name: "json", Usage: "as JSON"},
	}
}

// sessionFlags are those that a whole session has once: a suite may have them
// at its top, not in one of its runs.
var sessionFlags = []string{"suite", "resume", "label", "tag", "note", "dry-run", "no-system-metrics", "power", "metrics-interval", "json-out", "stdout", "json", "db"}

// tooSmall refuses a number below the least that a flag takes.
type tooSmall struct{ least, given int }

func (e tooSmall) Error() string { return fmt.Sprintf("must be at least %d, not %d", e.least, e.given) }

func atLeast(least int) func(int) error {
	return func(n int) error {
		if n < least {
			return tooSmall{least, n}
		}
		return nil
	}
}

// answerFormats are those of summary and compare.
var answerFormats = []string{"table", "markdown", "csv", "json"}

// answerFormat is --format or --json of one of those.
func answerFormat(cmd *cli.Command) (string, error) {
	format := cmd.String("format")
	if cmd.Bool("json") {
		if cmd.IsSet("format") && format != "json" {
			return "", jsonAnd(format)
		}
		format = "json"
	}
	if !slices.Contains(answerFormats, format) {
		return "", usagef("there is no format %q: take %s", format, alternatives(answerFormats))
	}
	return format, nil
}

// jsonAnd refuses --json beside another format.
func jsonAnd(format string) error {
	return usagef("--json and --format %s exclude each other: give one of them", format)
}

// choices are the values of flags that take one of a few words: of a flag of
// this name, or of one command's.
var choices = map[string][]string{
	"serve engine":   {"auto", "mlx", "reference"},
	"import format":  importFormats(),
	"query format":   queryFormats,
	"summary format": answerFormats,
	"compare format": answerFormats,
	"export format":  exportNames,
	"engine":         {"auto", "exo", "mlx", "ollama", "openai", "reference"},
	"profile":        {string(collect.ProfileExo), string(collect.ProfileAsiai)},
	"order":          {string(collect.OrderInterleaved), string(collect.OrderListed)},
	"instance-meta":  {"ring", "jaccl", "both"},
	"sharding":       {"pipeline", "tensor", "both"},
	"dialect":        {duckDB, string(analyze.Spark), string(analyze.Trino), string(analyze.ClickHouse)},
	"power":          append([]string{sensors.Auto, sensors.Off}, sensors.Names()...),
}
