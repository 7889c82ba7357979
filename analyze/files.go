package analyze

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// fileSet is the files of a session while they are written. They stand under
// temporary names until all are whole.
type fileSet struct {
	root      string
	partition partition
	files     []*pendingFile
}

// pendingFile is a file that is not yet under its name.
type pendingFile struct {
	table string
	file  *os.File
	sum   hash.Hash
	buf   *bufio.Writer // to both
}

// create opens the file of a table. Its name starts with a dot and does not
// end in .parquet: one or the other keeps it out of every engine's sight.
func (s *fileSet) create(table string) (io.Writer, error) {
	dir := filepath.Join(s.root, s.partition.dir(table))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "."+s.partition.session+".*.tmp")
	if err != nil {
		return nil, err
	}
	p := &pendingFile{table: table, file: f, sum: sha256.New()}
	p.buf = bufio.NewWriterSize(io.MultiWriter(f, p.sum), 64<<10)
	s.files = append(s.files, p)
	return p.buf, nil
}

// publish finishes all files and then gives them their names. The table
// sessions comes last: the views start from it, so until then they show
// nothing of a new session. The manifest, without its files as yet, goes before
// the first name changes and comes after the last has.
func (s *fileSet) publish(m *Manifest, rows map[string]int64, sync bool) error {
	for _, f := range s.files {
		bytes, err := f.finish(sync)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, ManifestFile{
			Path: filepath.ToSlash(s.partition.path(f.table)), Bytes: bytes, Rows: rows[f.table],
			SHA256: hex.EncodeToString(f.sum.Sum(nil)),
		})
	}
	err := os.Remove(manifestPath(s.root, m.SessionID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i := len(s.files) - 1; i >= 0; i-- {
		name := filepath.Join(s.root, s.partition.path(s.files[i].table))
		if err := os.Rename(s.files[i].file.Name(), name); err != nil {
			return errors.Join(err, s.unpublish())
		}
	}
	if err := m.write(s.root, sync); err != nil {
		return errors.Join(err, s.unpublish())
	}
	s.files = nil
	return nil
}

// unpublish takes the session out of all tables: some of its files may be new
// and some of an earlier export.
func (s *fileSet) unpublish() error {
	var errs []error
	for _, f := range s.files {
		err := os.Remove(filepath.Join(s.root, s.partition.path(f.table)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// abandon removes the temporary files.
func (s *fileSet) abandon() {
	for _, f := range s.files {
		f.file.Close()
		os.Remove(f.file.Name())
	}
}

// finish ends a file and returns its length in bytes.
func (f *pendingFile) finish(sync bool) (int64, error) {
	if err := f.buf.Flush(); err != nil {
		return 0, err
	}
	if err := f.file.Chmod(0o644); err != nil {
		return 0, err
	}
	if sync {
		if err := f.file.Sync(); err != nil {
			return 0, err
		}
	}
	info, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), f.file.Close()
}
