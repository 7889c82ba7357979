package analyze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A change gives files of a dataset their names, takes others away, and writes
// the manifests that go with it: all of that at one instant for whoever reads
// with [DatasetFiles], whatever happens to the process that makes it.
//
// It stands in ROOT/.journal.json, which is replaced whole:
//
//	pending   from here on readers see the dataset as it is after the change:
//	          without what is removed, and what is added under whichever of its
//	          two names it has
//	apply     files get their names, old ones go, manifests are written; each
//	          step may be done again
//	done      the change stays, as the number of the dataset's state
//
// One process at a time makes changes; it holds a lock that goes with it. The
// next one first ends what a dead one left. Engines that know nothing of the
// journal see the steps of apply, table by table.
type change struct {
	Seq       int64       `json:"seq"` // grows with each change
	Done      bool        `json:"done"`
	Add       []addition  `json:"add,omitempty"`
	Remove    []string    `json:"remove,omitempty"`    // paths below the root, with slashes
	Manifests []*Manifest `json:"manifests,omitempty"` // to write
	Forget    []string    `json:"forget,omitempty"`    // sessions whose manifests go
}

// addition is a whole file that waits for its name. Paths are below the root,
// with slashes.
type addition struct {
	Temp string `json:"temp"`
	Path string `json:"path"`
}

const journalName = ".journal.json"

// dataset is a folder that is being changed.
type dataset struct {
	root string
	sync bool // wait for the disk
	// step is called before each thing that is done to the folder; an error
	// keeps it from being done. Nil: nobody looks.
	step func(what string) error
}

func (d dataset) before(what string) error {
	if d.step == nil {
		return nil
	}
	return d.step(what)
}

func (d dataset) path(rel string) string { return filepath.Join(d.root, filepath.FromSlash(rel)) }

// change makes the change that plan gives while nobody else makes one. A nil
// change is none.
func (d dataset) change(ctx context.Context, plan func() (*change, error)) error {
	if err := os.MkdirAll(d.root, 0o755); err != nil {
		return err
	}
	unlock, err := lockDataset(ctx, d.root)
	if err != nil {
		return err
	}
	defer unlock()
	last, err := d.settle()
	if err != nil {
		return err
	}
	c, err := plan()
	if err != nil || c == nil {
		return err
	}
	c.Seq = last.Seq + 1
	if err := d.journal(c); err != nil {
		return err
	}
	fresh := d.fresh(c)
	if err := d.apply(c); err != nil {
		if fresh || len(c.Remove) == 0 && inTheWay(err) {
			return errors.Join(err, d.undo(c))
		}
		return err // it stands in the journal: readers see it made, the next change ends it
	}
	return nil
}

// fresh reports whether a change does nothing but add what was not there:
// without it nothing is lost.
func (d dataset) fresh(c *change) bool {
	there := func(a addition) bool {
		_, err := os.Lstat(d.path(a.Path))
		return err == nil || path.Dir(a.Path) == damagedDir
	}
	return len(c.Remove)+len(c.Forget) == 0 && !slices.ContainsFunc(c.Add, there)
}

// inTheWay reports whether something has a file's name that is no file: the next
// change could not end this one either.
func inTheWay(err error) bool {
	return slices.ContainsFunc([]error{syscall.EISDIR, syscall.ENOTDIR, syscall.EEXIST, syscall.ENOTEMPTY}, func(e error) bool { return errors.Is(err, e) })
}

// settle ends the change that a dead process left, and returns the last one.
func (d dataset) settle() (*change, error) {
	c, err := readJournal(d.root)
	if err != nil || c.Done {
		return c, err
	}
	if err := d.understood(); err != nil {
		return nil, err
	}
	if err := d.apply(c); err != nil {
		return nil, fmt.Errorf("a change that was cut short can't be ended: %w", err)
	}
	return c, nil
}

// apply does the steps of a change and says that they are done.
func (d dataset) apply(c *change) error {
	removed := map[string]bool{}
	for _, a := range c.Add {
		if err := d.rename(a.Temp, a.Path); err != nil {
			return err
		}
		for _, path := range c.Remove { // of the same table, at once: others look on
			if tableOf(path) == tableOf(a.Path) && !removed[path] {
				if err := d.remove(path); err != nil {
					return err
				}
				removed[path] = true
			}
		}
	}
	for _, path := range c.Remove {
		if removed[path] {
			continue
		}
		if err := d.remove(path); err != nil {
			return err
		}
	}
	for _, m := range c.Manifests {
		if err := d.before("manifest " + m.SessionID); err != nil {
			return err
		}
		if err := m.write(d.root, d.sync); err != nil {
			return err
		}
	}
	for _, id := range c.Forget {
		if err := d.remove(manifestDir + "/" + id + ".json"); err != nil {
			return err
		}
	}
	return d.journal(&change{Seq: c.Seq, Done: true})
}

// undo takes away what a change adds: a change of its own, so that it is seen as
// a whole too. Where there is no room even for that the first one stays.
func (d dataset) undo(c *change) error {
	back := &change{Seq: c.Seq + 1}
	for _, a := range c.Add {
		back.Remove = append(back.Remove, a.Path, a.Temp)
	}
	for _, m := range c.Manifests {
		back.Forget = append(back.Forget, m.SessionID)
	}
	if err := d.journal(back); err != nil {
		return err
	}
	var errs []error
	for _, path := range back.Remove {
		if err := d.remove(path); err != nil && !inTheWay(err) { // what is in the way stays
			errs = append(errs, err)
		}
	}
	for _, id := range back.Forget {
		errs = append(errs, d.remove(manifestDir+"/"+id+".json"))
	}
	return errors.Join(append(errs, d.journal(&change{Seq: back.Seq, Done: true}))...)
}

func (d dataset) rename(from, to string) error {
	if err := d.before("rename " + to); err != nil {
		return err
	}
	err := os.Rename(d.path(from), d.path(to))
	if errors.Is(err, fs.ErrNotExist) { // done before
		return nil
	}
	return err
}

func (d dataset) remove(rel string) error {
	if err := d.before("remove " + rel); err != nil {
		return err
	}
	err := os.Remove(d.path(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d dataset) journal(c *change) error {
	if err := d.before("journal"); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(d.root, journalName), append(text, '\n'), d.sync)
}

// writeWhole puts a file in its place, whole or not at all.
func writeWhole(path string, text []byte, sync bool) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+strings.TrimPrefix(filepath.Base(path), ".")+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(text); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if sync {
		if err = f.Sync(); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
