// Command tokwatt benchmarks LLM inference, keeps every sample, and answers
// questions about all runs with SQL and pictures.
//
// This package joins the parts and owns nothing else: one file a command, plus
//
//	main.go     run: the program as a function, exit codes
//	app.go      the command tree, shared flags, errors in one sentence
//	help.go     the help screens
//	dataset.go  store → Parquet, kept beside the store
//	table.go    tables for people
//	output.go   stdout
//	outfile.go  files of results
//	options.go  flags as a session keeps them; suite.go reads them from a file
//	progress.go progress of a run
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"tokwatt/collect/calibrate"
	"tokwatt/mlx/engine"
)

func main() {
	engine.RunIfWorker()
	calibrate.RunIfServer()
	// A reader that has seen enough ends neither a bench nor a cleaning up.
	signal.Ignore(syscall.SIGPIPE)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	// After the first signal the second one finds no handler and ends the
	// process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: it reads args and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &checkedWriter{w: stdout, plain: isTerminal(stdout)}
	a := &app{in: stdin, out: out, err: stderr}
	root := a.root()
	err := root.Run(ctx, helpFirst(root, sqlFirst(spread(args, "pp", "tg", "concurrency"))))
	if !errors.Is(err, out.err) {
		err = errors.Join(err, out.err)
	}
	return a.report(ctx, err)
}
