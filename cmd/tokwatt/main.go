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
//	progress.go progress of a run
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"tokwatt/mlx/engine"
)

func main() {
	engine.RunIfWorker()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the second one finds no handler and ends the
	// process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: it reads args and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{in: stdin, out: stdout, err: stderr}
	err := a.root().Run(ctx, helpFirst(spread(args, "pp", "tg", "concurrency")))
	return a.report(ctx, err)
}
