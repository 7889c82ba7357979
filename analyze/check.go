package analyze

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DatasetReport says what a dataset holds and what is wrong with it.
type DatasetReport struct {
	Sessions int // with a manifest
	Foreign  int // files that no manifest names, of other writers: they are only read
	Files    int
	Rows     int64
	Bytes    int64
	Problems []error  // each names a file
	Damaged  []string // sessions that have problems
}

// OK reports whether nothing is damaged.
func (r DatasetReport) OK() bool { return len(r.Problems) == 0 }

// CheckDataset reads every byte of a dataset: each file of a session is held
// against the session's manifest, and of each Parquet file the footer and all
// pages are read. The error is for what keeps it from looking.
func CheckDataset(ctx context.Context, root string) (DatasetReport, error) {
	c := checker{root: root, faulty: map[string]bool{}, listed: map[string]bool{}, seen: map[string]string{}}
	if err := c.manifests(ctx); err != nil {
		return c.report, err
	}
	tables, err := subfolders(root, "table=")
	if err != nil {
		return c.report, err
	}
	for _, dir := range tables {
		if err := c.table(ctx, dir); err != nil {
			return c.report, err
		}
	}
	slices.Sort(c.report.Damaged)
	c.report.Damaged = slices.Compact(c.report.Damaged)
	return c.report, nil
}

// checker is one run of CheckDataset. Paths are below the root, with slashes.
type checker struct {
	root   string
	report DatasetReport
	faulty map[string]bool   // paths that a manifest found wrong
	listed map[string]bool   // paths that a manifest names
	seen   map[string]string // table and session: the first path
}

func (c *checker) problem(session string, err error) {
	c.report.Problems = append(c.report.Problems, err)
	c.report.Damaged = append(c.report.Damaged, session)
}

func (c *checker) manifests(ctx context.Context) error {
	ids, err := manifests(c.root)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.report.Sessions++
		m, err := ReadManifest(c.root, id)
		if err != nil {
			c.problem(id, err)
			continue
		}
		for _, f := range m.Files {
			c.listed[f.Path] = true
			if err := f.verify(c.root, m.written, true); err != nil {
				c.faulty[f.Path] = true
				c.problem(id, err)
			}
		}
	}
	return nil
}

// table reads the files of one table.
func (c *checker) table(ctx context.Context, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("dataset not read: %w", err)
		case d.IsDir() || strings.HasPrefix(d.Name(), ".") || !strings.HasSuffix(d.Name(), ".parquet"):
			return nil
		}
		return c.file(filepath.Base(dir), path)
	})
}

func (c *checker) file(table, path string) error {
	rel, err := filepath.Rel(c.root, path)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	if info, err := os.Stat(path); err == nil {
		c.report.Bytes += info.Size()
	}
	c.report.Files++
	if !c.listed[rel] {
		c.report.Foreign++
	}
	name := strings.TrimSuffix(filepath.Base(path), ".parquet")
	content, err := readParquet(path)
	c.report.Rows += content.rows
	switch {
	case c.faulty[rel]: // said already
	case err != nil:
		c.problem(name, &FileFault{rel, fmt.Sprintf("it cannot be read: %v", err)})
	default:
		c.twice(table, rel, name, content.session)
	}
	return nil
}

// twice finds the copy of a session's file: its rows would count twice.
func (c *checker) twice(table, rel, name, session string) {
	if session == "" { // another writer's
		session = name
	}
	key := table + "/" + session
	first, found := c.seen[key]
	if !found {
		c.seen[key] = rel
		return
	}
	if c.listed[first] {
		first, rel = rel, first
	}
	c.problem(session, &FileFault{first, fmt.Sprintf("it has the session of %s, so its rows count twice: remove it", rel)})
}

// DamagedSessions are the sessions of a dataset whose files are not, byte for
// byte, what was written. Sessions without a manifest are not among them.
func DamagedSessions(ctx context.Context, root string) ([]string, error) {
	c := checker{root: root, faulty: map[string]bool{}, listed: map[string]bool{}}
	err := c.manifests(ctx)
	slices.Sort(c.report.Damaged)
	return slices.Compact(c.report.Damaged), err
}

var errNoDataset = errors.New("it has no folders table=…, so it is no dataset: name the folder that archive --to wrote to")

// IsDataset says why a folder is no dataset, or nothing.
func IsDataset(root string) error {
	tables, err := subfolders(root, "table=")
	if err == nil && len(tables) == 0 {
		err = errNoDataset
	}
	return err
}
