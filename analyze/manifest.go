package analyze

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// manifestDir holds the manifests, below the root. Its name starts with a dot:
// engines pass it over.
const manifestDir = ".sessions"

// Manifest is what an export wrote of a session. It stands beside the tables,
//
//	ROOT/.sessions/SESSION.json
//
// and is written last: a session is exported when its manifest is there and
// its files are as the manifest says.
type Manifest struct {
	SessionID string         `json:"session_id"`
	Schema    int            `json:"schema_version"`
	Formula   int            `json:"formula_version"`
	Records   int64          `json:"records"` // ExportOptions.Records
	Files     []ManifestFile `json:"files"`

	written time.Time
}

// ManifestFile is one file of a session.
type ManifestFile struct {
	Path   string `json:"path"` // below the root, with slashes
	Bytes  int64  `json:"bytes"`
	Rows   int64  `json:"rows"`
	SHA256 string `json:"sha256"`
	// Shared says that the file has rows of other sessions too (Rows are this
	// one's): it was made by Compact, with the columns of schema version Schema.
	Shared bool `json:"shared,omitempty"`
	Schema int  `json:"schema_version,omitempty"`
	// Total is the rows of all sessions in a shared file; 0: not known.
	Total int64 `json:"total_rows,omitempty"`
}

func manifestPath(root, id string) string { return filepath.Join(root, manifestDir, id+".json") }

// ReadManifest reads a session's manifest; without one it is nil.
func ReadManifest(root, id string) (*Manifest, error) {
	f, err := os.Open(manifestPath(root, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m := &Manifest{written: info.ModTime()}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", f.Name(), err)
	}
	foreign := func(f ManifestFile) bool { return !filepath.IsLocal(filepath.FromSlash(f.Path)) }
	if m.SessionID != id || len(m.Files) == 0 || slices.ContainsFunc(m.Files, foreign) {
		return nil, fmt.Errorf("%s is damaged: it does not describe session %s", f.Name(), id)
	}
	return m, nil
}

// Current reports whether the files have the columns and formulas of this
// program, and at least the given number of records.
func (m *Manifest) Current(records int64) bool {
	return m.Schema >= SchemaVersion && m.Formula >= FormulaVersion && m.Records >= records
}

// Verify holds a session's files against the manifest and returns what is
// wrong. It reads sizes and times; a file that was touched after the manifest
// was written is read, for a copy is as good as what it was copied from.
func (m *Manifest) Verify(root string) error { return m.verify(root, false) }

// VerifyBytes is Verify with every byte read.
func (m *Manifest) VerifyBytes(root string) error { return m.verify(root, true) }

func (m *Manifest) verify(root string, all bool) error {
	var errs []error
	for _, f := range m.Files {
		errs = append(errs, f.verify(root, m.written, all))
	}
	return errors.Join(errs...)
}

func (f ManifestFile) verify(root string, written time.Time, all bool) error {
	path := filepath.Join(root, filepath.FromSlash(f.Path))
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &FileFault{f.Path, "it is missing"}
	case err != nil:
		return &FileFault{f.Path, err.Error()}
	case !info.Mode().IsRegular():
		return &FileFault{f.Path, "it is no file"}
	case info.Size() != f.Bytes:
		return &FileFault{f.Path, fmt.Sprintf("it has %d bytes instead of %d", info.Size(), f.Bytes)}
	case !all && !info.ModTime().After(written):
		return nil
	}
	sum, err := fileSum(path)
	if err != nil {
		return &FileFault{f.Path, err.Error()}
	}
	if sum != f.SHA256 {
		return &FileFault{f.Path, "its bytes are not those that were written"}
	}
	return nil
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// FileFault is a file of a dataset that is not as it should be.
type FileFault struct {
	Path string // below the root
	What string
}

func (f *FileFault) Error() string { return f.Path + ": " + f.What }

// write puts the manifest in its place, whole or not at all.
func (m *Manifest) write(root string, sync bool) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := manifestPath(root, m.SessionID)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return writeWhole(path, append(text, '\n'), sync)
}

// manifests lists the sessions that have a manifest.
func manifests(root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, manifestDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("dataset not read: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if id, found := strings.CutSuffix(e.Name(), ".json"); found && !strings.HasPrefix(id, ".") {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Clean removes from a dataset every file that does not belong to one of the
// sessions in keep, but for those in the root itself. It is for a dataset that
// one store fills and can fill again, while nobody exports into it.
func Clean(root string, keep []*Manifest) error {
	root, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := (dataset{root: root}).settle(); err != nil {
		return err
	}
	kept := make(map[string]bool)
	for _, m := range keep {
		kept[manifestPath(root, m.SessionID)] = true
		for _, f := range m.Files {
			kept[filepath.Join(root, filepath.FromSlash(f.Path))] = true
		}
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || kept[path] || filepath.Dir(path) == root {
			return err
		}
		return os.Remove(path)
	})
}
