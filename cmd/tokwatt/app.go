package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/store"
)

// app is the program's surroundings.
type app struct {
	in       io.Reader
	out, err io.Writer
}

// The exit codes. They are part of the interface.
const (
	exitOK          = 0
	exitFailures    = 1 // some requests failed
	exitUsage       = 2 // bad usage; nothing was started
	exitNothing     = 3 // nothing was measured
	exitStore       = 4 // the store can't be used
	exitInterrupted = 130
)

// coded is an error with an exit code.
type coded struct {
	code int
	err  error // nil: everything has been said
}

func (c *coded) Error() string {
	if c.err == nil {
		return ""
	}
	return c.err.Error()
}
func (c *coded) Unwrap() error { return c.err }

// usage marks an error as the caller's.
func usage(err error) error { return &coded{exitUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// storeError marks an error of the store, unless it is the caller's.
func storeError(err error) error {
	var unknown *store.UnknownError
	var several *store.AmbiguousError
	if errors.As(err, &unknown) || errors.As(err, &several) {
		return usage(err)
	}
	return &coded{exitStore, err}
}

// report says what went wrong in one sentence and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	code := exitFailures
	var c *coded
	var library cli.ExitCoder
	switch {
	case errors.Is(err, syscall.EPIPE) && (!errors.As(err, &c) || errors.Is(c, syscall.EPIPE)):
		return exitOK // the reader had seen enough
	case errors.Is(err, syscall.EPIPE):
		code, err = c.code, c // which takes back no verdict
	case errors.As(err, &c):
		code = c.code
	case ctx.Err() != nil:
		code, err = exitInterrupted, errors.New("interrupted")
	case errors.As(err, &library):
		code = exitUsage // the library's own: no such help topic or shell
	}
	if msg := strings.TrimSpace(err.Error()); msg != "" {
		fmt.Fprintln(a.err, "tokwatt:", harmless(msg))
	}
	return code
}

// root is the command tree.
func (a *app) root() *cli.Command {
	cli.HelpPrinter = printHelp
	cli.VersionPrinter = func(*cli.Command) { fmt.Fprintln(a.out, "tokwatt "+toolVersion()) }
	cmd := &cli.Command{
		Name:                            "tokwatt",
		Usage:                           "benchmark LLM inference, keep every sample, ask with SQL and pictures",
		EnableShellCompletion:           true,
		ConfigureShellCompletionCommand: a.completion,
		HideHelpCommand:                 true,
		Version:                         toolVersion(),
		Writer:                          a.out,
		ErrWriter:                       a.err,
		ExitErrHandler:                  func(context.Context, *cli.Command, error) {},
		Metadata: examples(
			"tokwatt demo",
			"tokwatt list",
		),
		Flags: []cli.Flag{&cli.StringFlag{
			Name: "db", Usage: "`FILE` the store", DefaultText: "in the user's data folder",
			Sources: cli.EnvVars("TOKWATT_DB"),
		}},
		Commands: []*cli.Command{
			a.demo(), a.collect(), a.status(), a.engines(),
			a.list(), a.show(), a.summary(), a.compare(), a.query(), a.plot(), a.reportPage(), a.archive(), a.importing(), a.exporting(),
			a.power(), a.serve(), a.calibrate(), a.check(), a.delete(), a.metrics(), a.version(),
		},
		Action: a.noCommand,
	}
	a.dress(cmd)
	return cmd
}

// dress gives a command and those below it the behaviour that all share.
func (a *app) dress(cmd *cli.Command) {
	cmd.OnUsageError = onUsageError
	cmd.ShellComplete = a.complete
	for _, sub := range cmd.Commands {
		sub.HideHelpCommand = true
		a.dress(sub)
	}
}

// noCommand answers a call without a command, or with one that does not exist.
func (a *app) noCommand(ctx context.Context, cmd *cli.Command) error {
	name := cmd.Args().First()
	switch {
	case name == "":
		return cli.ShowRootCommandHelp(cmd)
	case name == "help" && cmd.Args().Len() == 1:
		return cli.ShowRootCommandHelp(cmd)
	case name == "help":
		name = cmd.Args().Get(1)
		if cmd.Command(name) != nil {
			return a.again(ctx, "tokwatt", name, "--help")
		}
	}
	return noSuchCommand(cmd, name)
}

// noSuchCommand says which of a command's own was perhaps meant.
func noSuchCommand(cmd *cli.Command, name string) error {
	var known []string
	for _, c := range cmd.VisibleCommands() {
		known = append(known, c.Name)
	}
	near, whole := analyze.Nearest(name, known), strings.TrimPrefix(cmd.FullName()+" "+name, "tokwatt ")
	if near == "" && !isRoot(cmd) { // they are few
		return usagef("there is no command %q: take %s", whole, alternatives(known))
	}
	return usagef("there is no command %q: %s", whole, didYouMean(near, cmd.FullName()))
}

// again runs another command line in this process. It gets a context of its
// own, since the library would take the command at hand for a parent.
func (a *app) again(ctx context.Context, line ...string) error {
	own, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return a.root().Run(own, line)
}

// onUsageError turns the flag parser's complaint into a sentence with a hint.
// Where a command of a command was mistyped, its flags are unknown too.
func onUsageError(_ context.Context, cmd *cli.Command, err error, _ bool) error {
	msg := err.Error()
	if _, name, ok := strings.Cut(msg, "flag provided but not defined: "); ok {
		if first := cmd.Args().First(); first != "" && len(cmd.VisibleCommands()) > 0 {
			return noSuchCommand(cmd, first)
		}
		name = strings.TrimLeft(name, "-")
		near := nearestFlag(cmd.VisibleFlags(), name)
		if near != "" {
			near = "--" + near
		}
		return usagef("%s has no flag %s: %s", cmd.Name, dashed(name), didYouMean(near, cmd.FullName()))
	}
	if m := badValue.FindStringSubmatch(msg); m != nil {
		return usagef("--%s %s: must be %s", m[2], m[1], wanted(cmd, m[2]))
	}
	return usagef("%s: `%s --help` shows how it is called", msg, cmd.FullName())
}

// dashed is a flag's name as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// nearestFlag is the flag that a name that is none may stand for; empty: none.
func nearestFlag(flags []cli.Flag, name string) string {
	var known []string
	for _, f := range flags {
		known = append(known, f.Names()...)
	}
	return analyze.Nearest(name, known)
}

// didYouMean ends a sentence about a word that is none of a command's.
func didYouMean(near, command string) string {
	hint := "`" + command + " --help` lists them"
	if near == "" {
		return hint
	}
	return "did you mean " + near + "? " + hint
}

// badValue is the flag parser's word on a value that it can't read.
var badValue = regexp.MustCompile(`^invalid value "([^"]*)" for flag -+([\w-]+): `)

// wanted says what values a flag takes.
func wanted(cmd *cli.Command, name string) string {
	for _, f := range cmd.Flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f := f.(type) {
		case *cli.DurationFlag:
			return "a duration with its unit, such as 30s, 5m or 720h"
		case *secondsFlag:
			return "a duration such as 500ms, 3s or 2h; a mere number is seconds"
		case *cli.IntFlag:
			var small tooSmall
			if f.Validator != nil && errors.As(f.Validator(-1), &small) {
				return fmt.Sprintf("a whole number of at least %d", small.least)
			}
			return "a whole number"
		case *cli.FloatFlag:
			return "a number"
		case *cli.IntSliceFlag, *intsFlag:
			return "whole numbers with commas between them, such as 128,512"
		}
	}
	return "something else: `" + cmd.FullName() + " --help` says what"
}

