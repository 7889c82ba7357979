package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
)

// checkDataset verifies a dataset folder.
func (a *app) checkDataset(ctx context.Context, cmd *cli.Command, dir string) error {
	if err := datasetHere("check", dir); err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usagef("check %s: there is no such folder; a store is named with --db", dir)
	}
	if err := analyze.IsDataset(dir); err != nil {
		return usagef("check %s: %w", dir, err)
	}
	report, err := analyze.CheckDataset(ctx, dir)
	if err != nil {
		return fmt.Errorf("check %s: %w", dir, err)
	}
	if cmd.Bool("json") {
		err = a.printJSON(checkedDataset(report))
	} else {
		a.printDatasetReport(report)
	}
	if err != nil || report.OK() {
		return err
	}
	if len(report.Damaged) == 0 {
		return &coded{exitStore, errors.New("the dataset is damaged, but of no session alone: each line above says what helps")}
	}
	return &coded{exitStore, fmt.Errorf("the dataset is damaged in %s: `tokwatt archive --to %s`, with the store that has them, writes them again; the rest is sound",
		plural(int64(len(report.Damaged)), "session"), dir)}
}

// printDatasetReport says what a dataset holds and what is wrong with it.
func (a *app) printDatasetReport(r analyze.DatasetReport) {
	fmt.Fprintf(a.out, "%s, %s, %s\n%s MiB\n", plural(int64(r.Sessions), "session"), plural(int64(r.Files), "file"), plural(r.Rows, "row"),
		mib(r.Bytes))
	if r.Foreign > 0 {
		fmt.Fprintf(a.out, "note: %s of other writers: what they should hold is not known, so they were only read\n", plural(int64(r.Foreign), "file"))
	}
	if r.Pending {
		fmt.Fprintln(a.out, "note: a command was cut short while files took their places; tokwatt reads past that, and the next archive ends it")
	}
	if r.Temps > 0 && !r.Pending {
		fmt.Fprintf(a.out, "note: %s, %s MiB, of commands that were killed or run now; `tokwatt archive compact` removes them once they are a day old\n",
			plural(int64(r.Temps), "temporary file"), mib(r.TempBytes))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(a.out, "damaged: %v\n", p)
	}
	if r.OK() {
		fmt.Fprintln(a.out, "nothing is damaged")
	}
}

// checkedDataset is the report as --json prints it.
func checkedDataset(r analyze.DatasetReport) map[string]any {
	problems := []string{}
	for _, p := range r.Problems {
		problems = append(problems, p.Error())
	}
	return map[string]any{
		"sessions": r.Sessions, "files": r.Files, "foreign_files": r.Foreign, "rows": r.Rows, "bytes": r.Bytes,
		"pending": r.Pending, "temporary_files": r.Temps, "temporary_bytes": r.TempBytes,
		"problems": problems, "damaged_sessions": append([]string{}, r.Damaged...),
	}
}
