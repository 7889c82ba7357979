package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tokwatt/analyze"
	"tokwatt/analyze/duck"
	"tokwatt/store"
)

// cache is the Parquet form of a store, which is all that SQL reads. Sessions
// that nobody measures any more are exported once, into a folder beside the
// store that belongs to this schema and these formulas; those that run are
// exported anew each time into a temporary folder.
//
// The folder holds nothing that the store can't give again: what is not, file
// by file, as an export of the store's sessions left it is removed.
type cache struct {
	app *app
	db  *store.Store
	dir string
	tmp *duck.Scratch // nil until it is needed
}

// cacheDir is the folder for a store's sessions.
func cacheDir(db *store.Store) string {
	return filepath.Join(db.Path()+".dataset", fmt.Sprintf("v%d-%d", analyze.SchemaVersion, analyze.FormulaVersion))
}

// slow is how long an export may take before people are told.
const slow = time.Second

// openCache brings the cache of a store up to date. Where it can't be written,
// as beside somebody else's store, all of it is temporary.
func (a *app) openCache(ctx context.Context, db *store.Store) (*cache, error) {
	c := &cache{app: a, db: db, dir: cacheDir(db)}
	if _, err := os.Stat(c.dir); err != nil {
		if _, err := db.Sessions(ctx); err != nil { // no folder beside what is no store
			return nil, storeError(err)
		}
	}
	err := c.sync(ctx)
	if unwritable(err) {
		fmt.Fprintf(a.err, "tokwatt: %s can't be written, so this command exports the sessions for itself alone\n", c.dir)
		if c.dir, err = c.temporary(); err == nil {
			err = c.sync(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func unwritable(err error) bool {
	var ours *coded // of the store
	return !errors.As(err, &ours) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR))
}

// roots are the dataset folders that make up the cache.
func (c *cache) roots() []string {
	if c.tmp == nil || c.tmp.Dir == c.dir {
		return []string{c.dir}
	}
	return []string{c.dir, c.tmp.Dir}
}

// temporary is the folder for sessions that still run.
func (c *cache) temporary() (string, error) {
	if c.tmp == nil {
		tmp, err := duck.NewScratch()
		if err != nil {
			return "", err
		}
		c.tmp = tmp
	}
	return c.tmp.Dir, nil
}

// Close removes what is temporary.
func (c *cache) Close() error {
	if c.tmp == nil {
		return nil
	}
	return c.tmp.Close()
}

// sync exports what the cache lacks and removes what is not of it. Meanwhile
// it holds the folder: another command would take a half-made export for a
// stray one.
func (c *cache) sync(ctx context.Context) error {
	unlock, err := lockFolder(ctx, c.dir)
	if err != nil {
		return err
	}
	defer unlock()
	sessions, err := c.db.Sessions(ctx)
	if err != nil {
		return storeError(err)
	}
	var keep []*analyze.Manifest
	var lacking []store.SessionInfo
	for _, s := range sessions {
		m, err := analyze.ReadManifest(c.dir, s.ID)
		if err == nil && m != nil && !s.Running && m.Records == records(s) && m.Verify(c.dir) == nil {
			keep = append(keep, m)
			continue
		}
		lacking = append(lacking, s)
	}
	if err := analyze.Clean(c.dir, keep); err != nil {
		return fmt.Errorf("cache %s: %w", c.dir, err)
	}
	return c.export(ctx, lacking)
}

func (c *cache) export(ctx context.Context, sessions []store.SessionInfo) error {
	told := time.Now()
	for i, s := range sessions {
		root, err := c.dir, error(nil)
		if s.Running {
			if root, err = c.temporary(); err != nil {
				return err
			}
		}
		if time.Since(told) > slow {
			fmt.Fprintf(c.app.err, "exporting session %d of %d for SQL\n", i+1, len(sessions))
			told = time.Now()
		}
		if _, err := c.app.export(ctx, c.db, s, root, false); err != nil {
			return err
		}
	}
	return nil
}

// mend exports again whatever file of the cache is not, byte for byte, what an
// export wrote. It reports whether there was any.
func (c *cache) mend(ctx context.Context) (bool, error) {
	damaged, err := analyze.DamagedSessions(ctx, c.dir)
	if err != nil || len(damaged) == 0 {
		return false, err
	}
	for _, id := range damaged {
		if err := analyze.RemoveSession(ctx, c.dir, id); err != nil {
			return false, fmt.Errorf("%w: delete the folder %s, it is made again", err, c.dir)
		}
	}
	fmt.Fprintf(c.app.err, "tokwatt: files of %s in %s were damaged and are exported again\n", plural(int64(len(damaged)), "session"), c.dir)
	return true, c.sync(ctx)
}

// lockFolder makes a folder and holds it until unlock. The file system may
// have no locks, or the folder may be somebody else's: then nobody is kept
// out, and what two commands do to each other the next one mends.
func lockFolder(ctx context.Context, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_RDONLY|os.O_CREATE, 0o644)
	if err != nil {
		return func() {}, nil
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return func() { f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// records counts the records of a session. An End that a new segment undoes
// weighs less than the segment, so that whatever is stored makes it grow.
func records(s store.SessionInfo) int64 {
	n := 1 + 2*s.Segments + s.Targets + s.Cases + s.Batches + s.Requests
	if s.End != nil {
		n++
	}
	return n
}

// export writes one session as Parquet; with sync it is on the disk when it
// returns. Values of the store that can't be read are named; the rest goes in.
// It reports false for a session that was deleted meanwhile.
func (a *app) export(ctx context.Context, db *store.Store, s store.SessionInfo, root string, sync bool) (bool, error) {
	opts := analyze.ExportOptions{Sync: sync, Records: records(s), Dead: !s.Running}
	done, err := analyze.Export(ctx, db.Records(ctx, s.ID), root, opts)
	if (err != nil || done.Damaged > 0) && deleted(ctx, db, s.ID) {
		return false, analyze.RemoveSession(ctx, root, s.ID)
	}
	if err != nil {
		return false, fmt.Errorf("session %s as Parquet into %s: %w", s.ID, root, err)
	}
	for _, err := range done.Errors {
		fmt.Fprintf(a.err, "tokwatt: left out: %v\n", err)
	}
	return true, nil
}

func deleted(ctx context.Context, db *store.Store, id string) bool {
	var unknown *store.UnknownError
	_, err := db.Find(ctx, id)
	return errors.As(err, &unknown)
}
