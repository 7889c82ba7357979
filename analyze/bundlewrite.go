package analyze

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// newBundle adds a bundle of the sources to a change. Its name follows from
// them.
func (d dataset) newBundle(ctx context.Context, c *change, manifests []*Manifest, sources map[string]string) (fileSet, error) {
	set := fileSet{dataset: d, partition: partition{session: "bundle"}}
	b := bundle{Schema: SchemaVersion, Sources: sources}
	text, err := json.Marshal(b)
	if err != nil {
		return set, err
	}
	sum := sha256.Sum256(text)
	name := path.Join(bundleDir, hex.EncodeToString(sum[:8]))
	for _, decl := range declarations() {
		table := decl.table().Name
		if !slices.Contains(bundled, table) {
			continue
		}
		parts, err := piecesWithin(d.root, manifests, table, sources)
		if err != nil {
			return set, err
		}
		file, err := d.bundleTable(ctx, &set, decl, parts)
		if err != nil {
			return set, fmt.Errorf("table %s: %w", table, err)
		}
		file.Path = name + "-" + table + ".parquet"
		a, err := d.waiting(set.files[len(set.files)-1], file.Path)
		if err != nil {
			return set, err
		}
		c.Add = append(c.Add, a)
		b.Files = append(b.Files, file)
	}
	return set, d.listBundle(&set, c, b, name+".json")
}

// listBundle adds the bundle's JSON, behind the files that it names.
func (d dataset) listBundle(set *fileSet, c *change, b bundle, name string) error {
	w, err := set.createIn(bundleDir, "bundle")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(w).Encode(b); err != nil {
		return err
	}
	f := set.files[len(set.files)-1]
	if _, err := f.finish(d.sync); err != nil {
		return err
	}
	a, err := d.waiting(f, name)
	c.Add = append(c.Add, a)
	return err
}

func (d dataset) bundleTable(ctx context.Context, set *fileSet, decl declaration, parts []piece) (ManifestFile, error) {
	var out ManifestFile
	w, err := set.createIn(bundleDir, decl.table().Name)
	if err != nil {
		return out, err
	}
	if err := decl.bundle(ctx, tableFile{w, partition{}, mergedGroup}, d.root, parts); err != nil {
		return out, err
	}
	for _, p := range parts {
		out.Rows += p.n
	}
	f := set.files[len(set.files)-1]
	out.Bytes, err = f.finish(d.sync)
	out.SHA256 = hex.EncodeToString(f.sum.Sum(nil))
	return out, err
}

// piecesWithin are the pieces of a table that are in the sources, by session,
// with the values of their folders.
func piecesWithin(root string, manifests []*Manifest, table string, sources map[string]string) ([]piece, error) {
	where := piecesIn(root)
	var out []piece
	for _, m := range manifests {
		for _, f := range m.Files {
			if _, wanted := sources[f.Path]; !wanted || tableOf(f.Path) != "table="+table {
				continue
			}
			at, err := partitionAt(f.Path)
			if err != nil {
				return nil, err
			}
			p, err := where.of(m.SessionID, f)
			if err != nil {
				return nil, err
			}
			p.beside = map[string]string{"host": at.host, "date": at.date}
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b piece) int { return strings.Compare(a.session, b.session) })
	return out, nil
}
