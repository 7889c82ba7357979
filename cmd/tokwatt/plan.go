package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/collect"
	"tokwatt/collect/kinds"
)

// plan is one matrix on the targets of one driver, as flags ask for it.
type plan struct {
	cmd     *cli.Command
	profile collect.Profile
	spec    collect.Spec
	target  choice
	prompts prompts
}

// newPlan reads the flags: what is not set is the profile's. It reports all
// faults at once.
func newPlan(ctx context.Context, cmd *cli.Command) (*plan, error) {
	p := &plan{cmd: cmd, profile: collect.Profile(cmd.String("profile"))}
	spec, err := p.profile.Spec()
	if err != nil {
		return nil, usagef("--profile: %w", err)
	}
	p.prompts = prompts{atom: cmp.Or(unescaped.Replace(cmd.String("atom")), p.profile.Atom()), model: cmd.String("tokenizer")}
	spec.Models = texts(cmd, "model")
	spec.PP, spec.TG = ints(cmd, "pp"), ints(cmd, "tg")
	spec.AllCombinations = cmd.Bool("all-combinations")
	spec.Concurrency = ints(cmd, "concurrency")
	if spec.Prompts, err = p.ownPrompts(); err != nil {
		return nil, err
	}
	p.override(&spec)
	if err := spec.Validate(); err != nil {
		return nil, usage(oneSentence(err))
	}
	p.spec = spec
	if p.target, err = newChoice(cmd, p.profile); err != nil {
		return nil, err
	}
	return p, p.prompts.open(ctx)
}

// unescaped is an atom as shells and messages write it: a line's end is \n.
var unescaped = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r")

// override puts the flags that are set over the profile's defaults.
func (p *plan) override(s *collect.Spec) {
	set(p.cmd, "repeat", func() { s.Repeat = p.cmd.Int("repeat") })
	set(p.cmd, "warmup", func() { s.Warmup = value(p.cmd.Int("warmup")) })
	set(p.cmd, "order", func() { s.Order = collect.Order(p.cmd.String("order")) })
	set(p.cmd, "temperature", func() { s.Temperature = value(p.cmd.Float("temperature")) })
	set(p.cmd, "seed", func() { s.Seed = value(int64(p.cmd.Int("seed"))) })
	set(p.cmd, "no-idle", func() { s.NoIdle = p.cmd.Bool("no-idle") })
	set(p.cmd, "stream", func() { s.Streaming = p.streaming() })
	set(p.cmd, "use-prefix-cache", func() {
		s.Cache = collect.CacheCold
		if p.cmd.Bool("use-prefix-cache") {
			s.Cache = collect.CachePrefix
		}
	})
	for name, d := range map[string]*time.Duration{
		"timeout": &s.Timeout, "first-timeout": &s.FirstTimeout, "stall-timeout": &s.StallTimeout,
		"pause": &s.Pause, "group-pause": &s.GroupPause, "target-pause": &s.TargetPause,
	} {
		set(p.cmd, name, func() {
			*d = cmp.Or(p.cmd.Duration(name), -1) // 0 is none
		})
	}
}

// set calls f where the flag was given.
func set(cmd *cli.Command, name string, f func()) {
	if cmd.IsSet(name) {
		f()
	}
}

// streaming is what --stream and --no-stream ask for. exo-bench streams single
// requests only, whatever it is asked.
func (p *plan) streaming() collect.Streaming {
	switch {
	case !p.cmd.Bool("stream"):
		return collect.StreamNone
	case p.profile == collect.ProfileExo:
		return collect.StreamSingle
	}
	return collect.StreamAll
}

// ownPrompts are the texts of --prompt, --prompt-file and --prompt-kind; where
// nothing says what to send, those of the profile's kinds.
func (p *plan) ownPrompts() ([]collect.Text, error) {
	var out []collect.Text
	for _, t := range texts(p.cmd, "prompt") {
		out = append(out, collect.Text{Text: t})
	}
	for _, f := range texts(p.cmd, "prompt-file") {
		t, err := readText(f)
		if err != nil {
			return nil, usagef("--prompt-file: %w", err)
		}
		out = append(out, collect.Text{Text: t})
	}
	names := texts(p.cmd, "prompt-kind")
	if len(out) == 0 && len(names) == 0 && !p.cmd.IsSet("pp") && p.profile.Kinds() {
		names = kinds.Names()
	}
	if p.cmd.IsSet("context-size") && len(names) == 0 {
		return nil, usagef("--context-size is the size of a context_fill prompt: it needs --prompt-kind context_fill")
	}
	texts, err := kinds.Texts(names, p.cmd.Int("context-size"))
	if err != nil {
		return nil, usage(err)
	}
	return append(out, texts...), nil
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

func value[T any](v T) *T { return &v }

// oneSentence joins the lines of a joined error.
func oneSentence(err error) error {
	return fmt.Errorf("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
}

// profileName is the profile as sessions keep it.
func (p *plan) profileName() collect.Profile { return cmp.Or(p.profile, collect.ProfileDefault) }
