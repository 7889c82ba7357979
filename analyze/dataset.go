package analyze

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// SessionsIn lists the sessions that a dataset holds, in no order. A dataset
// that does not exist holds none.
func SessionsIn(root string) ([]string, error) {
	files, err := sessionFiles(root, "sessions", "*")
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(files))
	for i, f := range files {
		ids[i] = strings.TrimSuffix(filepath.Base(f), ".parquet")
	}
	return ids, nil
}

// RemoveSession takes a session's files out of a dataset, the manifest first:
// without it the session is not whole, should the removal be cut short.
func RemoveSession(root, id string) error {
	if err := os.Remove(manifestPath(root, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session %s not removed: %w", id, err)
	}
	tables := Tables()
	for i := len(tables) - 1; i >= 0; i-- {
		files, err := sessionFiles(root, tables[i].Name, id)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				return fmt.Errorf("session %s not removed: %w", id, err)
			}
		}
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
		if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}
