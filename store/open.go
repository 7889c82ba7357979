package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"tokwatt/store/internal/boltpage"
)

// lockPoll is how often a held file is tried again.
const lockPoll = 2 * time.Millisecond

// lock opens the file and takes its lock: shared for os.O_RDONLY, alone for
// os.O_RDWR. It is flock, as bbolt uses it, so the lock holds against bbolt
// and bbolt's own call on the same descriptor finds it taken by itself.
func (s *Store) lock(ctx context.Context, flag int) (*os.File, error) {
	how := syscall.LOCK_SH
	if flag == os.O_RDWR {
		how = syscall.LOCK_EX
	}
	start := time.Now()
	for {
		f, err := s.tryLock(flag, how)
		if f != nil || err != nil {
			return f, err
		}
		if waited := time.Since(start); waited >= s.opts.LockTimeout {
			return nil, s.fileError(ErrLocked, fmt.Sprintf("waited %v", waited.Round(100*time.Millisecond)))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// tryLock returns nil, nil when the file is held by somebody else.
func (s *Store) tryLock(flag, how int) (*os.File, error) {
	f, err := os.OpenFile(s.path, flag, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.fileError(ErrMissing, "")
	} else if err != nil {
		return nil, fmt.Errorf("store %s cannot be opened: %w", s.path, err)
	}
	locked, err := flock(f, how)
	if locked {
		// Compact puts a new file in this one's place. What is written into
		// the old one after that is lost, so look again whose lock we have.
		var same bool
		if same, err = s.isCurrent(f); same {
			return f, nil
		}
	}
	f.Close()
	if err == nil {
		return nil, nil
	}
	return nil, fmt.Errorf("store %s cannot be locked: %w", s.path, err)
}

func (s *Store) isCurrent(f *os.File) (bool, error) {
	a, err := f.Stat()
	if err != nil {
		return false, err
	}
	b, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(a, b), err
}

// pageCheck looks at what a transaction will meet, before bbolt does.
type pageCheck func(*boltpage.File) error

// openWrite opens the file for bbolt: locked, with sound pages. The *os.File
// is the one inside the DB.
func (s *Store) openWrite(ctx context.Context, check pageCheck) (*bolt.DB, *os.File, error) {
	var held *os.File
	open := func(string, int, os.FileMode) (*os.File, error) {
		f, err := s.lock(ctx, os.O_RDWR)
		if err != nil {
			return nil, err
		}
		p, err := s.pages(f)
		if err == nil {
			err = s.pageError(check(p))
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		held = f
		return f, nil
	}
	db, err := s.openBolt(open)
	if err != nil {
		abandon(held)
		return nil, nil, err
	}
	// Steps of 16 MiB, bbolt's own, are much for a small disk.
	db.AllocSize = 1 << 20
	return db, held, nil
}

// abandon lets go of a file whose DB cannot be closed. The DB's mapping of
// the file lives on, and would keep the lock if only the descriptor closed.
func abandon(held *os.File) {
	if held != nil {
		// Already closed is as good as unlocked.
		_ = syscall.Flock(int(held.Fd()), syscall.LOCK_UN)
		_ = held.Close()
	}
}

// openBolt turns bbolt's panic on what it does not like into an error.
func (s *Store) openBolt(open func(string, int, os.FileMode) (*os.File, error)) (db *bolt.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.fileError(ErrDamaged, fmt.Sprint(p))
		}
	}()
	return bolt.Open(s.path, 0o600, &bolt.Options{
		Timeout:      time.Nanosecond,
		OpenFile:     open,
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
	})
}

// openRead locks the file for reading and checks its format. Closing the
// *os.File ends the lock.
func (s *Store) openRead(ctx context.Context) (*boltpage.File, *os.File, error) {
	f, err := s.lock(ctx, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.pages(f)
	if err == nil {
		err = s.pageError(checkFormat(s.codec, p))
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return p, f, nil
}

// pages checks the meta pages of a locked file, and its length against them.
func (s *Store) pages(f *os.File) (*boltpage.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, s.fileError(ErrForeign, "it is a folder")
	}
	p, err := boltpage.Open(f, info.Size())
	return p, s.pageError(err)
}

// pageError says what an error of boltpage means for the store.
func (s *Store) pageError(err error) error {
	var damage *boltpage.Damage
	var known *FileError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		known.Path = s.path
		return known
	case errors.Is(err, io.ErrUnexpectedEOF):
		return s.fileError(ErrForeign, "it is empty")
	case errors.Is(err, boltpage.ErrNotBolt):
		return s.fileError(ErrForeign, "it has another format")
	case errors.Is(err, boltpage.ErrNoBucket):
		return s.fileError(ErrForeign, "it is another program's bbolt file")
	case errors.As(err, &damage):
		return s.fileError(ErrDamaged, err.Error())
	}
	return err
}

// checkFormat reads the format value.
func checkFormat(c codec, p *boltpage.File) error {
	meta, err := p.Root().Bucket(bucketMeta)
	if err != nil {
		return err
	}
	v, err := meta.Get([]byte(formatKey))
	if err != nil {
		return err
	}
	if v == nil {
		return &FileError{Reason: ErrForeign, Detail: "it does not say its format"}
	}
	k, payload, err := unseal([]byte(formatKey), v)
	if errors.Is(err, errVersion) {
		return &FileError{Reason: ErrNewer, Detail: err.Error()}
	}
	var format formatValue
	if err == nil && k == kindFormat {
		err = c.dec.Unmarshal(payload, &format)
	}
	switch {
	case err != nil || k != kindFormat:
		return &FileError{Reason: ErrDamaged, Detail: "its format cannot be read"}
	case format.Version > formatVersion:
		return &FileError{Reason: ErrNewer, Detail: fmt.Sprintf("format %d; this one knows %d", format.Version, formatVersion)}
	}
	return nil
}

// checkPath looks at each page that bbolt meets when it appends to a session:
// the way to its end, to its summary, and the list of free pages.
func checkPath(c codec, id uuid.UUID) pageCheck {
	return func(p *boltpage.File) error {
		if err := checkFormat(c, p); err != nil {
			return err
		}
		sums, err := p.Root().Bucket(bucketSummaries)
		if err != nil {
			return err
		}
		v, err := sums.Get(id[:])
		if err != nil {
			return err
		}
		next := uint64(0)
		if sum, err := c.summary(id[:], v); err == nil {
			next = sum.Next
		}
		records, err := p.Root().Bucket(bucketRecords)
		if err != nil {
			return err
		}
		k := keyOf(id, next)
		if v, err := records.Get(k[:]); err != nil {
			return err
		} else if v != nil {
			return &FileError{Reason: ErrDamaged, Detail: fmt.Sprintf("session %s goes on behind its end", id)}
		}
		return p.Freelist()
	}
}
