package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/store"
)

// dataset is the Parquet form of a store, which is all that SQL reads. Ended
// sessions are exported once, into a folder beside the store that belongs to
// this schema and these formulas; sessions that still run are exported anew
// each time into a temporary folder.
type dataset struct {
	roots []string
	tmp   string
}

// datasetDir is the folder for a store's ended sessions.
func datasetDir(db *store.Store) string {
	return filepath.Join(db.Path()+".dataset", fmt.Sprintf("v%d-%d", analyze.SchemaVersion, analyze.FormulaVersion))
}

// slow is how long an export may take before people are told.
const slow = time.Second

// syncDataset brings the dataset of a store up to date.
func (a *app) syncDataset(ctx context.Context, db *store.Store) (*dataset, error) {
	sessions, err := db.Sessions(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	dir := datasetDir(db)
	have, err := analyze.SessionsIn(dir)
	if err != nil {
		return nil, fmt.Errorf("dataset %s: %w", dir, err)
	}
	d := &dataset{roots: []string{dir}}
	if err := dropDeleted(dir, have, sessions); err != nil {
		return nil, err
	}
	told := time.Now()
	for i, s := range sessions {
		root := dir
		if s.End == nil {
			if root, err = d.temporary(); err != nil {
				return nil, err
			}
		} else if slices.Contains(have, s.ID) {
			continue
		}
		if time.Since(told) > slow {
			fmt.Fprintf(a.err, "exporting session %d of %d for SQL\n", i+1, len(sessions))
			told = time.Now()
		}
		if err := a.export(ctx, db, s.ID, root, false); err != nil {
			d.Close()
			return nil, err
		}
	}
	return d, nil
}

// temporary is the folder for sessions that still run.
func (d *dataset) temporary() (string, error) {
	if d.tmp != "" {
		return d.tmp, nil
	}
	tmp, err := os.MkdirTemp("", "tokwatt-running-")
	if err != nil {
		return "", fmt.Errorf("no temporary folder: %w", err)
	}
	d.tmp = tmp
	d.roots = append(d.roots, tmp)
	return tmp, nil
}

// Close removes what is temporary.
func (d *dataset) Close() error {
	if d.tmp == "" {
		return nil
	}
	return os.RemoveAll(d.tmp)
}

// export writes one session as Parquet; with sync it is on the disk when it
// returns. Values of the store that can't be read are named; the rest goes in.
func (a *app) export(ctx context.Context, db *store.Store, id, root string, sync bool) error {
	done, err := analyze.Export(ctx, db.Records(ctx, id), root, analyze.ExportOptions{Sync: sync})
	if err != nil {
		return fmt.Errorf("session %s as Parquet into %s: %w", id, root, err)
	}
	for _, err := range done.Errors {
		fmt.Fprintf(a.err, "tokwatt: left out: %v\n", err)
	}
	return nil
}

// dropDeleted removes the files of sessions that the store no longer has.
func dropDeleted(dir string, have []string, sessions []store.SessionInfo) error {
	for _, id := range have {
		if slices.ContainsFunc(sessions, func(s store.SessionInfo) bool { return s.ID == id }) {
			continue
		}
		if err := analyze.RemoveSession(dir, id); err != nil {
			return fmt.Errorf("dataset %s: %w", dir, err)
		}
	}
	return nil
}

// datasetFlag is --dataset.
func datasetFlag() cli.Flag {
	return &cli.StringFlag{Name: "dataset", Usage: "`DIR` ask an archive instead of the store"}
}

// sql opens SQL over the store of a command, or over --dataset. With ids it
// sees those sessions alone, which is quicker. The returned function closes
// everything.
func (a *app) sql(ctx context.Context, cmd *cli.Command, ids ...string) (*duck.DB, func() error, error) {
	if !duck.Available {
		return nil, nil, usage(duck.ErrUnavailable)
	}
	if root := cmd.String("dataset"); root != "" {
		db, err := openDataset(ctx, root, ids...)
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	st, err := openStore(cmd)
	if err != nil {
		return nil, nil, err
	}
	data, err := a.syncDataset(ctx, st)
	if err != nil {
		return nil, nil, err
	}
	db, err := duck.Open(ctx, duck.Options{Roots: data.roots, Sessions: ids})
	if err != nil {
		return nil, nil, errors.Join(err, data.Close())
	}
	return db, func() error { return errors.Join(db.Close(), data.Close()) }, nil
}

func openDataset(ctx context.Context, root string, ids ...string) (*duck.DB, error) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, usagef("--dataset %s: there is no such folder", root)
	}
	return duck.Open(ctx, duck.Options{Roots: []string{root}, Sessions: ids})
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

// finder finds sessions by prefix, in the store or in --dataset.
func finder(ctx context.Context, cmd *cli.Command) (func(prefix string) (string, error), error) {
	root := cmd.String("dataset")
	if root == "" {
		db, err := openStore(cmd)
		return func(prefix string) (string, error) {
			id, err := db.Find(ctx, prefix)
			if err != nil {
				return "", storeError(err)
			}
			return id, nil
		}, err
	}
	known, err := analyze.SessionsIn(root)
	if err != nil {
		return nil, err
	}
	slices.Sort(known)
	return func(prefix string) (string, error) { return findIn(known, root, prefix) }, nil
}

// findIn finds a session of a dataset; known is sorted.
func findIn(known []string, root, prefix string) (string, error) {
	if len(known) == 0 {
		return "", usagef("--dataset %s: it holds no session", root)
	}
	if prefix == store.Last {
		return known[len(known)-1], nil
	}
	var found []string
	for _, id := range known {
		if strings.HasPrefix(id, prefix) {
			found = append(found, id)
		}
	}
	if len(found) != 1 {
		return "", usagef("--dataset %s: %s begin with %s", root, plural(int64(len(found)), "session"), prefix)
	}
	return found[0], nil
}
