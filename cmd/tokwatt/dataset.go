package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/store"
)

// datasetFlag is --dataset.
func datasetFlag() cli.Flag {
	return &cli.StringFlag{Name: "dataset", Usage: "`DIR` ask an archive instead of the store"}
}

// sql opens SQL over the store of a command, or over --dataset. With ids it
// sees those sessions alone, which is quicker. The returned function lets go of
// everything before the command ends.
func (a *app) sql(ctx context.Context, cmd *cli.Command, ids ...string) (*duck.DB, func() error, error) {
	if !duck.Available {
		return nil, nil, usage(duck.ErrUnavailable)
	}
	if root := cmd.String("dataset"); root != "" {
		db, err := openDataset(ctx, root, ids...)
		if err != nil {
			return nil, nil, err
		}
		if n := db.Newer(); n > 0 {
			fmt.Fprintf(a.err, "tokwatt: %s has files of schema version %d, and this tokwatt knows %d: columns that are new in them are left out\n", root, n, analyze.SchemaVersion)
		}
		if n := db.Missing(); n > 0 {
			fmt.Fprintf(a.err, "tokwatt: %s lacks %s, whose rows are left out: `tokwatt check %s` names all that is missing\n", root, plural(int64(n), "file"), root)
		}
		return db, db.Leave, nil
	}
	st, err := openStore(cmd)
	if err != nil {
		return nil, nil, err
	}
	data, err := a.openCache(ctx, st)
	if err != nil {
		return nil, nil, err
	}
	db, err := duck.Open(ctx, duck.Options{Roots: data.roots(), Sessions: ids, Mend: data.mend})
	if err != nil {
		return nil, nil, errors.Join(err, data.Close())
	}
	return db, func() error { return errors.Join(db.Leave(), data.Close()) }, nil
}

func openDataset(ctx context.Context, root string, ids ...string) (*duck.DB, error) {
	if err := isDataset("--dataset", root); err != nil {
		return nil, err
	}
	return duck.Open(ctx, duck.Options{Roots: []string{root}, Sessions: ids, Mend: func(ctx context.Context) (bool, error) {
		return false, damageIn(ctx, root)
	}})
}

// isDataset refuses what is no dataset as the caller's fault.
func isDataset(what, root string) error {
	if err := datasetHere(what, root); err != nil {
		return err
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return usagef("%s %s: there is no such folder", what, root)
	}
	if err := analyze.IsDataset(root); err != nil {
		return usagef("%s %s: %w", what, root, err)
	}
	return nil
}

// address is how s3://bucket/dataset and its like begin.
var address = regexp.MustCompile("^[A-Za-z][A-Za-z0-9+.-]*://")

// fileHere refuses an address where a file of this host is wanted, before a
// folder of that name is made.
func fileHere(what, path string) error {
	if !address.MatchString(path) {
		return nil
	}
	return usagef("%s %s: tokwatt reads and writes files of this host alone: name one of them", what, withoutSecretsIn(path))
}

// datasetHere is the same for a dataset's folder, which other programs do
// reach.
func datasetHere(what, root string) error {
	if !address.MatchString(root) {
		return nil
	}
	return usagef("%s %s: a dataset there needs DuckDB's extension httpfs, which this build has not and tokwatt doesn't download: "+
		"copy or mount the folder, or ask it with DuckDB's own program, for which `tokwatt archive sql` prints the tables", what, withoutSecretsIn(root))
}

// withoutSecretsIn is the address of a dataset without user, password and
// query, where keys of object stores are written.
func withoutSecretsIn(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(an address)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// damageIn says which file of a dataset is damaged, or nothing.
func damageIn(ctx context.Context, root string) error {
	report, err := analyze.CheckDataset(ctx, root)
	if err != nil || report.OK() {
		return err
	}
	return &coded{exitStore, fmt.Errorf("dataset %s is damaged (%w): `tokwatt check %s` names all that is", root, report.Problems[0], root)}
}

// askSessions opens SQL over the sessions with the given prefixes, of the
// store or of --dataset; the newest without any.
func (a *app) askSessions(ctx context.Context, cmd *cli.Command, prefixes []string) (*duck.DB, []string, func() error, error) {
	if !duck.Available {
		return nil, nil, nil, usage(duck.ErrUnavailable)
	}
	if len(prefixes) == 0 {
		prefixes = []string{store.Last}
	}
	find, err := finder(ctx, cmd)
	if err != nil {
		return nil, nil, nil, err
	}
	var ids []string
	for _, p := range prefixes {
		id, err := find(p)
		if err != nil {
			return nil, nil, nil, err
		}
		ids = append(ids, id)
	}
	db, done, err := a.sql(ctx, cmd, ids...)
	return db, ids, done, err
}
