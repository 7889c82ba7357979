package analyze

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readJournal reads the last change; of a dataset that knows none it is one
// that is done, of number 0.
func readJournal(root string) (*change, error) {
	path := filepath.Join(root, journalName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &change{Done: true}, nil
	}
	if err != nil {
		return nil, err
	}
	c := new(change)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; once nobody writes to the dataset, delete it and run `tokwatt check`", path, err)
	}
	for _, a := range c.Add {
		if !local(a.Temp) || !local(a.Path) {
			return nil, fmt.Errorf("%s is damaged: it names a file outside the dataset", path)
		}
	}
	for _, p := range c.Remove {
		if !local(p) {
			return nil, fmt.Errorf("%s is damaged: it names a file outside the dataset", path)
		}
	}
	return c, nil
}

func local(path string) bool { return filepath.IsLocal(filepath.FromSlash(path)) }

// tableOf is the folder table=… of a path.
func tableOf(path string) string {
	table, _, _ := strings.Cut(path, "/")
	return table
}

// understood refuses a change that says what this program does not know: it
// would be done by half.
func (d dataset) understood() error {
	path := filepath.Join(d.root, journalName)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(change)); err != nil {
		return fmt.Errorf("%s is of a newer tokwatt, which was cut short (%w): end it with `tokwatt archive` or `archive compact` of that one", path, err)
	}
	return nil
}

// at is the name that a file has while the change is made.
func (c *change) at(root, path string) string {
	for _, a := range c.Add {
		if a.Path != path {
			continue
		}
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(a.Temp))); err == nil {
			return a.Temp
		}
	}
	return path
}

// takes reports whether the change takes a file away from where it is.
func (c *change) takes(path string) bool {
	return slices.Contains(c.Remove, path) || slices.ContainsFunc(c.Add, func(a addition) bool { return a.Temp == path })
}

// writes reports whether the change writes a session's manifest, or takes it
// away.
func (c *change) writes(id string) bool {
	return slices.Contains(c.Forget, id) || slices.ContainsFunc(c.Manifests, func(m *Manifest) bool { return m.SessionID == id })
}
