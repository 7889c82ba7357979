package analyze

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// DatasetFile is a file of a dataset that is to be read.
type DatasetFile struct {
	Table  string
	Path   string // below the root, with slashes
	Schema int    // the schema version that its columns are of; 0: not known
	Shared bool   // it may have sessions that were not asked for
	SHA256 string // as its manifest says; empty of another writer's
	// Bundled says that host and date are columns of the file, strings, and not
	// in its path: it stands in place of many sessions' own.
	Bundled bool
	// Only are the sessions whose rows are to be taken, where the file has others
	// whose manifests name other files: a dataset was laid over another.
	Only []string
	// Missing says that a session's manifest names the file and it is not there,
	// so it can't be read. Of sessions that were asked for by id it is not said.
	Missing bool
}

// errUnsteady is for a dataset that changes faster than it can be listed.
var errUnsteady = errors.New("the dataset changes all the time: try again")

// restless is after how many tries a dataset is held while it is listed: of
// thousands of files that takes longer than from one change to the next.
const restless = 3

// DatasetFiles lists the files of a dataset as they are at one instant: every
// row is in one of them, once, even while sessions are written or files merged.
// With ids it lists the files of these sessions alone. state names the instant:
// while [DatasetState] gives the same, the list holds. Files that no manifest
// names, of other writers, are listed too, and those that a manifest names and
// that are missing.
func DatasetFiles(root string, ids ...string) (files []DatasetFile, state int64, err error) {
	held := false
	for try := range 100 {
		before, err := readJournal(root)
		if err != nil {
			return nil, 0, err
		}
		if !held && (try == restless || !before.Done) { // names that last
			held = true
			if release, err := HoldDataset(context.Background(), root); err == nil {
				defer release()
			}
			continue
		}
		files, err := listFiles(root, before, ids)
		if err != nil {
			return nil, 0, err
		}
		after, err := readJournal(root)
		if err != nil {
			return nil, 0, err
		}
		if before.Seq == after.Seq && before.Done == after.Done {
			return files, before.state(), nil
		}
	}
	return nil, 0, errUnsteady
}

// DatasetState is a number that is another one after each change to a dataset,
// and even while one is being made.
func DatasetState(root string) (int64, error) {
	c, err := readJournal(root)
	if err != nil {
		return 0, err
	}
	return c.state(), nil
}

// state counts changes, and their ends: names change until then.
func (c *change) state() int64 {
	if c.Done {
		return 2*c.Seq + 1
	}
	return 2 * c.Seq
}

// lister makes the list for a state of the journal.
type lister struct {
	root string
	now  *change
	ids  []string                // none: all
	info map[string]ManifestFile // by path, of manifests
	of   map[string][]string     // sessions by path
	rows map[string]int64        // of these, by path
	have map[string]bool         // sessions with a manifest
	out  []DatasetFile
	seen map[string]bool
}

func listFiles(root string, now *change, ids []string) ([]DatasetFile, error) {
	l := &lister{root: root, now: now, ids: ids, info: map[string]ManifestFile{}, of: map[string][]string{}, rows: map[string]int64{}, have: map[string]bool{}, seen: map[string]bool{}}
	if now.Done {
		now = &change{Done: true}
		l.now = now
	}
	if err := l.manifests(); err != nil {
		return nil, err
	}
	if len(ids) > 0 {
		return l.sessions()
	}
	return l.all()
}

// manifests reads those that are wanted, as they are after the change.
func (l *lister) manifests() error {
	ids := l.ids
	if len(ids) == 0 {
		var err error
		if ids, err = manifests(l.root); err != nil {
			return err
		}
	}
	for _, id := range ids {
		m, err := ReadManifest(l.root, id)
		if err == nil && m != nil && !l.now.writes(id) { // of a damaged one the files are found all the same
			l.add(m)
		}
	}
	for _, m := range l.now.Manifests {
		if len(l.ids) == 0 || slices.Contains(l.ids, m.SessionID) {
			l.add(m)
		}
	}
	return nil
}

func (l *lister) add(m *Manifest) {
	l.have[m.SessionID] = true
	for _, f := range m.Files {
		if f.Schema == 0 {
			f.Schema = m.Schema
		}
		l.info[f.Path] = f
		l.of[f.Path] = append(l.of[f.Path], m.SessionID)
		l.rows[f.Path] += f.Rows
	}
}

