package analyze

import (
	"bufio"
	"errors"
	"io"
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
	buf   *bufio.Writer
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
	p := &pendingFile{table: table, file: f, buf: bufio.NewWriterSize(f, 64<<10)}
	s.files = append(s.files, p)
	return p.buf, nil
}

// publish finishes all files and then gives them their names. The table
// sessions comes last: the views start from it, so until then they show
// nothing of a new session.
func (s *fileSet) publish(sync bool) error {
	for _, f := range s.files {
		if err := f.finish(sync); err != nil {
			return err
		}
	}
	for i := len(s.files) - 1; i >= 0; i-- {
		name := filepath.Join(s.root, s.partition.path(s.files[i].table))
		if err := os.Rename(s.files[i].file.Name(), name); err != nil {
			return errors.Join(err, s.unpublish())
		}
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

func (f *pendingFile) finish(sync bool) error {
	if err := f.buf.Flush(); err != nil {
		return err
	}
	if err := f.file.Chmod(0o644); err != nil {
		return err
	}
	if sync {
		if err := f.file.Sync(); err != nil {
			return err
		}
	}
	return f.file.Close()
}
