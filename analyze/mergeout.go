package analyze

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// damagedDir is where a damaged file of several sessions is put when one of
// them is written anew. Its name starts with a dot: nobody reads it.
const damagedDir = ".damaged"

// takeOut adds to a change what takes a session's rows out of the files that
// it shares with others: these get files of their own. p is the partition that
// the session is written into; where it is only taken away it has no date.
//
// A file that is damaged gives no rows. It is put aside, and the others' are
// missing from then on, until they are written anew too.
func (d dataset) takeOut(ctx context.Context, c *change, id string, p partition) error {
	m, err := ReadManifest(d.root, id)
	if err != nil {
		m = nil // damaged: it is written anew
	}
	mine, err := d.filesWith(m, id, p)
	if err != nil || len(mine) == 0 {
		return err
	}
	all, err := allManifests(d.root)
	if err != nil {
		return err
	}
	t := &takingOut{dataset: d, id: id, mine: mine, where: piecesIn(d.root), damaged: map[string]bool{}}
	if err := t.find(all); err != nil {
		return err
	}
	return t.plan(ctx, c)
}

// filesWith are the merged files with rows of a session: as its manifest says
// or, where it has none, as the files of its partition have them.
func (d dataset) filesWith(m *Manifest, id string, p partition) ([]string, error) {
	var out []string
	if m != nil {
		for _, f := range m.Files {
			if f.Shared {
				out = append(out, f.Path)
			}
		}
		return out, nil
	}
	if p.date == "" {
		return nil, nil
	}
	files, err := mergedIn(d.root, p)
	if err != nil {
		return nil, fmt.Errorf("dataset not read: %w", err)
	}
	with := false
	for _, f := range files {
		layout, err := layoutOf(d.root, f)
		with = with || err == nil && slices.ContainsFunc(layout, func(p piece) bool { return p.session == id })
		if err != nil || slices.ContainsFunc(layout, func(p piece) bool { return p.session == id }) {
			out = append(out, f)
		}
	}
	if !with {
		return nil, nil
	}
	return out, nil
}

// takingOut is one run of takeOut.
type takingOut struct {
	dataset
	id      string
	mine    []string // the merged files with rows of the session
	where   *pieces
	others  []*Manifest     // sessions that have rows in them too
	damaged map[string]bool // of mine
}

// find finds the other sessions and the files that are damaged.
func (t *takingOut) find(all []*Manifest) error {
	known := map[string]bool{t.id: true}
	for _, m := range all {
		known[m.SessionID] = true
		if m.SessionID == t.id {
			t.verify(m)
			continue
		}
		if slices.ContainsFunc(m.Files, func(f ManifestFile) bool { return slices.Contains(t.mine, f.Path) }) {
			t.verify(m)
			t.others = append(t.others, m)
		}
	}
	orphans := map[string]*Manifest{}
	for _, f := range t.mine {
		layout, err := t.where.in(f)
		if err != nil {
			t.damaged[f] = true
			continue
		}
		for _, p := range layout {
			if known[p.session] {
				continue
			}
			if orphans[p.session] == nil {
				orphans[p.session] = &Manifest{SessionID: p.session, Schema: SchemaVersion}
			}
			o := orphans[p.session]
			o.Files = append(o.Files, ManifestFile{Path: f, Rows: p.n, Shared: true, Schema: SchemaVersion})
		}
	}
	for _, id := range sortedKeys(orphans) {
		t.others = append(t.others, orphans[id])
	}
	return nil
}

// verify holds the files of mine that a manifest names against it.
func (t *takingOut) verify(m *Manifest) {
	for _, f := range m.Files {
		if _, done := t.damaged[f.Path]; !done && slices.Contains(t.mine, f.Path) {
			t.damaged[f.Path] = f.verify(t.root, m.written, true) != nil
		}
	}
}

// plan adds to the change.
func (t *takingOut) plan(ctx context.Context, c *change) error {
	var sound []*Manifest // the others, with the files that can be read
	for _, m := range t.others {
		next := *m
		next.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f ManifestFile) bool { return t.damaged[f.Path] })
		for _, f := range next.Files {
			if max(f.Schema, m.Schema) > SchemaVersion {
				return fmt.Errorf("the session shares files with others of schema version %d, and this tokwatt knows %d: archive it with a newer one", max(f.Schema, m.Schema), SchemaVersion)
			}
		}
		if len(next.Files) > 0 {
			sound = append(sound, &next)
		}
	}
	if len(sound) > 0 {
		out, err := t.merge(ctx, sound, t.where)
		if err != nil {
			return fmt.Errorf("the session shares files with others, and they can't be read: %w", err)
		}
		for _, m := range out.manifests {
			m.Files = append(m.Files, t.lost(m.SessionID)...)
		}
		c.Add = append(out.add, c.Add...)
		c.Manifests = append(out.manifests, c.Manifests...)
	}
	return t.clear(c)
}

// lost are the damaged files of a session: its manifest goes on to name them.
func (t *takingOut) lost(id string) []ManifestFile {
	i := slices.IndexFunc(t.others, func(m *Manifest) bool { return m.SessionID == id })
	return slices.DeleteFunc(slices.Clone(t.others[i].Files), func(f ManifestFile) bool { return !t.damaged[f.Path] })
}

// clear removes the merged files, and puts damaged ones aside.
func (t *takingOut) clear(c *change) error {
	for _, f := range t.mine {
		if !t.damaged[f] || len(t.others) == 0 {
			c.remove([]string{f})
			continue
		}
		if _, err := os.Lstat(t.path(f)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(t.path(damagedDir), 0o755); err != nil {
			return err
		}
		aside := path.Join(damagedDir, strings.TrimPrefix(tableOf(f), "table=")+"-"+path.Base(f))
		c.Add = append(c.Add, addition{Temp: f, Path: aside})
	}
	return nil
}
