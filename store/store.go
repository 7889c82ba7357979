package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"

	"tokwatt/collect"
)

// Options of a Store. The zero value is the default.
type Options struct {
	// LockTimeout is how long an operation waits for a file that another
	// process holds. Default DefaultLockTimeout.
	LockTimeout time.Duration
	// Note is told what a reader passed over that is no error: values of a
	// kind that only a newer tokwatt knows. Default: nobody is told.
	Note func(string)
}

// DefaultLockTimeout is Options.LockTimeout where that is 0.
const DefaultLockTimeout = 2 * time.Second

// Store is a store file. It holds nothing open: each operation opens the
// file, locks it, works, and lets go of it, so that several processes can
// write and read beside each other. Its methods may be called from several
// goroutines.
type Store struct {
	path  string
	opts  Options
	codec codec
}

// Open names a store file. It does no I/O: the file is made, for its owner
// alone, by the first Put.
func Open(path string, opts Options) *Store {
	if opts.LockTimeout == 0 {
		opts.LockTimeout = DefaultLockTimeout
	}
	if opts.Note == nil {
		opts.Note = func(string) {}
	}
	return &Store{path: path, opts: opts, codec: newCodec()}
}

// Path is the file's name.
func (s *Store) Path() string { return s.path }

// Put appends a record to a session. When it returns nil the record is on
// the disk; when it returns an error, nothing of it is in the store, unless
// the disk failed in the very last step: then it may be there, whole. The
// first record of a session is its *collect.Session, and there is one only. A
// batch is stored with all its requests and chunks.
//
// While another process holds the file, Put waits for Options.LockTimeout;
// then errors.Is(err, ErrLocked), and the same record may be put again.
func (s *Store) Put(ctx context.Context, session string, rec collect.Record) error {
	return s.PutAll(ctx, session, []collect.Record{rec})
}

// PutAll appends one record or more to a session in one transaction: all of
// them or none. It is Put in all else.
func (s *Store) PutAll(ctx context.Context, session string, recs []collect.Record) error {
	id, err := parseID(session)
	if err != nil {
		return err
	}
	// Encoding comes first: it needs no lock.
	encoded := make([][]part, len(recs))
	for i, rec := range recs {
		if encoded[i], err = s.codec.parts(rec); err != nil {
			return fmt.Errorf("cannot store a %T of session %s: %w", rec, session, err)
		}
	}
	_, first := recs[0].(*collect.Session)
	if first {
		if err := s.create(); err != nil {
			return err
		}
	}
	return s.update(ctx, checkPath(s.codec, id), func(tx *bolt.Tx) error {
		a := appender{store: s, id: id, session: session}
		if err := a.begin(tx); err != nil {
			return err
		}
		for i, rec := range recs {
			if err := a.append(rec, encoded[i]); err != nil {
				return err
			}
		}
		return a.end()
	})
}

// update runs fn in one write transaction, after check found the pages sound
// that fn will meet. It returns when the transaction is on the disk or the
// file is as it was.
func (s *Store) update(ctx context.Context, check pageCheck, fn func(*bolt.Tx) error) (err error) {
	db, held, err := s.openWrite(ctx, check)
	if err != nil {
		return err
	}
	defer s.closeWrite(db, held, &err)
	// A bad disk shows as a fault in the mapped file: make it a panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if err := db.Update(fn); err != nil {
		return s.writeError(err)
	}
	return nil
}

// closeWrite ends what openWrite began; it must be deferred itself, since it
// turns a panic of bbolt, or a fault of the disk, into the error.
func (s *Store) closeWrite(db *bolt.DB, held *os.File, err *error) {
	if p := recover(); p != nil {
		// bbolt's own locks are in an unknown state, so Close could
		// wait for ever: let go of the file, and of nothing else.
		abandon(held)
		*err = s.fileError(ErrDamaged, fmt.Sprint(p))
		return
	}
	*err = errors.Join(*err, db.Close())
}

func (s *Store) fileError(reason error, detail string) error {
	return &FileError{Path: s.path, Reason: reason, Detail: detail}
}
