package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
)

func (a *app) version() *cli.Command {
	return &cli.Command{
		Name:     "version",
		Usage:    "version, build, and what this build can do",
		Flags:    []cli.Flag{jsonFlag()},
		Metadata: examples("tokwatt version", "tokwatt version --json"),
		Action: func(_ context.Context, cmd *cli.Command) error {
			if err := noArgs(cmd); err != nil {
				return err
			}
			sql := sqlEngine()
			if cmd.Bool("json") {
				return a.printJSON(map[string]any{
					"version": toolVersion(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
					"sql": sql, "schema_version": analyze.SchemaVersion, "formula_version": analyze.FormulaVersion,
				})
			}
			if sql == "" {
				sql = "none: this build is without cgo, so it can't answer query, summary, compare, plot and report"
			}
			fmt.Fprintf(a.out, "tokwatt %s\n%s %s/%s\nSQL by %s\nschema %d, formulas %d\n",
				toolVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, sql, analyze.SchemaVersion, analyze.FormulaVersion)
			return nil
		},
	}
}

// toolVersion is the module's version, or the commit that it was built from.
func toolVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if commit == "" {
		return "devel"
	}
	return strings.TrimSpace("devel-" + commit + dirty)
}

// sqlEngine is the DuckDB driver of this build, empty where there is none.
func sqlEngine() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !duck.Available {
		return ""
	}
	for _, d := range info.Deps {
		if strings.HasPrefix(d.Path, "github.com/duckdb/duckdb-go/v") {
			return d.Path + " " + d.Version
		}
	}
	return "DuckDB"
}
