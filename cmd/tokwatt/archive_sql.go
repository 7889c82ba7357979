package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

// duckDB is the dialect that package analyze/duck speaks.
const duckDB = "duckdb"

func (a *app) archiveSQL() *cli.Command {
	return &cli.Command{
		Name:      "sql",
		Usage:     "print a dataset's tables and views for another SQL engine",
		ArgsUsage: "DIR",
		Description: `DIR is the dataset as the engine finds it: a folder, or a URL such as
s3://bucket/dataset. Nothing is read. The views are for DuckDB and Spark; the
others get the tables. docs/scale-out.md says how to run it.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dialect", Value: duckDB, Usage: "`NAME` " + strings.Join(choices["dialect"], ", ") + " (duckdb)"},
			jsonFlag(),
		},
		Metadata: examples(
			"tokwatt archive sql --dialect spark s3a://bench/dataset",
			"tokwatt archive sql --dialect trino --json s3://bench/dataset",
		),
		Action: func(_ context.Context, cmd *cli.Command) error {
			root, err := sqlRoot(cmd)
			if err != nil {
				return err
			}
			dialect := cmd.String("dialect")
			statements, err := datasetSQL(dialect, root)
			if err != nil {
				return usage(err)
			}
			if cmd.Bool("json") {
				return a.printJSON(map[string]any{"dialect": dialect, "statements": statements})
			}
			_, err = fmt.Fprintf(a.out, "-- tokwatt %s, schema version %d, for %s\n%s;\n", toolVersion(), analyze.SchemaVersion, dialect, strings.Join(statements, ";\n\n"))
			return err
		},
	}
}

// sqlRoot is the argument, a folder's with its whole path: the engine runs
// elsewhere.
func sqlRoot(cmd *cli.Command) (string, error) {
	root := cmd.Args().First()
	if cmd.Args().Len() != 1 || root == "" {
		return "", usagef("archive sql needs one argument, the dataset as the engine finds it: a folder or a URL")
	}
	if address.MatchString(root) {
		return root, nil
	}
	return filepath.Abs(root)
}

// datasetSQL lists the statements that make the tables, and the views where the
// dialect has what they are written in.
func datasetSQL(dialect, root string) ([]string, error) {
	if !slices.Contains(choices["dialect"], dialect) {
		return nil, fmt.Errorf("there is no dialect %q: take %s", dialect, alternatives(choices["dialect"]))
	}
	var tables []string
	var err error
	if dialect == duckDB {
		tables, err = duck.TableSQL(root)
	} else {
		tables, err = analyze.TableSQL(analyze.Dialect(dialect), root)
	}
	if err != nil || dialect != duckDB && dialect != string(analyze.Spark) {
		return tables, err
	}
	views, err := duck.ViewsSQL()
	return append(tables, views...), err
}
