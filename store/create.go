package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// create makes the file if there is none. It is made under another name and
// linked into its place: nobody ever sees half of it, and of two processes
// that make it at once the second finds the first one's.
func (s *Store) create() error {
	if _, err := os.Lstat(s.path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the folder of store %s cannot be made: %w", s.path, err)
	}
	tmp, err := s.tempName()
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if err := s.initialize(tmp); err != nil {
		return s.writeError(err)
	}
	err = os.Link(tmp, s.path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without links, as on memory cards.
		if _, lerr := os.Lstat(s.path); errors.Is(lerr, fs.ErrNotExist) {
			err = os.Rename(tmp, s.path)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return s.writeError(err)
	}
	return syncDir(dir)
}

// tempName makes an empty file beside the store and names it.
func (s *Store) tempName() (string, error) {
	f, err := os.CreateTemp(filepath.Dir(s.path), "."+filepath.Base(s.path)+".tmp-*")
	if err != nil {
		return "", s.writeError(err)
	}
	return f.Name(), f.Close()
}

// initialize makes an empty store at path.
func (s *Store) initialize(path string) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: s.opts.LockTimeout})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{bucketMeta, bucketRecords, bucketSummaries} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		p, err := s.codec.enc.Marshal(formatValue{Version: formatVersion, Creator: "tokwatt"})
		if err != nil {
			return err
		}
		return tx.Bucket([]byte(bucketMeta)).Put([]byte(formatKey), seal([]byte(formatKey), kindFormat, p))
	})
	return errors.Join(err, db.Close())
}

// syncDir makes a new name in a folder last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// writeError says what a failed write means: the store is as it was.
func (s *Store) writeError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("no room to write to store %s, which is as it was: free some space and try again: %w", s.path, err)
	}
	return err
}
