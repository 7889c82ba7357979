package analyze

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SessionsIn lists the sessions that a dataset holds, in no order. A dataset
// that does not exist holds none. Those of another writer's files are named as
// the files are.
func SessionsIn(root string) ([]string, error) {
	files, err := sessionFiles(root, "sessions", "*")
	if err != nil {
		return nil, err
	}
	ids, err := manifests(root)
	if err != nil {
		return nil, err
	}
	last, err := readJournal(root)
	if err != nil {
		return nil, err
	}
	for _, m := range last.Manifests {
		ids = append(ids, m.SessionID)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".parquet"); !strings.HasPrefix(name, mergedName) {
			ids = append(ids, name)
		}
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return slices.Contains(last.Forget, id) }), nil
}

// RemoveSession takes a session's files out of a dataset.
func RemoveSession(ctx context.Context, root, id string) error {
	d := dataset{root: root}
	err := d.change(ctx, func() (*change, error) {
		c := &change{Forget: []string{id}}
		if err := d.takeOut(ctx, c, id, partition{}); err != nil {
			return nil, err
		}
		for _, t := range Tables() {
			files, err := sessionFiles(root, t.Name, id)
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				rel, err := filepath.Rel(root, f)
				if err != nil {
					return nil, err
				}
				c.remove([]string{filepath.ToSlash(rel)})
			}
		}
		slices.Reverse(c.Remove)
		return c, nil
	})
	if err != nil {
		return fmt.Errorf("session %s not removed: %w", id, err)
	}
	return nil
}

// sessionFiles are the files of a table, of one session or of all ("*"). The
// root may hold characters that are patterns elsewhere, so it is not part of
// one.
func sessionFiles(root, table, id string) ([]string, error) {
	hosts, err := subfolders(filepath.Join(root, "table="+table), "host=")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, h := range hosts {
		dates, err := subfolders(h, "date=")
		if err != nil {
			return nil, err
		}
		for _, d := range dates {
			entries, err := os.ReadDir(d)
			if err != nil {
				return nil, fmt.Errorf("dataset not read: %w", err)
			}
			for _, e := range entries {
				name := e.Name()
				if !strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".parquet") && (id == "*" || name == id+".parquet") {
					out = append(out, filepath.Join(d, name))
				}
			}
		}
	}
	return out, nil
}

// isFolder follows links: a host's folder may be on another disk.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// LinkedFolders are the folders outside a dataset to which links of its tables
// and hosts lead.
func LinkedFolders(root string) ([]string, error) {
	tables, err := subfolders(root, "table=")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range tables {
		hosts, err := subfolders(t, "host=")
		if err != nil {
			return nil, err
		}
		for _, path := range append(hosts, t) {
			if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				continue
			}
			to, err := filepath.EvalSymlinks(path)
			if err != nil {
				return nil, fmt.Errorf("dataset not read: %w", err)
			}
			out = append(out, to)
		}
	}
	return out, nil
}

// subfolders are the folders of dir whose names begin with prefix.
func subfolders(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("dataset not read: %w", err)
	}
	var out []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 && isFolder(path) {
			out = append(out, path)
		}
	}
	return out, nil
}