// noArgs refuses what is left over after the flags.
func noArgs(cmd *cli.Command) error {
	first := cmd.Args().First()
	switch {
	case first == "":
		return nil
	case number.MatchString(first):
		return usagef("%s takes no argument, but there is %q: flags with several values are written --pp 128,512", cmd.Name, first)
	}
	return usagef("%s takes no argument, but there is %q: `%s --help` shows how it is called", cmd.Name, first, cmd.FullName())
}

// storePath is the store's file: --db, or a file in the user's data folder.
func storePath(cmd *cli.Command) (string, error) {
	if p := cmd.String("db"); p != "" {
		return p, fileHere("--db", p)
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "tokwatt", "tokwatt.db"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usagef("no data folder for the store (%v): name a file with --db", err)
	}
	data := []string{home, ".local", "share"}
	if runtime.GOOS == "darwin" {
		data = []string{home, "Library", "Application Support"}
	}
	return filepath.Join(append(data, "tokwatt", "tokwatt.db")...), nil
}

// openStore names the store of a command; nothing is read yet.
func openStore(cmd *cli.Command) (*store.Store, error) {
	path, err := storePath(cmd)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &coded{exitStore, fmt.Errorf("%s is no file that could be a store: name another with --db", path)}
	}
	return store.Open(path, store.Options{}), nil
}

// examples are the lines that end a help screen.
func examples(lines ...string) map[string]any { return map[string]any{"examples": lines} }

// printJSON prints v as one document.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// jsonFlag is --json.
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON document"}
}
