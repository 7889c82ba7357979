package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/collect/prompt"
)

func (a *app) collect() *cli.Command {
	return &cli.Command{
		Name:        "collect",
		Usage:       "run a bench and store everything",
		Description: `A server: tokwatt collect --url http://127.0.0.1:8080 --pp 128,512 --tg 64`,
		Flags:       collectFlags(),
		Metadata: examples(
			"tokwatt collect --engine reference --pp 64 --tg 16 --concurrency 1,2",
			"tokwatt collect --engine reference --pp 128,512 --tg 64 --dry-run",
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			p, err := newPlan(cmd)
			if err != nil {
				return err
			}
			if cmd.Bool("dry-run") {
				return a.dryRun(ctx, p)
			}
			return a.measure(ctx, p)
		},
	}
}

// collectFlags are the flags of collect, by what they are about.
func collectFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Category: "target", Name: "engine", Value: "auto", Usage: "`NAME` auto (default), openai or reference"},
		&cli.StringFlag{Category: "target", Name: "url", Usage: "`URL` the server, with or without /v1"},
		&cli.StringFlag{Category: "target", Name: "host", Usage: "`HOST` the server's, instead of --url"},
		&cli.IntFlag{Category: "target", Name: "port", Usage: "`N` the server's port"},
		&cli.StringSliceFlag{Category: "target", Name: "model", Usage: "`ID` or a folder or synthetic:SHAPE; may be repeated"},
		&cli.StringFlag{Category: "target", Name: "api-key-env", Usage: "`NAME` the variable that holds the API key"},
		&cli.StringSliceFlag{Category: "target", Name: "header", Usage: "`K=V` sent with every request"},
		&cli.IntSliceFlag{Category: "matrix", Name: "pp", Usage: "`LIST` prompt lengths in tokens: 128,512"},
		&cli.IntSliceFlag{Category: "matrix", Name: "tg", Usage: "`LIST` tokens to generate; with as many --pp, pair by pair"},
		&cli.BoolFlag{Category: "matrix", Name: "all-combinations", Usage: "each --pp with each --tg"},
		&cli.IntSliceFlag{Category: "matrix", Name: "concurrency", Usage: "`LIST` requests released together (1)"},
		&cli.IntFlag{Category: "matrix", Name: "repeat", Value: collect.DefaultRepeat, Usage: "`N` batches of each case (6)", Validator: atLeast(1)},
		&cli.IntFlag{Category: "matrix", Name: "warmup", Value: collect.DefaultWarmup, Usage: "`N` discarded batches before a target's first (1)"},
		&cli.StringFlag{Category: "matrix", Name: "order", Usage: "`ORDER` interleaved (default: heat drifts) or listed"},
		&cli.StringSliceFlag{Category: "matrix", Name: "prompt", Usage: "`TEXT` to send instead of sized prompts; may be repeated"},
		&cli.StringSliceFlag{Category: "matrix", Name: "prompt-file", Usage: "`FILE` with such a text; may be repeated"},
		&cli.BoolFlag{Category: "protocol", Name: "use-prefix-cache", Usage: "let the server reuse earlier prompts"},
		&cli.BoolWithInverseFlag{Category: "protocol", Name: "stream", Value: true, Usage: "stream the answers (--no-stream: don't)"},
		&cli.StringFlag{Category: "protocol", Name: "atom", Usage: "`TEXT` what sized prompts are made of (\" a\")"},
		&cli.StringFlag{Category: "protocol", Name: "tokenizer", Usage: "`DIR` the model's folder: its end tokens, for an EOS ban"},
		&cli.IntFlag{Category: "protocol", Name: "seed", Value: 42, Usage: "`N` sent where the server takes it (42)"},
		&cli.FloatFlag{Category: "protocol", Name: "temperature", Usage: "`X` sampling temperature (0)"},
		&cli.DurationFlag{Category: "protocol", Name: "timeout", Usage: "`D` limit of a whole request (2h)"},
		&cli.DurationFlag{Category: "protocol", Name: "first-timeout", Usage: "`D` limit to the first output (30m)"},
		&cli.DurationFlag{Category: "protocol", Name: "stall-timeout", Usage: "`D` limit between two outputs (2m)"},
		&cli.DurationFlag{Category: "protocol", Name: "pause", Usage: "`D` before each batch (1s; in process 0)"},
		&cli.DurationFlag{Category: "protocol", Name: "group-pause", Usage: "`D` between rounds (1s; in process 0)"},
		&cli.DurationFlag{Category: "protocol", Name: "target-pause", Usage: "`D` between targets (0)"},
		&cli.StringFlag{Category: "run", Name: "label", Usage: "`NAME` one for a model that two engines call differently"},
		&cli.StringSliceFlag{Category: "run", Name: "tag", Usage: "`TAG` kept with the session; may be repeated"},
		&cli.StringFlag{Category: "run", Name: "note", Usage: "`TEXT` kept with the session"},
		&cli.BoolFlag{Category: "run", Name: "dry-run", Usage: "show targets and matrix, ask for no token"},
		&cli.BoolFlag{Category: "run", Name: "no-system-metrics", Usage: "read no sensors"},
		&cli.BoolFlag{Category: "run", Name: "json", Usage: "print one JSON document"},
	}
}

