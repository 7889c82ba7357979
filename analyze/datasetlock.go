package analyze

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockName is the file that is locked. It is empty and stays.
const lockName = ".publishing"

// lockPatience is how long a change waits for another: one takes milliseconds,
// but a host that went to sleep in the middle keeps its lock on a shared disk.
const lockPatience = time.Minute

// lockDataset keeps other changes out until unlock. Where the file system has
// no locks nobody is kept out.
func lockDataset(ctx context.Context, root string) (unlock func(), err error) {
	return flockDataset(ctx, root, os.O_RDONLY|os.O_CREATE, syscall.LOCK_EX)
}

// HoldDataset keeps a dataset as it is until release: whoever changes it waits.
// It is for what could not be read before it changed, again and again, and for
// as short as can be. Where nothing can be locked nobody is kept out: of a
// dataset that nobody has changed yet, or on a file system without locks.
func HoldDataset(ctx context.Context, root string) (release func(), err error) {
	release, err = flockDataset(ctx, root, os.O_RDONLY, syscall.LOCK_SH)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return func() {}, nil
	}
	return release, err
}

func flockDataset(ctx context.Context, root string, flags, how int) (unlock func(), err error) {
	path := filepath.Join(root, lockName)
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); ; {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			// another has it
		case errors.Is(err, syscall.EINTR):
			continue
		case replaced(path, f): // by a copy of another dataset: others lock that one
			f.Close()
			return flockDataset(ctx, root, flags, how)
		default:
			return func() { f.Close() }, nil
		}
		if time.Since(start) > lockPatience {
			return nil, errors.Join(fmt.Errorf("another command has been changing the dataset for a minute: see who holds %s, and try again", path), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// replaced reports whether another file has the name of an open one.
func replaced(path string, f *os.File) bool {
	now, err := os.Stat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	was, err := f.Stat()
	return err == nil && !os.SameFile(now, was)
}
