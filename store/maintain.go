package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"tokwatt/store/internal/boltpage"
)

// compactBytes is how much Compact copies in one transaction.
const compactBytes = 16 << 20

// Delete removes sessions, all of them or, on an error, none. Their room in
// the file is used again; Compact gives it back.
func (s *Store) Delete(ctx context.Context, sessions ...string) error {
	ids := make([]uuid.UUID, len(sessions))
	for i, session := range sessions {
		id, err := parseID(session)
		if err != nil {
			return &UnknownError{ID: session}
		}
		ids[i] = id
	}
	return s.update(ctx, s.checkAll, func(tx *bolt.Tx) error {
		records, sums := tx.Bucket([]byte(bucketRecords)), tx.Bucket([]byte(bucketSummaries))
		for _, id := range ids {
			if sums.Get(id[:]) == nil {
				return &UnknownError{ID: id.String()}
			}
			if err := errors.Join(deleteRecords(records, id), sums.Delete(id[:])); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteRecords names the keys before it deletes any: a bbolt cursor may
// skip keys when its bucket changes.
func deleteRecords(records *bolt.Bucket, id uuid.UUID) error {
	var keys []recordKey
	c := records.Cursor()
	start := keyOf(id, 0)
	for k, _ := c.Seek(start[:]); len(k) == len(start) && uuid.UUID(k[:16]) == id; k, _ = c.Next() {
		keys = append(keys, recordKey(k))
	}
	for i := range keys {
		if err := records.Delete(keys[i][:]); err != nil {
			return err
		}
	}
	return nil
}

// checkAll looks at every page: what a transaction meets that moves many.
func (s *Store) checkAll(p *boltpage.File) error {
	if err := checkFormat(s.codec, p); err != nil {
		return err
	}
	if errs := p.Verify(); len(errs) > 0 {
		return errs[0]
	}
	return nil
}

// Compact writes the store anew without its free room, beside the old file,
// and puts it in the old one's place when it is on the disk: at any instant
// one of the two is whole. Other processes wait meanwhile.
func (s *Store) Compact(ctx context.Context) (err error) {
	db, held, err := s.openWrite(ctx, s.checkAll)
	if err != nil {
		return err
	}
	defer s.closeWrite(db, held, &err)
	target, err := filepath.EvalSymlinks(s.path)
	if err != nil {
		return err
	}
	prefix := "." + filepath.Base(target) + ".compact-"
	if err := removeStale(filepath.Dir(target), prefix); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), prefix+"*")
	if err != nil {
		return s.writeError(err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if err := copyInto(tmp, db); err != nil {
		return s.writeError(fmt.Errorf("store %s cannot be compacted: %w", s.path, err))
	}
	if err := os.Rename(tmp.Name(), target); err != nil {
		return err
	}
	return syncDir(filepath.Dir(target))
}

// removeStale removes what a killed Compact left. The store is locked, so no
// other Compact is running.
func removeStale(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// copyInto copies db into tmp, with its permissions, and onto the disk.
func copyInto(tmp *os.File, db *bolt.DB) error {
	info, err := os.Stat(db.Path())
	if err != nil {
		return err
	}
	// Nobody sees the copy before it is whole, so one sync at the end will do.
	dst, err := bolt.Open(tmp.Name(), 0o600, &bolt.Options{NoSync: true, NoGrowSync: true})
	if err != nil {
		return err
	}
	err = bolt.Compact(dst, db, compactBytes)
	if err == nil {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close(), tmp.Chmod(info.Mode().Perm()), tmp.Sync())
}