func atLeast(least int) func(int) error {
	return func(n int) error {
		if n < least {
			return fmt.Errorf("must be at least %d, not %d", least, n)
		}
		return nil
	}
}

// plan is a bench as the flags ask for it.
type plan struct {
	cmd    *cli.Command
	spec   collect.Spec
	target choice
	atom   string
}

// newPlan reads the flags and reports all their faults at once.
func newPlan(cmd *cli.Command) (*plan, error) {
	prompts, err := ownPrompts(cmd)
	if err != nil {
		return nil, err
	}
	p := &plan{cmd: cmd, atom: cmd.String("atom"), spec: collect.Spec{
		Models:          cmd.StringSlice("model"),
		PP:              wide(cmd.IntSlice("pp")),
		TG:              wide(cmd.IntSlice("tg")),
		AllCombinations: cmd.Bool("all-combinations"),
		Prompts:         prompts,
		Concurrency:     wide(cmd.IntSlice("concurrency")),
		Repeat:          cmd.Int("repeat"),
		Warmup:          value(cmd.Int("warmup")),
		Order:           collect.Order(cmd.String("order")),
		Temperature:     value(cmd.Float("temperature")),
		Seed:            value(int64(cmd.Int("seed"))),
		Streaming:       streaming(cmd),
		Cache:           cacheMode(cmd),
		Timeout:         cmd.Duration("timeout"),
		FirstTimeout:    cmd.Duration("first-timeout"),
		StallTimeout:    cmd.Duration("stall-timeout"),
		Pause:           given(cmd, "pause"),
		GroupPause:      given(cmd, "group-pause"),
		TargetPause:     given(cmd, "target-pause"),
	}}
	if err := p.spec.Validate(); err != nil {
		return nil, usage(oneSentence(err))
	}
	p.target, err = newChoice(cmd)
	return p, err
}

func streaming(cmd *cli.Command) collect.Streaming {
	if cmd.Bool("stream") {
		return collect.StreamAll
	}
	return collect.StreamNone
}

func cacheMode(cmd *cli.Command) collect.CacheMode {
	if cmd.Bool("use-prefix-cache") {
		return collect.CachePrefix
	}
	return collect.CacheCold
}

// ownPrompts are the texts of --prompt and --prompt-file.
func ownPrompts(cmd *cli.Command) ([]collect.Text, error) {
	var texts []collect.Text
	for _, t := range cmd.StringSlice("prompt") {
		texts = append(texts, collect.Text{Text: t})
	}
	for _, f := range cmd.StringSlice("prompt-file") {
		b, err := readText(f)
		if err != nil {
			return nil, usagef("--prompt-file: %w", err)
		}
		texts = append(texts, collect.Text{Text: b})
	}
	return texts, nil
}

// maxText is the longest prompt that a file may hold.
const maxText = 64 << 20

func readText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(b) > maxText {
		err = fmt.Errorf("%s holds over %d MiB", path, maxText>>20)
	}
	return string(b), err
}

// given is a pause: what the user said, where 0 means none.
func given(cmd *cli.Command, name string) time.Duration {
	if d := cmd.Duration(name); d != 0 || !cmd.IsSet(name) {
		return d
	}
	return -1
}

func wide(list []int) []int64 {
	var out []int64
	for _, n := range list {
		out = append(out, int64(n))
	}
	return out
}

func value[T any](v T) *T { return &v }

// oneSentence joins the lines of a joined error.
func oneSentence(err error) error {
	return fmt.Errorf("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
}

// prompts makes the prompter of a target's engine.
func (p *plan) prompts(_ collect.TargetInfo, e collect.Engine, fresh bool) (collect.Prompter, string) {
	opts := prompt.Options{Atom: cmp.Or(p.atom, e.Abilities().Atom), Fresh: fresh}
	if e.Abilities().InProcess {
		opts.Source = collect.PromptTokenizer
	}
	counter, ok := e.(collect.Counter)
	if !ok {
		return prompt.New(func(context.Context, collect.Prompt) (collect.Counted, error) {
			return collect.Counted{}, collect.ErrNoCount
		}, opts), ""
	}
	return prompt.New(counter.Count, opts), ""
}

// options is the command line as the session keeps it: every flag that was
// set, without secrets.
func (p *plan) options() string {
	kept := map[string]any{}
	for _, name := range p.cmd.LocalFlagNames() {
		switch {
		case !p.cmd.IsSet(name), name == "json", name == "db", name == "header":
		case name == "url":
			kept[name] = withoutSecrets(p.cmd.String(name))
		case isDuration(p.cmd.Value(name)):
			kept[name] = fmt.Sprint(p.cmd.Value(name))
		default:
			kept[name] = p.cmd.Value(name)
		}
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return ""
	}
	return string(b)
}

func isDuration(v any) bool {
	_, ok := v.(time.Duration)
	return ok
}