// sessions lists the files of the wanted sessions.
func (l *lister) sessions() ([]DatasetFile, error) {
	for _, path := range sortedKeys(l.info) {
		l.file(path)
	}
	for _, id := range l.ids { // of another writer, by their names
		if l.have[id] {
			continue
		}
		for _, t := range Tables() {
			found, err := sessionFiles(l.root, t.Name, id)
			if err != nil {
				return nil, err
			}
			if err := l.found(found); err != nil {
				return nil, err
			}
		}
	}
	return l.out, nil
}

// all lists every file.
func (l *lister) all() ([]DatasetFile, error) {
	found, err := tableFiles(l.root)
	if err != nil {
		return nil, err
	}
	if l.now.Done {
		if err := l.bundles(found); err != nil {
			return nil, err
		}
	}
	if err := l.found(found); err != nil {
		return nil, err
	}
	for _, a := range l.now.Add {
		if strings.HasPrefix(a.Path, "table=") {
			l.file(a.Path)
		}
	}
	for _, path := range sortedKeys(l.info) {
		if !l.seen[path] && !l.now.takes(path) && strings.HasPrefix(path, "table=") {
			l.out = append(l.out, DatasetFile{Table: strings.TrimPrefix(tableOf(path), "table="), Path: path, Missing: true})
		}
	}
	return l.out, nil
}

// tableFiles are the files of all tables. There may be ten thousand folders: the
// tables are looked through at once.
func tableFiles(root string) ([]string, error) {
	tables := Tables()
	found, errs := make([][]string, len(tables)), make([]error, len(tables))
	var all sync.WaitGroup
	for i, t := range tables {
		all.Go(func() { found[i], errs[i] = sessionFiles(root, t.Name, "*") })
	}
	all.Wait()
	return slices.Concat(found...), errors.Join(errs...)
}

// bundles lists the bundles that stand for files found, in place of these.
func (l *lister) bundles(found []string) error {
	have, err := bundles(l.root)
	if err != nil || len(have) == 0 {
		return err
	}
	sums := map[string]string{}
	for _, p := range found {
		rel, err := l.rel(p)
		if err != nil {
			return err
		}
		if f, named := l.info[rel]; named && isSmall(rel) && l.rows[rel] >= f.Total {
			sums[rel] = f.SHA256
		}
	}
	for _, b := range have {
		if !b.stands(l.root, sums) {
			continue
		}
		for source := range b.Sources {
			l.seen[source] = true
			delete(sums, source) // nobody stands for it twice
		}
		for _, f := range b.Files {
			l.out = append(l.out, DatasetFile{Table: b.table(f), Path: f.Path, Schema: b.Schema, SHA256: f.SHA256, Bundled: true})
		}
	}
	return nil
}

func (l *lister) rel(path string) (string, error) {
	rel, err := filepath.Rel(l.root, path)
	if err != nil {
		return "", fmt.Errorf("dataset not read: %w", err)
	}
	return filepath.ToSlash(rel), nil
}

func (l *lister) found(paths []string) error {
	for _, p := range paths {
		rel, err := l.rel(p)
		if err != nil {
			return err
		}
		l.file(rel)
	}
	return nil
}

// file lists a file, under the name that it has at present.
func (l *lister) file(path string) {
	if l.seen[path] || l.now.takes(path) {
		return
	}
	l.seen[path] = true
	f, named := l.info[path]
	if !named && l.copied(path) {
		return
	}
	file := DatasetFile{Table: strings.TrimPrefix(tableOf(path), "table="), Path: l.now.at(l.root, path), Schema: f.Schema, Shared: f.Shared, SHA256: f.SHA256}
	if len(l.ids) == 0 && l.rows[path] < f.Total && l.allNamed(file.Path) {
		file.Only = l.of[path]
	}
	l.out = append(l.out, file)
}

// copied reports whether a file that no manifest names has nothing but sessions
// whose manifests name others: it came with a copy of the dataset, or is what a
// program that keeps folders alike made of two versions. Its rows would count
// twice.
func (l *lister) copied(file string) bool {
	if len(l.have) == 0 {
		return false
	}
	return l.have[strings.TrimSuffix(path.Base(file), ".parquet")] || l.allNamed(l.now.at(l.root, file))
}

// allNamed reports whether every session in a merged file has a manifest.
func (l *lister) allNamed(file string) bool {
	layout, err := layoutOf(l.root, file)
	return err == nil && !slices.ContainsFunc(layout, func(p piece) bool { return !l.have[p.session] })
}
