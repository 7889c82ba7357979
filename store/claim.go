package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// ErrClaimed says that another process collects a session.
var ErrClaimed = errors.New("claimed")

// claimPatience is how long Claim waits for a claim to become free: who only
// asks after one holds it for some microseconds.
const claimPatience = 200 * time.Millisecond

// Claim makes the caller the one collector of a session, until release. Who
// goes on with a session claims it before reading how far it is: ids count
// within a session, so two collectors would give the same ones twice. The
// session need not be in the store yet, nor the store be made; its folder is.
//
// A claim is the lock of a file beside the store, so it ends with the process
// that has it, however that dies, and holds between containers that share the
// folder, where a process id says nothing.
//
// errors.Is(err, ErrClaimed) where another process has the session; every
// other error says that this store can't be written.
func (s *Store) Claim(ctx context.Context, session string) (release func(), err error) {
	id, err := parseID(session)
	if err != nil {
		return nil, err
	}
	if err := s.writable(); err != nil {
		return nil, err
	}
	path := s.claimPath(id)
	for start := time.Now(); ; {
		f, err := s.tryClaim(path)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return func() {
				// In this order: a file that can be locked is never one
				// whose name is gone.
				_ = os.Remove(path)
				_ = f.Close()
			}, nil
		}
		if time.Since(start) > claimPatience {
			return nil, fmt.Errorf("session %s is being collected by another process: stop that, or wait for its end: %w", id, ErrClaimed)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// tryClaim returns nil, nil while somebody else holds the file.
func (s *Store) tryClaim(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store %s cannot be written (%w): name another file with --db", s.path, cause(err))
	}
	locked, err := flock(f, syscall.LOCK_EX)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("store %s: its folder has no locks (%w): name a file on another disk with --db", s.path, cause(err))
	}
	// Its holder may have removed it since it was opened.
	if a, err := f.Stat(); locked && err == nil {
		if b, err := os.Stat(path); err == nil && os.SameFile(a, b) {
			return f, nil
		}
	}
	return nil, f.Close()
}

// claimed reports whether some process has claimed a session.
func (s *Store) claimed(id uuid.UUID) bool {
	f, err := os.Open(s.claimPath(id))
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := flock(f, syscall.LOCK_SH)
	return err == nil && !free
}

// claimPath is the same for all names of the store.
func (s *Store) claimPath(id uuid.UUID) string {
	path := s.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".claim-"+id.String())
}

// writable says whether a store that is there can be opened for writing, and
// makes the folder of one that is not.
func (s *Store) writable() error {
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	switch {
	case err == nil:
		return f.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("store %s cannot be written (%w): name another file with --db", s.path, cause(err))
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("the folder of store %s cannot be made (%w): name another file with --db", s.path, cause(err))
	}
	return nil
}

// cause is an error of the system without the path that it is about.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// flock takes a lock if nobody stands in the way.
func flock(f *os.File, how int) (bool, error) {
	for {
		switch err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}
