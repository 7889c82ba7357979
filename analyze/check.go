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
	Pending  bool     // a change was cut short; readers see it made, the next archive or compact ends it
	Problems []error  // each names a file
	Damaged  []string // sessions that have problems
}

// OK reports whether nothing is damaged.
func (r DatasetReport) OK() bool { return len(r.Problems) == 0 }

// CheckDataset reads every byte of a dataset: each file of a session is held
// against the session's manifest, and of each Parquet file the footer and all
// pages are read. The error is for what keeps it from looking.
func CheckDataset(ctx context.Context, root string) (DatasetReport, error) {
	c := newChecker(root)
	last, err := readJournal(root)
	if err != nil {
		return c.report, err
	}
	c.report.Pending = !last.Done
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
	if err := c.bundles(); err != nil {
		return c.report, err
	}
	slices.Sort(c.report.Damaged)
	c.report.Damaged = slices.Compact(c.report.Damaged)
	return c.report, nil
}

// checker is one run of CheckDataset. Paths are below the root, with slashes.
type checker struct {
	root   string
	report DatasetReport
	faulty map[string]error  // what is wrong with a path that a manifest names
	listed map[string]int64  // paths that manifests name, and the rows they have
	seen   map[string]string // table and session: the first path
}

func newChecker(root string) *checker {
	return &checker{root: root, faulty: map[string]error{}, listed: map[string]int64{}, seen: map[string]string{}}
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
			c.named(m, f)
		}
	}
	return nil
}

// named holds a file against what a session's manifest says of it. Sessions
// that share a file have it read once, and are all damaged with it.
func (c *checker) named(m *Manifest, f ManifestFile) {
	if _, found := c.listed[f.Path]; !found {
		c.faulty[f.Path] = f.verify(c.root, m.written, true)
		if err := c.faulty[f.Path]; err != nil {
			c.report.Problems = append(c.report.Problems, err)
		}
	}
	c.listed[f.Path] += f.Rows
	if f.Shared {
		c.seen[tableOf(f.Path)+"/"+m.SessionID] = f.Path
	}
	if c.faulty[f.Path] != nil {
		c.report.Damaged = append(c.report.Damaged, m.SessionID)
	}
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

// bundles reads the bundles that stand for files.
func (c *checker) bundles() error {
	all, err := allManifests(c.root)
	if err != nil {
		return err
	}
	have, err := bundles(c.root)
	if err != nil {
		return err
	}
	for _, b := range have {
		if !b.stands(c.root, smallFiles(all)) {
			continue
		}
		if err := b.damage(c.root); err != nil {
			c.report.Problems = append(c.report.Problems, err)
		}
	}
	return nil
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
	rows, listed := c.listed[rel]
	if !listed {
		c.report.Foreign++
	}
	name := strings.TrimSuffix(filepath.Base(path), ".parquet")
	content, err := readParquet(path)
	c.report.Rows += content.rows
	switch {
	case c.faulty[rel] != nil: // said already
	case err != nil:
		c.problem(name, &FileFault{rel, fmt.Sprintf("it cannot be read: %v", err)})
	case listed && rows != content.rows:
		c.problem(name, &FileFault{rel, fmt.Sprintf("it has %d rows, and the manifests name %d", content.rows, rows)})
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
	if _, listed := c.listed[first]; listed {
		first, rel = rel, first
	}
	c.problem(session, &FileFault{first, fmt.Sprintf("it has the session of %s, so its rows count twice: remove it", rel)})
}

// DamagedSessions are the sessions of a dataset whose files are not, byte for
// byte, what was written. Sessions without a manifest are not among them.
func DamagedSessions(ctx context.Context, root string) ([]string, error) {
	c := newChecker(root)
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
