package analyze

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// CompactOptions says how a dataset is compacted.
type CompactOptions struct {
	// DryRun says what there is to do, and does nothing.
	DryRun bool
	// Progress is called before each partition that is merged.
	Progress func(done, of int)

	step   func(what string) error // of dataset
	unsync bool                    // don't wait for the disk
}

// Compacted says what Compact did, or would do.
type Compacted struct {
	Partitions  int     // hosts and days whose files were merged
	Sessions    int     // in them
	FilesBefore int     // of them
	FilesAfter  int     // 0 of a dry run
	Kept        []error // partitions that stay as they are, and why
}

// largeUnit is how many bytes of files make a session, or sessions that were
// merged before, too large to gain from being merged.
const largeUnit = 256 << 20

// staleTemp is how old a temporary file is when its writer is surely gone.
const staleTemp = 24 * time.Hour

// Compact merges the small files of a dataset: those of the sessions of one
// host and day become one file a table, sorted by session, with row groups that
// let an engine skip to a session. It is of use from some thousand files a table.
//
// Each partition is merged aside and then takes the place of its sources in one
// change, so that at any instant, and whatever happens to the process, each row
// is there once for whoever reads with [DatasetFiles]. Sessions may be exported
// meanwhile: a partition that changed stays as it is until the next time. So do
// damaged sessions, sessions of a newer schema, whose columns would be lost, those
// of before schema 3, whose requests would not know their case, and files without
// a manifest.
func Compact(ctx context.Context, root string, o CompactOptions) (Compacted, error) {
	var sum Compacted
	d := dataset{root: root, sync: !o.unsync, step: o.step}
	if !o.DryRun {
		// what a dead process left comes first
		if err := d.rest(ctx); err != nil {
			return sum, fmt.Errorf("dataset %s not compacted: %w", root, err)
		}
		if err := d.sweep(); err != nil {
			return sum, err
		}
	}
	all, err := allManifests(root)
	if err != nil {
		return sum, err
	}
	groups := mergeable(all)
	for i, g := range groups {
		if o.Progress != nil {
			o.Progress(i, len(groups))
		}
		if o.DryRun {
			sum.Partitions, sum.Sessions, sum.FilesBefore = sum.Partitions+1, sum.Sessions+len(g), sum.FilesBefore+len(filesOf(g))
			continue
		}
		if err := d.compactInto(ctx, &sum, g); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// meanwhile is how often a partition is tried that others write into.
const meanwhile = 5

// compactInto merges the sessions of one partition and adds to the sum. The
// error is that of the context.
func (d dataset) compactInto(ctx context.Context, sum *Compacted, g []*Manifest) error {
	key := partitionKey(g[0])
	for try := 1; ; try++ {
		after, err := d.compact(ctx, g, piecesIn(d.root))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			sum.Partitions, sum.Sessions = sum.Partitions+1, sum.Sessions+len(g)
			sum.FilesBefore, sum.FilesAfter = sum.FilesBefore+len(filesOf(g)), sum.FilesAfter+after
			return nil
		case try == meanwhile || d.rest(ctx) != nil || d.unchanged(g) == nil:
			if try == meanwhile && d.unchanged(g) != nil {
				err = errors.New("others write into it all the time: compact again")
			}
			sum.Kept = append(sum.Kept, fmt.Errorf("%s stays as it is: %w", key, err))
			return nil
		}
		all, err := allManifests(d.root)
		if err != nil {
			return err
		}
		groups := mergeable(all)
		i := slices.IndexFunc(groups, func(g []*Manifest) bool { return partitionKey(g[0]) == key })
		if i < 0 { // another merged it
			return nil
		}
		g = groups[i]
	}
}

// rest ends what a dead process left.
func (d dataset) rest(ctx context.Context) error {
	return d.change(ctx, func() (*change, error) { return nil, nil })
}

// unchanged says which of the sessions was written since its manifest was read.
func (d dataset) unchanged(sessions []*Manifest) error {
	for _, m := range sessions {
		now, err := ReadManifest(d.root, m.SessionID)
		if err != nil {
			return err
		}
		if now == nil || !reflect.DeepEqual(now.Files, m.Files) {
			return fmt.Errorf("session %s was written meanwhile: compact again", m.SessionID)
		}
	}
	return nil
}

// compact merges the sessions of one partition and returns how many files they
// have then.
func (d dataset) compact(ctx context.Context, sessions []*Manifest, where *pieces) (int, error) {
	for _, m := range sessions {
		if err := m.Verify(d.root); err != nil {
			return 0, fmt.Errorf("session %s is damaged: %w", m.SessionID, err)
		}
	}
	if err := d.allNamed(filesOf(sessions), where); err != nil {
		return 0, err
	}
	out, err := d.merge(ctx, sessions, where)
	if err != nil {
		return 0, err
	}
	err = d.change(ctx, func() (*change, error) {
		if err := d.unchanged(sessions); err != nil {
			return nil, err
		}
		c := &change{Add: out.add, Manifests: out.manifests}
		c.remove(filesOf(sessions))
		return c, nil
	})
	out.set.leave(d, err)
	return len(out.add), err
}

// allNamed refuses merged files with rows of sessions that have no manifest: they
// would be lost. Those of sessions whose manifests name other files may go.
func (d dataset) allNamed(files []string, where *pieces) error {
	for _, f := range files {
		if !isMerged(f) {
			continue
		}
		layout, err := where.in(f)
		if err != nil {
			return err
		}
		for _, p := range layout {
			if m, err := ReadManifest(d.root, p.session); err != nil || m == nil {
				return fmt.Errorf("%s has rows of session %s, which has no manifest, or a damaged one: archive it", f, p.session)
			}
		}
	}
	return nil
}

// remove takes files away, but for those that the change adds.
func (c *change) remove(paths []string) {
	for _, p := range paths {
		added := func(a addition) bool { return a.Path == p }
		if !slices.ContainsFunc(c.Add, added) && !slices.Contains(c.Remove, p) {
			c.Remove = append(c.Remove, p)
		}
	}
}

// mergeable are the sessions that are worth merging, by partition: those of
// the same files are one unit, and there are at least two units.
func mergeable(all []*Manifest) [][]*Manifest {
	partitions := map[string]map[string][]*Manifest{} // by partition, by first file
	for _, m := range all {
		if m.Schema > SchemaVersion || m.Schema < ofBatchSince {
			continue
		}
		key := partitionKey(m)
		if partitions[key] == nil {
			partitions[key] = map[string][]*Manifest{}
		}
		unit := m.Files[0].Path
		partitions[key][unit] = append(partitions[key][unit], m)
	}
	var out [][]*Manifest
	for _, key := range sortedKeys(partitions) {
		var group []*Manifest
		units := 0
		for _, unit := range partitions[key] {
			var bytes int64
			for _, f := range unit[0].Files {
				bytes += f.Bytes
			}
			if bytes < largeUnit {
				units++
				group = append(group, unit...)
			}
		}
		if units > 1 {
			out = append(out, group)
		}
	}
	return out
}

// partitionKey is the partition that a session's files are in: host=…/date=….
func partitionKey(m *Manifest) string {
	_, rest, _ := strings.Cut(path.Dir(m.Files[0].Path), "/")
	return rest
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// filesOf are the files of some sessions, each once, the table sessions first:
// engines that look on see less for a moment, and nothing of half a session.
func filesOf(sessions []*Manifest) []string {
	var out []string
	for _, m := range sessions {
		for _, f := range m.Files {
			out = append(out, f.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// allManifests reads the manifests of all sessions but damaged ones.
func allManifests(root string) ([]*Manifest, error) {
	ids, err := manifests(root)
	if err != nil {
		return nil, err
	}
	var out []*Manifest
	for _, id := range ids {
		if m, err := ReadManifest(root, id); err == nil && m != nil {
			out = append(out, m)
		}
	}
	return out, nil
}

// sweep removes temporary files whose writers are gone.
func (d dataset) sweep() error {
	return filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !isTemp(e) {
			return err
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < staleTemp {
			return nil
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("temporary file not removed: %w", err)
		}
		return nil
	})
}

// isTemp reports whether a file waits for its name.
func isTemp(e fs.DirEntry) bool {
	return !e.IsDir() && strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".tmp")
}
