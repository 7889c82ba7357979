package analyze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A bundle is a copy of the small tables of many sessions, one file a table:
//
//	ROOT/.bundles/NAME.json               what it is a copy of
//	ROOT/.bundles/NAME-sessions.parquet   with host and date as columns
//
// Of a thousand sessions, opening the files of these tables takes longer than
// reading all requests. Whoever reads with [DatasetFiles] gets a bundle in place
// of its sources while each of them is there as it was when it was copied. Other
// engines pass bundles over, and nothing is lost with one.
type bundle struct {
	Schema  int               `json:"schema_version"`
	Files   []ManifestFile    `json:"files"`
	Sources map[string]string `json:"sources"` // SHA-256 by path

	path string // of the JSON, below the root
}

const bundleDir = ".bundles"

// bundled are the tables that have few rows a session.
var bundled = []string{"sessions", "segments", "targets", "cases"}

// bundleAt is how many sessions without a bundle make a new one worth its files.
const bundleAt = 32

// bundles reads those of a dataset. What can't be read as one has no sources,
// and stands for nothing.
func bundles(root string) ([]*bundle, error) {
	entries, err := os.ReadDir(filepath.Join(root, bundleDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []*bundle
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || path.Ext(e.Name()) != ".json" {
			continue
		}
		b := &bundle{path: path.Join(bundleDir, e.Name())}
		if text, err := os.ReadFile(filepath.Join(root, b.path)); err != nil || json.Unmarshal(text, b) != nil {
			b.Files, b.Sources = nil, nil
		}
		out = append(out, b)
	}
	return out, nil
}

// stands reports whether the bundle has the rows that its sources have now: sums
// has those of the files that are there.
func (b *bundle) stands(root string, sums map[string]string) bool {
	if b.Schema != SchemaVersion || len(b.Sources) == 0 {
		return false
	}
	for source, sum := range b.Sources {
		if now, found := sums[source]; !found || now != sum {
			return false
		}
	}
	tables := map[string]bool{}
	for _, f := range b.Files {
		table := b.table(f)
		tables["table="+table] = true
		if !slices.Contains(bundled, table) {
			return false
		}
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(f.Path)))
		if err != nil || info.Size() != f.Bytes {
			return false
		}
	}
	for source := range b.Sources {
		if !tables[tableOf(source)] {
			return false
		}
	}
	return true
}

// damage is what is wrong with the bundle's files, every byte read.
func (b *bundle) damage(root string) error {
	for _, f := range b.Files {
		if sum, err := fileSum(filepath.Join(root, filepath.FromSlash(f.Path))); err != nil || sum != f.SHA256 {
			return &FileFault{f.Path, "its bytes are not those that were written: `tokwatt archive` makes it anew"}
		}
	}
	return nil
}

// Bundle makes a bundle of the sessions that are in none, where they are some
// dozens, and takes away those that no longer stand for their sources. With all
// it makes one bundle of everything.
//
// Where the dataset changes meanwhile it makes none: the next one will.
func Bundle(ctx context.Context, root string, all bool) error {
	before, _ := DatasetState(root)
	err := (dataset{root: root}).bundle(ctx, bundleAt, all)
	if now, _ := DatasetState(root); err == nil || (now != before || now%2 == 0) && ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("dataset %s: the small tables' copy for quick reading not made: %w", root, err)
}

// bundle is Bundle, for at least some sessions.
func (d dataset) bundle(ctx context.Context, least int, all bool) error {
	manifests, err := allManifests(d.root)
	if err != nil {
		return err
	}
	have, err := bundles(d.root)
	if err != nil {
		return err
	}
	loose := smallFiles(manifests)
	var standing []*bundle
	var stale []string
	for _, b := range have {
		if b.stands(d.root, loose) && b.damage(d.root) == nil {
			standing = append(standing, b)
			for source := range b.Sources {
				delete(loose, source)
			}
			continue
		}
		stale = append(stale, b.files()...)
	}
	if all && len(standing) > 0 && (len(standing) > 1 || len(loose) > 0) {
		loose = smallFiles(manifests)
		for _, b := range standing {
			stale = append(stale, b.files()...)
		}
	}
	return d.rebundle(ctx, manifests, loose, least, stale)
}

// rebundle makes a bundle of the sources, where they are not few, and takes away
// the stale files.
func (d dataset) rebundle(ctx context.Context, manifests []*Manifest, sources map[string]string, least int, stale []string) error {
	if len(sources) >= least*len(bundled) {
		maps.DeleteFunc(sources, func(path, sum string) bool { // damaged, or gone
			now, err := fileSum(d.path(path))
			return err != nil || now != sum
		})
	}
	c := &change{}
	var set fileSet
	if len(sources) >= least*len(bundled) {
		var err error
		if set, err = d.newBundle(ctx, c, manifests, sources); err != nil {
			set.abandon()
			return err
		}
	}
	c.remove(stale)
	if len(c.Add)+len(c.Remove) == 0 {
		return nil
	}
	err := d.change(ctx, func() (*change, error) { return c, nil })
	set.leave(d, err)
	return err
}

// smallFiles are the files of the bundled tables, by path, with their sums; not
// merged ones with rows of sessions that are elsewhere.
func smallFiles(manifests []*Manifest) map[string]string {
	out, left := map[string]string{}, map[string]int64{}
	for _, m := range manifests {
		for _, f := range m.Files {
			if schema := max(f.Schema, m.Schema); isSmall(f.Path) && schema == SchemaVersion {
				if _, found := out[f.Path]; !found {
					out[f.Path], left[f.Path] = f.SHA256, f.Total
				}
				left[f.Path] -= f.Rows
			}
		}
	}
	maps.DeleteFunc(out, func(path, _ string) bool { return left[path] > 0 })
	return out
}

func isSmall(path string) bool {
	return slices.Contains(bundled, strings.TrimPrefix(tableOf(path), "table="))
}

// files are the bundle's own, the list of its sources first: without it the
// others are passed over.
func (b *bundle) files() []string {
	out := []string{b.path}
	for _, f := range b.Files {
		if slices.Contains(bundled, b.table(f)) {
			out = append(out, f.Path)
		}
	}
	return out
}

// table is the table of one of the bundle's files.
func (b *bundle) table(f ManifestFile) string {
	name := strings.TrimSuffix(b.path, ".json") + "-"
	return strings.TrimSuffix(strings.TrimPrefix(f.Path, name), ".parquet")
}
