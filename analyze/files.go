package analyze

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// fileSet is the files of a session while they are written. They stand under
// temporary names until all are whole.
type fileSet struct {
	dataset   dataset
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
	return s.createIn(s.partition.dir(table), table)
}

// createIn opens it in a folder below the root.
func (s *fileSet) createIn(folder, table string) (io.Writer, error) {
	dir := filepath.Join(s.dataset.root, folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := s.dataset.before("create " + table); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "."+cmp.Or(s.partition.session, "merged")+".*.tmp")
	if err != nil {
		return nil, err
	}
	p := &pendingFile{table: table, file: f, sum: sha256.New()}
	p.buf = bufio.NewWriterSize(io.MultiWriter(f, p.sum), 64<<10)
	s.files = append(s.files, p)
	return p.buf, nil
}

// publish finishes all files and then gives them their names, in one change of
// the dataset. The table sessions comes last: the views start from it, so until
// then engines that do not know the journal see nothing of a new session.
func (s *fileSet) publish(ctx context.Context, m *Manifest, rows map[string]int64) error {
	c := &change{Manifests: []*Manifest{m}}
	for _, f := range s.files {
		bytes, err := f.finish(s.dataset.sync)
		if err != nil {
			return err
		}
		path := filepath.ToSlash(s.partition.path(f.table))
		a, err := s.dataset.waiting(f, path)
		if err != nil {
			return err
		}
		c.Add = append(c.Add, a)
		m.Files = append(m.Files, ManifestFile{Path: path, Bytes: bytes, Rows: rows[f.table], SHA256: hex.EncodeToString(f.sum.Sum(nil))})
	}
	slices.Reverse(c.Add)
	err := s.dataset.change(ctx, func() (*change, error) {
		// where the session was merged with others, its rows there go
		return c, s.dataset.takeOut(ctx, c, m.SessionID, s.partition)
	})
	s.leave(s.dataset, err)
	return err
}

// waiting is a whole file that waits for its name, a path with slashes.
func (d dataset) waiting(f *pendingFile, path string) (addition, error) {
	temp, err := filepath.Rel(d.root, f.file.Name())
	return addition{Temp: filepath.ToSlash(temp), Path: path}, err
}

// leave forgets the files of a change that was made, or will be: where one
// stands in the journal, whoever comes next ends it. Of one that came to nothing
// they go.
func (s *fileSet) leave(d dataset, err error) {
	if err != nil {
		if last, bad := readJournal(d.root); bad == nil && last.Done {
			s.abandon()
		}
	}
	s.files = nil
}

// abandon removes the temporary files.
func (s *fileSet) abandon() {
	for _, f := range s.files {
		f.file.Close()
		if s.dataset.before("abandon") == nil {
			os.Remove(f.file.Name())
		}
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
