package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze/duck"
)

func (a *app) demo() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "the whole way on the embedded engine, from bench to picture",
		Description: `Measures a small model that is made in memory, so it needs no server and no
download, and writes all it makes, a store of its own included, into one folder;
a second demo adds a session there. It runs the commands that it prints.`,
		Flags:    []cli.Flag{&cli.StringFlag{Name: "out", Value: "tokwatt-demo", Usage: "`DIR` where to write (tokwatt-demo)"}},
		Metadata: examples("tokwatt demo", "tokwatt demo --out /tmp/demo"),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			if !duck.Available {
				return usage(duck.ErrUnavailable)
			}
			dir := cmd.String("out")
			if err := fileHere("--out", dir); err != nil {
				return err
			}
			for _, line := range demoLines(dir) {
				fmt.Fprintf(a.out, "\n$ %s\n", strings.Join(line, " "))
				if err := a.again(ctx, line...); err != nil {
					return err
				}
			}
			fmt.Fprintf(a.out, "\nAll of it is in %s. To try next:\n\n   %s\n", dir, strings.Join(nextLines(dir), "\n   "))
			return nil
		},
	}
}

// demoLines are the commands of the demo.
func demoLines(dir string) [][]string {
	db := filepath.Join(dir, "tokwatt.db")
	return [][]string{
		{"tokwatt", "collect", "--db", db, "--engine", "reference", "--model", "synthetic:tiny",
			"--pp", "64,256", "--tg", "32", "--concurrency", "1,2,4", "--note", "demo"},
		{"tokwatt", "summary", "--db", db},
		{"tokwatt", "archive", "--db", db, "--to", filepath.Join(dir, "dataset")},
		{"tokwatt", "plot", "scaling", "--db", db, "--out", filepath.Join(dir, "scaling.png")},
		{"tokwatt", "plot", "latency", "--db", db, "--out", filepath.Join(dir, "latency.png")},
	}
}

// nextLines are four commands worth trying after the demo.
func nextLines(dir string) []string {
	db := filepath.Join(dir, "tokwatt.db")
	return []string{
		"tokwatt show --db " + db,
		`tokwatt query --db ` + db + ` "select pp, concurrency, median(ttft_ms) from runs group by all order by all"`,
		"tokwatt engines",
		"tokwatt collect --url http://127.0.0.1:8080 --pp 128,512 --tg 64 --concurrency 1,4",
	}
}
