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
	Sessions  int // with a manifest
	Foreign   int // files that no manifest names, of other writers: they are only read
	Files     int
	Rows      int64
	Bytes     int64
	Temps     int // files that were not finished, of commands that were killed or that run now
	TempBytes int64
	Pending   bool     // a change was cut short; readers see it made, the next archive or compact ends it
	Problems  []error  // each names a file
	Damaged   []string // sessions that have problems
}

// OK reports whether nothing is damaged.
func (r DatasetReport) OK() bool { return len(r.Problems) == 0 }

// CheckDataset reads every byte of a dataset: each file of a session is held
// against the session's manifest, and of each Parquet file the footer and all
// pages are read. The error is for what keeps it from looking.
//
// What changes meanwhile is read again, and the second time held until that is
// done: a file that took its place in between is no damage.
func CheckDataset(ctx context.Context, root string) (DatasetReport, error) {
	var report DatasetReport
	err := steadily(ctx, root, func() (sound bool, err error) {
		c := newChecker(root)
		err = c.run(ctx)
		report = c.report
		return report.OK(), err
	})
	return report, err
}

// steadily reads a dataset, and again where that was not as it should be and the
// dataset changed meanwhile.
func steadily(ctx context.Context, root string, read func() (sound bool, err error)) error {
	before, stateErr := DatasetState(root)
	sound, err := read()
	if sound && err == nil || stateErr != nil || ctx.Err() != nil {
		return err
	}
	if now, stateErr := DatasetState(root); stateErr != nil || now == before && now%2 == 1 {
		return err
	}
	release, err := HoldDataset(ctx, root)
	if err != nil {
		return err
	}
	defer release()
	_, err = read()
	return err
}

func (c *checker) run(ctx context.Context) error {
	last, err := readJournal(c.root)
	if err != nil {
		c.report.Problems = append(c.report.Problems, err)
		last = &change{Done: true}
	}
	c.report.Pending = !last.Done
	if !last.Done {
		c.now = last
	}
	if err := c.manifests(ctx); err != nil {
		return err
	}
	tables, err := subfolders(c.root, "table=")
	if err != nil {
		return err
	}
	for _, dir := range tables {
		if err := c.table(ctx, dir); err != nil {
			return err
		}
	}
	if err := c.bundles(); err != nil {
		return err
	}
	slices.Sort(c.report.Damaged)
	c.report.Damaged = slices.Compact(c.report.Damaged)
	return nil
}

// checker is one run of CheckDataset. Paths are below the root, with slashes.
type checker struct {
	root   string
	now    *change // that was cut short: all is as it is after it
	report DatasetReport
	faulty map[string]error  // what is wrong with a path that a manifest names
	listed map[string]int64  // paths that manifests name, and the rows they have
	seen   map[string]string // table and session: the path that a manifest names, or the first
	ids    map[string]bool   // sessions with a manifest, damaged ones too
}

func newChecker(root string) *checker {
	return &checker{root: root, now: &change{Done: true}, faulty: map[string]error{}, listed: map[string]int64{}, ids: map[string]bool{}, seen: map[string]string{}}
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
	ids = slices.DeleteFunc(ids, c.now.writes)
	for _, id := range ids {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.report.Sessions++
		c.ids[id] = true
		m, err := ReadManifest(c.root, id)
		if err != nil {
			c.problem(id, err)
			continue
		}
		for _, f := range m.Files {
			c.named(m, f)
		}
	}
	for _, m := range c.now.Manifests {
		c.report.Sessions++
		c.ids[m.SessionID] = true
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
		at := f
		at.Path = c.now.at(c.root, f.Path)
		c.faulty[f.Path] = at.verify(c.root, m.written, true)
		if err := c.faulty[f.Path]; err != nil {
			c.report.Problems = append(c.report.Problems, err)
		}
	}
	c.listed[f.Path] += f.Rows
	c.seen[tableOf(f.Path)+"/"+m.SessionID] = f.Path
	if c.faulty[f.Path] != nil {
		c.report.Damaged = append(c.report.Damaged, m.SessionID)
	}
}

// table reads the files of one table.
func (c *checker) table(ctx context.Context, dir string) error {
	table := filepath.Base(dir)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("dataset not read: %w", err)
		case isTemp(d):
			c.temp(d)
			return nil
		case d.IsDir() || strings.HasPrefix(d.Name(), ".") || !strings.HasSuffix(d.Name(), ".parquet"):
			return nil
		}
		rel, err := filepath.Rel(c.root, path)
		if err != nil {
			return err
		}
		return c.file(table, filepath.ToSlash(rel))
	})
	if err != nil {
		return err
	}
	for _, a := range c.now.Add {
		if _, err := os.Lstat(filepath.Join(c.root, filepath.FromSlash(a.Path))); err != nil && tableOf(a.Path) == table {
			if err := c.file(table, a.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// temp counts a temporary file. It may be gone already.
func (c *checker) temp(d fs.DirEntry) {
	if info, err := d.Info(); err == nil {
		c.report.Temps++
		c.report.TempBytes += info.Size()
	}
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

func (c *checker) file(table, rel string) error {
	if c.now.takes(rel) {
		return nil
	}
	path := filepath.Join(c.root, filepath.FromSlash(c.now.at(c.root, rel)))
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
	case isMerged(rel):
		c.merged(table, rel, listed)
	case listed && rows != content.rows:
		c.problem(name, &FileFault{rel, fmt.Sprintf("it has %d rows, and the manifest names %d", content.rows, rows)})
	case content.session != "":
		c.twice(table, rel, content.session)
	default: // another writer's
		c.twice(table, rel, name)
	}
	return nil
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
